// Standstill: who waits where for whom (verification.md §2.6).
#include "loom/probe_kernel.hpp"
#include "warploom/types/text.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  alignas(128) uint32_t box[2][32];
  Mbarrier full[2];
  Mbarrier empty[2];
  uint32_t slots[2];
};

struct Ring {
  static constexpr const char* name = "ring";
};
struct ByConsumers {
  static constexpr Text text{"one lane per warp of consumer"};
};

struct HandOff {
  static constexpr const char* name = "hand-off";
};

struct Params {
  bool buggy;
  TensorMap map;
};

struct Memory {
  alignas(128) std::array<uint32_t, 64> in{};
  Launch launch(uint32_t threads, uint32_t ctas = 1, const char* file = __builtin_FILE()) {
    return {.grid = {ctas},
            .cluster = {ctas},
            .threads = threads,
            .tensors = {{in.data(), sizeof(in), Access::read, "in"}},
            .file = file};
  }
  Params params(bool buggy) {
    TensorMapArgs args;
    args.type = TmaType::u32;
    args.address = in.data();
    args.dims = {32, 2, 1, 1, 1};
    args.strides = {128, 16, 16, 16};
    args.box = {32, 1, 1, 1, 1};
    return {buggy, make_map(args)};
  }
};

void expect_deadlock(const Outcome& outcome) {
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  ASSERT_EQ(outcome.report.findings[0].code, "DEADLOCK") << to_text(outcome.report);
  ASSERT_FALSE(outcome.report.waiting.empty());
}

const Waiter* waiter_for(const Outcome& outcome, std::string_view object) {
  for (const Waiter& waiter : outcome.report.waiting)
    if (waiter.object == object) return &waiter;
  ADD_FAILURE() << object << " is not among the waits of\n" << to_text(outcome.report);
  return nullptr;
}

std::string causes(const Waiter& waiter) {
  std::string all;
  for (const std::string& cause : waiter.causes) all += cause + "\n";
  return all;
}

// The ring of all examples: a producer warp loads boxes, a consumer warp takes them.
constexpr uint32_t turns = 5;

TEST(Deadlock, MoreBytesArmedThanIssued) {
  static Line consumer_line, arm_line, load_line;
  Memory memory;
  const Launch launch = memory.launch(64);
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1, RingSide::full);
    init_barriers(s.empty, 1, RingSide::empty);
    if (lane_index() == 0 && warp_index() == 0) {
      name_role<Producer>();
      for (uint32_t k = 0; k < turns; ++k) {
        const uint32_t stage = k % 2;
        mbarrier_wait(address(s.empty[stage]), k / 2);
        AT_LINE(arm_line, mbarrier_arrive_expect_tx(address(s.full[stage]), p.buggy && k == 3 ? 128 + 64 : 128));
        AT_LINE(load_line, tma_load<1>(address(s.box[stage]), p.map, address(s.full[stage]), {0, 0}));
      }
    } else if (lane_index() == 0) {
      name_role<Consumer>();
      for (uint32_t k = 0; k < turns; ++k) {
        const uint32_t stage = k % 2;
        AT_LINE(consumer_line, mbarrier_wait(address(s.full[stage]), k / 2 + 1));
        mbarrier_arrive(address(s.empty[stage]));
      }
    }
    syncwarp();
  };
  always_clean(launch, kernel, memory.params(false));
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    const Outcome outcome = run(launch, kernel, memory.params(true), with(schedule));
    expect_deadlock(outcome);
    const Waiter* waiter = waiter_for(outcome, "ring.full[1]");
    ASSERT_NE(waiter, nullptr);
    EXPECT_EQ(waiter->kind, WaitKind::mbarrier);
    EXPECT_EQ(waiter->at.user.line, consumer_line);
    EXPECT_EQ(waiter->phase, 1u);
    EXPECT_EQ(waiter->arrived, 1u);
    EXPECT_EQ(waiter->expected, 1u);
    EXPECT_EQ(waiter->bytes_armed, 192);
    EXPECT_EQ(waiter->bytes_landed, 128);
    EXPECT_EQ(waiter->agents.at(0).role, "consumer");
    EXPECT_EQ(waiter->agents.at(0).lanes, 1u);
    EXPECT_TRUE(contains(causes(*waiter), "64 of 192 armed bytes have not landed")) << causes(*waiter);
    EXPECT_TRUE(contains(causes(*waiter), "more was armed than issued"));
    ASSERT_EQ(waiter->contributions.size(), 2u);
    bool armed = false, landed = false;
    for (const Contribution& contribution : waiter->contributions) {
      EXPECT_EQ(contribution.agents.role, "producer");
      if (contribution.kind == SignalKind::arrive_expect_tx) armed = contribution.at.user.line == arm_line;
      if (contribution.kind == SignalKind::complete_tx) landed = contribution.at.user.line == load_line;
    }
    EXPECT_TRUE(armed && landed);
    const std::string text = to_text(outcome.report);
    for (const char* word : {"DEADLOCK", "ring.full[1]", "128/192 bytes landed", "1/1 arrived",
                             "deadlock_test.cpp:", "consumer", "producer", "replay: --schedule "})
      EXPECT_TRUE(contains(text, word)) << word << "\n" << text;
    EXPECT_TRUE(contains(text, "--schedule " + schedule.text()));
  }
}

TEST(Deadlock, TooLittleArmed) {
  Memory memory;
  const Outcome outcome = run(
      memory.launch(32),
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        if (lane_index() == 0) {
          mbarrier_arrive_expect_tx(address(s.full[0]), 64);
          tma_load<1>(address(s.box[0]), p.map, address(s.full[0]), {0, 0});
          mbarrier_wait(address(s.full[0]), 1);
        }
        syncwarp();
      },
      memory.params(true));
  expect_deadlock(outcome);
  EXPECT_TRUE(contains(causes(outcome.report.waiting[0]), "64 bytes landed beyond the 64 armed: too little was armed"));
}

TEST(Deadlock, NobodyArmed) {
  Memory memory;
  const Outcome outcome = run(
      memory.launch(32),
      [](const Params& p) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        if (lane_index() == 0) {
          tma_load<1>(address(s.box[0]), p.map, address(s.full[0]), {0, 0});
          mbarrier_arrive(address(s.full[0]));
          mbarrier_wait(address(s.full[0]), 1);
        }
        syncwarp();
      },
      memory.params(true));
  expect_deadlock(outcome);
  EXPECT_TRUE(contains(causes(outcome.report.waiting[0]), "nobody armed this phase"));
}

TEST(Deadlock, MissingContributorIsNamedFromThePhaseBefore) {
  static Line release_line;
  const Launch launch{.threads = 96};
  const auto kernel = [](bool buggy) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1, RingSide::full);
    init_barriers(s.empty, 2, RingSide::empty);
    if (lane_index() == 0 && warp_index() == 0) {
      name_role<Producer>();
      for (uint32_t k = 0; k < turns; ++k) {
        mbarrier_wait(address(s.empty[0]), k);
        mbarrier_arrive(address(s.full[0]));
      }
    } else if (lane_index() == 0) {
      name_role<Consumer>();
      for (uint32_t k = 0; k < turns; ++k) {
        mbarrier_wait(address(s.full[0]), k + 1);
        if (buggy && warp_index() == 2 && k == 2) continue;
        AT_LINE(release_line, mbarrier_arrive(address(s.empty[0])));
      }
    }
    syncwarp();
  };
  always_clean(launch, kernel, false);
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    const Outcome outcome = run(launch, kernel, true, with(schedule));
    expect_deadlock(outcome);
    const Waiter* waiter = waiter_for(outcome, "ring.empty[0]");
    ASSERT_NE(waiter, nullptr);
    EXPECT_EQ(waiter->arrived, 1u);
    EXPECT_EQ(waiter->expected, 2u);
    EXPECT_EQ(waiter->phase, 2u);
    EXPECT_EQ(waiter->agents.at(0).role, "producer");
    const std::string why = causes(*waiter);
    EXPECT_TRUE(contains(why, "1 of 2 arrivals are missing: cta 0 warp 2 lane 0 (consumer) brought them in phase 1"))
        << why;
    EXPECT_TRUE(contains(why, "deadlock_test.cpp:" + std::to_string(release_line))) << why;
    EXPECT_TRUE(contains(why, "waits for ring.full[0] phase 3 at ")) << why;
    const Waiter* victims = waiter_for(outcome, "ring.full[0]");
    ASSERT_NE(victims, nullptr);
    EXPECT_EQ(victims->agents.at(0).first_warp, 1u);
    EXPECT_EQ(victims->agents.at(0).last_warp, 2u);  // like waits are one row
  }
}

TEST(Deadlock, FirstPhaseIsExplainedByThePolicies) {
  const Outcome outcome = run(
      {.threads = 64},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1, RingSide::full);
        init_barriers(s.empty, 1, RingSide::empty);
        if (lane_index() == 0 && warp_index() == 0) {
          name_role<Producer>();
          mbarrier_wait(address(s.empty[0]), 1);  // starts with the wrong parity (FlashAttention #1317)
          mbarrier_arrive(address(s.full[0]));
        } else if (lane_index() == 0) {
          name_role<Consumer>();
          mbarrier_wait(address(s.full[0]), 1);
          mbarrier_arrive(address(s.empty[0]));
        }
        syncwarp();
      },
      true);
  expect_deadlock(outcome);
  const Waiter* waiter = waiter_for(outcome, "ring.full[0]");
  ASSERT_NE(waiter, nullptr);
  EXPECT_EQ(waiter->signalled_by, "one lane of the producer");
  EXPECT_TRUE(contains(causes(*waiter), "1 of 1 arrivals are missing")) << causes(*waiter);
  EXPECT_TRUE(contains(causes(*waiter), "cta 0 warp 0 (producer)")) << causes(*waiter);
  EXPECT_TRUE(contains(causes(*waiter), "waits for ring.empty[0] phase 0")) << causes(*waiter);
  EXPECT_TRUE(contains(outcome.report.findings[0].message, "2 warps wait"));
}

TEST(Deadlock, ContributorHasExited) {
  const Outcome outcome = run(
      {.threads = 64},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        if (warp_index() == 1) {
          if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
          return;
        }
        if (lane_index() == 0) {
          mbarrier_wait(address(s.full[0]), 1);
          mbarrier_wait(address(s.full[0]), 2);
        }
        syncwarp();
      },
      true);
  expect_deadlock(outcome);
  EXPECT_TRUE(contains(causes(outcome.report.waiting[0]), "cta 0 warp 1 lane 0 brought them in phase 0"));
  EXPECT_TRUE(contains(causes(outcome.report.waiting[0]), "has exited"));
  EXPECT_TRUE(contains(outcome.report.findings[0].message, "1 warp waits"));
}

TEST(Deadlock, NoWordsAboutSignallersNobodyNamed) {
  const Outcome outcome = run(
      {},
      [](bool) {
        auto& s = shared<Storage>();
        if (lane_index() == 0) {
          mbarrier_init(address(s.full[0]), 3);
          mbarrier_arrive(address(s.full[0]));
          mbarrier_wait(address(s.full[0]), 1);
        }
        syncwarp();
      },
      true);
  expect_deadlock(outcome);
  EXPECT_EQ(causes(outcome.report.waiting[0]), "2 of 3 arrivals are missing\n");
  EXPECT_EQ(outcome.report.waiting[0].object, "mbarrier at 0x500");
}

TEST(Deadlock, WaiterTheBarrierHasPassed) {
  const Outcome outcome = run(
      {},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        if (lane_index() == 0) {
          mbarrier_arrive(address(s.full[0]));
          mbarrier_arrive(address(s.full[0]));
          mbarrier_wait(address(s.full[0]), 1);
        }
        syncwarp();
      },
      true);
  expect_deadlock(outcome);
  EXPECT_TRUE(contains(causes(outcome.report.waiting[0]), "1 phase is complete, but 2 are: the waiter came too late"));
}

TEST(Deadlock, NamedBarrier) {
  static Line line;
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    const Outcome outcome = run(
        {.threads = 128},
        [](bool) {
          name_named_barrier<HandOff>(3);
          if (warp_index() < 2) AT_LINE(line, bar_sync(3, 96));
          syncwarp();
        },
        true, with(schedule));
    expect_deadlock(outcome);
    ASSERT_EQ(outcome.report.waiting.size(), 1u);
    const Waiter& waiter = outcome.report.waiting[0];
    EXPECT_EQ(waiter.kind, WaitKind::named_barrier);
    EXPECT_EQ(waiter.object, "named barrier 3 (hand-off)");
    EXPECT_EQ(waiter.at.user.line, line);
    EXPECT_EQ(waiter.arrived, 64u);
    EXPECT_EQ(waiter.expected, 96u);
    EXPECT_TRUE(contains(causes(waiter), "64 of 96 threads have arrived: cta 0 warps 0-1"));
  }
}

TEST(Deadlock, NamedBarriersOfTwoCtasAreTwoRows) {
  const Outcome outcome = run(
      {.grid = {2}, .cluster = {2}, .threads = 96},
      [](bool) {
        if (warp_index() <= cluster_rank()) bar_sync(1, 96);
        syncwarp();
      },
      true);
  expect_deadlock(outcome);
  ASSERT_EQ(outcome.report.waiting.size(), 2u);
  EXPECT_EQ(outcome.report.waiting[0].arrived, 32u);
  EXPECT_EQ(outcome.report.waiting[1].arrived, 64u);
  EXPECT_EQ(outcome.report.waiting[1].owner, "cta 1");
}

TEST(Deadlock, ClusterBarrier) {
  static Line line;
  for (const Schedule& schedule : schedules({.cluster = {2}})) {
    SCOPED_TRACE(schedule.text());
    const Outcome outcome = run(
        {.grid = {2}, .cluster = {2}, .threads = 64},
        [](bool) {
          auto& s = shared<Storage>();
          init_barriers(s.full, 1);
          if (cluster_rank() == 1 && warp_index() == 1) {
            mbarrier_wait(address(s.full[1]), 1);
          } else {
            cluster_arrive();
            AT_LINE(line, cluster_wait());
          }
          syncwarp();
        },
        true, with(schedule));
    expect_deadlock(outcome);
    const Waiter* waiter = waiter_for(outcome, "cluster barrier");
    ASSERT_NE(waiter, nullptr);
    EXPECT_EQ(waiter->kind, WaitKind::cluster_barrier);
    EXPECT_EQ(waiter->at.user.line, line);
    EXPECT_EQ(waiter->arrived, 96u);
    EXPECT_EQ(waiter->expected, 128u);
    EXPECT_TRUE(contains(causes(*waiter), "32 threads have not arrived: cta 1 warp 1 waits for ring.full[1] phase 0"))
        << causes(*waiter);
    waiter_for(outcome, "ring.full[1]");
  }
}

TEST(Deadlock, PairWaitsForItsOtherCta) {
  const Outcome outcome = run(
      {.grid = {2}, .cluster = {2}},
      [](bool) {
        auto& s = shared<Storage>();
        if (cluster_rank() == 0) tmem_alloc<2>(address(s.slots[0]), 32);
        cluster_sync();
      },
      true);
  expect_deadlock(outcome);
  const Waiter* waiter = waiter_for(outcome, "tcgen05.alloc (pair)");
  ASSERT_NE(waiter, nullptr);
  EXPECT_EQ(waiter->kind, WaitKind::tmem_alloc);
  EXPECT_TRUE(contains(causes(*waiter), "the other CTA of the pair has not joined"));
}

TEST(Deadlock, ColumnsThatNobodyFrees) {
  const Outcome outcome = run(
      {},
      [](bool) {
        auto& s = shared<Storage>();
        tmem_alloc<1>(address(s.slots[0]), 512);
        tmem_alloc<1>(address(s.slots[1]), 128);
        syncwarp();
      },
      true);
  expect_deadlock(outcome);
  EXPECT_EQ(outcome.report.waiting[0].object, "tcgen05.alloc");
  EXPECT_TRUE(contains(causes(outcome.report.waiting[0]), "128 columns of tensor memory are not free"));
}

TEST(Deadlock, JsonHoldsTheSame) {
  const Outcome outcome = run(
      {},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 2);
        if (lane_index() == 0) {
          mbarrier_arrive(address(s.full[1]));
          mbarrier_wait(address(s.full[1]), 1);
        }
        syncwarp();
      },
      true, with({Policy::random, 0x7f3a}));
  const std::string json = to_json(outcome.report);
  for (const char* part : {"\"DEADLOCK\"", "ring.full[1]", "\"random:7f3a\"", "deadlock_test.cpp"})
    EXPECT_TRUE(contains(json, part)) << json;
}

// A lane that went past a collective and waits at a barrier of whole warps must not hide the lanes it left behind.
TEST(Deadlock, LaneThatLeftACollectiveOut) {
  const Outcome outcome = run(
      {.threads = 64},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1, RingSide::full);
        if (thread_index() == 5) elect_one();
        cluster_sync();
      },
      true);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].code, "DIVERGENCE") << to_text(outcome.report);
  const Waiter* stuck = waiter_for(outcome, "elect.sync of its own warp");
  ASSERT_NE(stuck, nullptr);
  EXPECT_EQ(stuck->agents.at(0).lanes, 1u << 5);
  const Waiter* others = waiter_for(outcome, "cluster barrier");
  ASSERT_NE(others, nullptr);
  EXPECT_TRUE(
      contains(causes(*others), "1 thread has not arrived: cta 0 warp 0 lane 5 waits for its own lanes in elect.sync"))
      << causes(*others);
}

// Who is missing in a barrier's first phase follows from its policies: warps of its own CTA that have not come.
TEST(Deadlock, FirstPhaseNamesTheWarpThatIsMissing) {
  const Outcome outcome = run(
      {.grid = {2}, .cluster = {2}, .threads = 160},
      [](bool) {
        auto& s = shared<Storage>();
        if (thread_index() == 0) {
          mbarrier_init(address(s.empty[0]), 4);
          name_barriers<Ring, ByConsumers>(s.empty, 1, RingSide::empty);
        }
        cluster_sync();
        if (warp_index() > 0) name_role<Consumer>();
        if (lane_index() == 0 && warp_index() > 0 && !(warp_index() == 3 && cluster_rank() == 0))
          mbarrier_arrive(address(s.empty[0]));
        if (thread_index() == 0) mbarrier_wait(address(s.empty[0]), 1);
        cluster_sync();
      },
      true);
  expect_deadlock(outcome);
  const Waiter* waiter = waiter_for(outcome, "ring.empty[0]");
  ASSERT_NE(waiter, nullptr);
  EXPECT_TRUE(contains(causes(*waiter), "1 of 4 arrivals are missing: cta 0 warp 3 (consumer) did not bring them"))
      << causes(*waiter);
}

// Threads that poll for ever are a deadlock too, found quickly and with the barrier named.
TEST(Deadlock, Pollers) {
  const Outcome outcome = run(
      {.threads = 32},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1, RingSide::full);
        while (!mbarrier_test(address(s.full[0]), 1)) {
        }
      },
      true);
  expect_deadlock(outcome);
  EXPECT_NE(waiter_for(outcome, "ring.full[0]"), nullptr);
  EXPECT_LT(outcome.steps, 1'000'000u);
}

// A wait that names a phase long gone is said to count wrong, not to miss arrivals.
TEST(Deadlock, WrongPhaseOfAFreshWait) {
  const Outcome outcome = run(
      {.threads = 32},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1, RingSide::full);
        if (thread_index() == 0) {
          mbarrier_arrive(address(s.full[0]));
          mbarrier_wait(address(s.full[0]), 0);
        }
        syncwarp();
      },
      true);
  expect_deadlock(outcome);
  EXPECT_TRUE(contains(causes(*waiter_for(outcome, "ring.full[0]")), "counts its phases (its parity) wrong"));
}

struct Exchange {
  Mbarrier full[2];
};

// Two warps that wait for each other: the report says that it is a circle, and how the ring stands.
TEST(Deadlock, ACircleIsSaidToBeOne) {
  const auto kernel = [](const bool& buggy) {
    auto& s = shared<Exchange>();
    init_barriers(s.full, 1);
    if (lane_index() == 0) {
      const SharedAddress mine = address(s.full[warp_index()]), other = address(s.full[1 - warp_index()]);
      mbarrier_arrive(other);
      mbarrier_wait(mine, 1);
      if (buggy) {
        mbarrier_wait(mine, 2);
        mbarrier_arrive(other);
      }
    }
    syncwarp();
  };
  const Launch launch{.threads = 64, .shared_bytes = sizeof(Exchange)};
  always_clean(launch, kernel, false);
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    const Outcome outcome = run(launch, kernel, true, with(schedule));
    expect_deadlock(outcome);
    const std::vector<std::string>& notes = outcome.report.findings[0].notes;
    ASSERT_EQ(notes.size(), 2u) << to_text(outcome.report);
    EXPECT_EQ(
        notes[0],
        "they wait in a circle: cta 0 warp 0 waits for ring.full[0], which cta 0 warp 1 should bring; cta 0 warp 1 "
        "waits for ring.full[1], which cta 0 warp 0 should bring");
    EXPECT_EQ(notes[1], "ring.full of cta 0: [0-1] phase 1 0/1 arrived; missing: cta 0 warp 1, cta 0 warp 0");
  }
}

}  // namespace
}  // namespace warploom::loom
