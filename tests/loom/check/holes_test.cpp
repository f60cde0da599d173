// Errors that one run could once hide from the checker, found by holding it against every schedule (recorded_test.cpp):
// each in a kernel, under all policies, beside its correct twin.
#include "loom/wgmma_kernel.hpp"
#include "warploom/arch/bulk.hpp"
#include "warploom/arch/cluster_memory.hpp"
#include "warploom/arch/fence.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

/// Reported whatever the schedule, with one of these codes; and the twin is clean.
template <class Kernel>
void always_reported(const Launch& launch, Kernel kernel, std::initializer_list<const char*> codes) {
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    Options options = with(schedule);
    options.check = true;
    const Outcome buggy = run(launch, kernel, true, options);
    EXPECT_EQ(buggy.report.findings.size(), 1u);
    for (const Finding& finding : buggy.report.findings)
      EXPECT_NE(std::find(codes.begin(), codes.end(), finding.code), codes.end()) << to_text(buggy.report);
    expect_clean(run(launch, kernel, false, options));
  }
}

struct OneBarrier {
  Mbarrier full[1];
};

TEST(Holes, AWaitForNoPhaseThatMayComeAfterTheFirst) {
  // When the first phase is complete, the parity of "nothing to wait for" says "not yet": the warp hangs.
  always_reported({.threads = 64, .shared_bytes = sizeof(OneBarrier)},
                  [](bool buggy) {
                    auto& s = shared<OneBarrier>();
                    init_barriers(s.full, 1);
                    if (lane_index() != 0) return;
                    if (warp_index() == 0)
                      mbarrier_arrive(address(s.full[0]));
                    else
                      mbarrier_wait(address(s.full[0]), buggy ? 0 : 1);
                  },
                  {"PHASE-AMBIG", "DEADLOCK"});
}

struct Operands {
  alignas(1024) uint32_t a[64 * 32 / 4];
  alignas(1024) uint32_t b[16 * 32 / 4];
  Mbarrier full[1];
};

TEST(Holes, AWgmmaThatOneWarpIssuesBeforeItsWait) {
  // The warp that errs waits right after; the instruction begins when the last warp comes, and by then it knew.
  always_reported(
      {.threads = 160, .shared_bytes = sizeof(Operands)},
      [](bool buggy) {
        auto& s = shared<Operands>();
        init_barriers(s.full, 1);
        if (warp_index() == 4) {
          for (uint32_t i = lane_index(); i < 64 * 32 / 4; i += 32) store_shared(&s.a[i], 0u);
          for (uint32_t i = lane_index(); i < 16 * 32 / 4; i += 32) store_shared(&s.b[i], 0u);
          fence_proxy_async_shared();
          syncwarp();
          if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
          return;
        }
        const bool early = buggy && warp_index() == 1;
        const auto operand = [](const uint32_t* tile) {
          return encode_wgmma_descriptor({shared_address(tile).value & 0x3ffff, 128, 256, 0, Swizzle::none});
        };
        Fragment<float, 8> d;
        if (!early) mbarrier_wait(address(s.full[0]), 1);
        wgmma_fence(d);
        wgmma<16, bf16, bf16>(d, operand(s.a), operand(s.b), false);
        wgmma_commit_group();
        if (early) mbarrier_wait(address(s.full[0]), 1);
        wgmma_wait_group<0>(d);
        use(d[0]);
      },
      {"RACE-SMEM", "UNINIT-SMEM"});
}

struct Handed {
  uint32_t word;
  Mbarrier full[1];
};

TEST(Holes, AWaitOfAWarpIsNoMeetingOfItsLanes) {
  // Lanes may run ahead at a wait before wgmmas, and the machine passes it for all of them at once.
  always_reported({.threads = 64, .shared_bytes = sizeof(Handed)},
                  [](bool buggy) {
                    auto& s = shared<Handed>();
                    init_barriers(s.full, 1);
                    if (warp_index() == 0) {
                      if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
                      return;
                    }
                    if (lane_index() == 3) store_shared(&s.word, 1u);
                    if (!buggy) syncwarp();
                    mbarrier_wait<Scope::cta, true>(address(s.full[0]), 1);
                    if (lane_index() == 4) (void)load_shared(&s.word);
                  },
                  {"RACE-SMEM", "UNINIT-SMEM"});
}

TEST(Holes, ALaneThatArrivesForItsWarpSaysNothingOfTheOthers) {
  // Lane 0 signals for all that the warp did before it met; what lane 3 does afterwards is its own affair.
  always_reported({.threads = 64, .shared_bytes = sizeof(Handed)},
                  [](bool buggy) {
                    auto& s = shared<Handed>();
                    init_barriers(s.full, 1);
                    if (warp_index() == 1) {
                      mbarrier_wait(address(s.full[0]), 1);
                      if (lane_index() == 0) (void)load_shared(&s.word);
                      return;
                    }
                    if (!buggy && lane_index() == 3) store_shared(&s.word, 1u);
                    syncwarp();
                    if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
                    if (buggy && lane_index() == 3) store_shared(&s.word, 1u);
                  },
                  {"RACE-SMEM", "UNINIT-SMEM"});
}

struct Staged {
  alignas(128) uint32_t line[8][32];
  uint32_t seen;
};

TEST(Holes, OneOfSeveralStmatrixThatFillALine) {
  // Warp 1 still reads the last unit of a line that warp 0 fills with one stmatrix after the other.
  const Launch launch{.threads = 64, .shared_bytes = sizeof(Staged)};
  const auto kernel = [](bool buggy) {
    auto& s = shared<Staged>();
    for (uint32_t i = thread_index(); i < 8 * 32; i += 64) store_shared(&s.line[i / 32][i % 32], i);
    syncthreads();
    if (warp_index() == 0) {
      if (!buggy) syncthreads();
      const uint32_t registers[1] = {lane_index()};
      const uint32_t row = lane_index() % 8;
      for (uint32_t unit = 0; unit < 7; ++unit) store_matrix<1>(address(s.line[row][unit * 4]), registers);
      OFFENDING(store_matrix<1>(address(s.line[row][28]), registers));
      syncwarp();
      if (buggy) syncthreads();
    } else {
      if (lane_index() == 0) store_shared(&s.seen, load_shared(&s.line[3][28]));
      syncthreads();
    }
  };
  always_reported(launch, kernel, {"RACE-SMEM"});
}

TEST(Holes, RowsOfAStmatrixThatOverlap) {
  always_reported({.threads = 32, .shared_bytes = sizeof(Staged)},
                  [](bool buggy) {
                    auto& s = shared<Staged>();
                    const uint32_t registers[2] = {lane_index(), 99};
                    const uint32_t unit = buggy ? 0 : lane_index() / 8 % 2;
                    store_matrix<2>(address(s.line[lane_index() % 8][4 * unit]), registers);
                    syncwarp();
                  },
                  {"RACE-SMEM"});
}

TEST(Holes, AGatheredStoreIsFoundAgainAtItsOwnLine) {
  struct Unit {
    uint32_t words[4];
  };
  const Launch launch{.threads = 64, .shared_bytes = sizeof(Staged)};
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    Options options = with(schedule);
    options.check = true;
    const Outcome outcome = run(
        launch,
        [](bool) {
          auto& s = shared<Staged>();
          const auto unit = [&](uint32_t row) { return reinterpret_cast<Unit*>(s.line[row]); };
          if (thread_index() == 0) {
            store_shared(unit(0), Unit{});
            OFFENDING(store_shared(unit(1), Unit{}));
            store_shared(unit(2), Unit{});
          }
          if (thread_index() == 32) store_shared(&s.seen, load_shared(&s.line[1][0]));
          syncthreads();
        },
        true, options);
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    const Finding& finding = outcome.report.findings[0];
    if (finding.code == "UNINIT-SMEM") continue;  // the load came first
    EXPECT_EQ(finding.code, "RACE-SMEM");
    ASSERT_FALSE(finding.sides.empty());
    const uint32_t line = static_cast<uint32_t>(offending_line);
    EXPECT_TRUE(finding.at.user.line == line || finding.sides[0].at.user.line == line) << to_text(outcome.report);
  }
}

struct Objects {
  alignas(128) uint32_t line[4][32];
  Mbarrier full[2];
  uint32_t word;
};

TEST(Holes, ABarrierThatIsInvalidatedUnderAWaiter) {
  always_reported({.threads = 64, .shared_bytes = sizeof(Objects)},
                  [](bool buggy) {
                    auto& s = shared<Objects>();
                    init_barriers(s.full, 1);
                    if (thread_index() == 32) mbarrier_wait(address(s.full[0]), 1);
                    if (thread_index() == 0) mbarrier_arrive(address(s.full[0]));
                    if (!buggy) syncthreads();
                    if (thread_index() == 0) {
                      mbarrier_invalidate(address(s.full[0]));
                      store_shared(&s.full[0].opaque, uint64_t{3});
                    }
                  },
                  {"BAR-REINIT", "BAR-UNINIT"});
}

template <bool store>
void beside_atomics() {
  always_reported({.threads = 64, .shared_bytes = sizeof(Objects)},
                  [](bool buggy) {
                    auto& s = shared<Objects>();
                    if (thread_index() == 0) store_shared(&s.word, 0u);
                    syncthreads();
                    if (thread_index() == 0) fetch_cluster<Atomic::add>(address(s.word), 1u);
                    if (thread_index() == 40) fetch_cluster<Atomic::add>(address(s.word), 2u);  // atomics may meet
                    if (!buggy) syncthreads();
                    if (thread_index() != 32) return;
                    if (store)
                      store_shared(&s.word, 5u);
                    else
                      store_shared(s.line[0], load_shared(&s.word));
                  },
                  {"RACE-SMEM"});
}

TEST(Holes, AnAtomicAndAPlainAccess) {
  beside_atomics<false>();
  beside_atomics<true>();
}

TEST(Holes, AnAtomicOnAWordThatNobodyWrote) {
  always_reported({.threads = 32, .shared_bytes = sizeof(Objects)},
                  [](bool buggy) {
                    auto& s = shared<Objects>();
                    if (lane_index() == 0 && !buggy) store_shared(&s.word, 0u);
                    syncwarp();
                    fetch_cluster<Atomic::add>(address(s.word), 1u);
                  },
                  {"UNINIT-SMEM"});
}

TEST(Holes, AnAtomicThatACopyReads) {
  static uint32_t out[4];
  always_reported(
      {.threads = 32, .shared_bytes = sizeof(Objects), .tensors = {{out, sizeof(out), Access::write, "out"}}},
      [](bool buggy) {
        auto& s = shared<Objects>();
        if (thread_index() != 0) return;
        for (uint32_t i = 0; i < 4; ++i) store_shared(&s.line[0][i], 0u);
        fence_proxy_async_shared();
        fetch_cluster<Atomic::add>(address(s.line[0][0]), 1u);
        if (!buggy) fence_proxy_async_shared();
        bulk_store(out, address(s.line[0][0]), 16);
        bulk_commit_group();
        bulk_wait_group<0>();
      },
      {"PROXY"});
}

TEST(Holes, ReductionsOfPeersMayMeetAndNobodyReadsBetween) {
  always_reported({.grid = {3}, .cluster = {3}, .threads = 32, .shared_bytes = sizeof(Objects)},
                  [](bool buggy) {
                    auto& s = shared<Objects>();
                    for (auto& line : s.line) store_shared(&line[lane_index()], 1u);
                    fence_proxy_async_shared();
                    init_barriers(s.full, 1);
                    const SharedAddress full = map_to_rank(address(s.full[0]), 0);
                    if (cluster_rank() == 0) {
                      if (thread_index() == 0) mbarrier_arrive_expect_tx(full, 256);
                      if (!buggy) mbarrier_wait(full, 1);
                      store_shared(&s.line[2][lane_index()], load_shared(&s.line[0][lane_index()]));
                      mbarrier_wait(full, 1);
                    } else if (thread_index() == 0) {
                      bulk_send_reduce<Reduction::add, ReductionType::u32>(map_to_rank(address(s.line[0]), 0),
                                                                           address(s.line[1]), 128, full);
                    }
                    cluster_sync();
                  },
                  {"RACE-SMEM", "PROXY", "NOT-VISIBLE"});
}

TEST(Holes, AnInitThatAnotherLaneDoesNotKnowOf) {
  always_reported({.threads = 32, .shared_bytes = sizeof(Objects)},
                  [](bool buggy) {
                    auto& s = shared<Objects>();
                    if (lane_index() == 0) mbarrier_init(address(s.full[0]), 2);
                    if (!buggy) syncwarp();
                    if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
                    if (lane_index() == 5) mbarrier_arrive(address(s.full[0]));
                    syncwarp();
                    mbarrier_wait(address(s.full[0]), 1);
                  },
                  {"BAR-UNINIT"});
}

TEST(Holes, AnInitOfBytesThatAreStillRead) {
  always_reported({.threads = 64, .shared_bytes = sizeof(Objects)},
                  [](bool buggy) {
                    auto& s = shared<Objects>();
                    if (thread_index() == 0) store_shared(&s.full[0].opaque, uint64_t{7});
                    syncthreads();
                    if (thread_index() == 32)
                      store_shared(&s.word, static_cast<uint32_t>(load_shared(&s.full[0].opaque)));
                    if (!buggy) syncthreads();
                    if (thread_index() == 0) {
                      mbarrier_init(address(s.full[0]), 1);
                      fence_mbarrier_init();
                      mbarrier_arrive(address(s.full[0]));
                    }
                    syncthreads();
                    mbarrier_wait(address(s.full[0]), 1);
                  },
                  {"RACE-SMEM"});
}

// Lanes may store the same value to a word with one instruction. What follows from one of them does not follow from the
// others.
TEST(Holes, EqualStoresOfLanesThatOneOfThemArrivesFor) {
  always_reported({.threads = 64, .shared_bytes = sizeof(Objects)},
                  [](bool buggy) {
                    auto& s = shared<Objects>();
                    init_barriers(s.full, 1);
                    if (warp_index() == 0) {
                      store_shared(&s.word, 7u);
                      if (!buggy) syncwarp();
                      if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
                    } else {
                      mbarrier_wait(address(s.full[0]), 1);
                      if (lane_index() == 0) store_shared(s.line[0], load_shared(&s.word));
                    }
                    syncwarp();
                  },
                  {"RACE-SMEM", "UNINIT-SMEM"});
}

TEST(Holes, EqualStoresOfLanesOfWhichOneHasWaited) {
  // Lane 0 alone knows that warp 1 has read the word.
  always_reported({.threads = 64, .shared_bytes = sizeof(Objects)},
                  [](bool buggy) {
                    auto& s = shared<Objects>();
                    if (thread_index() == 0) store_shared(&s.word, 1u);
                    init_barriers(s.full, 1);
                    if (warp_index() == 1 && lane_index() == 0) {
                      store_shared(s.line[0], load_shared(&s.word));
                      mbarrier_arrive(address(s.full[0]));
                    }
                    if (warp_index() == 0) {
                      if (!buggy || lane_index() == 0) mbarrier_wait(address(s.full[0]), 1);
                      store_shared(&s.word, 7u);
                    }
                    syncwarp();
                  },
                  {"RACE-SMEM"});
}

TEST(Holes, EqualStoresOfLanesAtDifferentMoments) {
  // Lane 0 has arrived somewhere between its store and that of the others; who reads must know of all.
  always_reported({.threads = 64, .shared_bytes = sizeof(Objects)},
                  [](bool buggy) {
                    auto& s = shared<Objects>();
                    init_barriers(s.full, 1);
                    if (warp_index() == 0) {
                      if (lane_index() == 0) mbarrier_arrive(address(s.full[1]));
                      store_shared(&s.word, 7u);
                      if (!buggy) syncwarp();
                      if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
                    } else {
                      mbarrier_wait(address(s.full[0]), 1);
                      if (lane_index() == 0) store_shared(s.line[0], load_shared(&s.word));
                    }
                    syncwarp();
                  },
                  {"RACE-SMEM", "UNINIT-SMEM"});
}

TEST(Holes, EqualStoresOverAnotherOfTheSameLane) {
  // Both of lane 0's stores are told together, and the others may still come before the first.
  struct Unit {
    uint32_t words[4];
  };
  always_reported({.threads = 32, .shared_bytes = sizeof(Objects)},
                  [](bool buggy) {
                    auto& s = shared<Objects>();
                    auto* const unit = reinterpret_cast<Unit*>(s.line[0]);
                    if (lane_index() == 0) store_shared(unit, Unit{{1, 1, 1, 1}});
                    if (!buggy) syncwarp();
                    store_shared(unit, Unit{{2, 2, 2, 2}});
                    syncwarp();
                  },
                  {"RACE-SMEM"});
}

TEST(Holes, EqualStoresToGlobalMemoryOverAReadMadeTwice) {
  static uint32_t out[4];
  always_reported(
      {.threads = 32, .shared_bytes = sizeof(Objects), .tensors = {{out, sizeof(out), Access::write, "out"}}},
      [](bool buggy) {
        auto& s = shared<Objects>();
        if (buggy && lane_index() == 0) store_shared(s.line[0], load_global(&out[0]));
        uint32_t times = 2;
        asm volatile("" : "+r"(times));  // one instruction, executed twice
        for (uint32_t i = 0; i < times; ++i) store_global(&out[0], 7u);
        syncwarp();
      },
      {"RACE-GLOBAL"});
}

TEST(Holes, EqualStoresToGlobalMemoryThatOneLaneArrivesFor) {
  static uint32_t out[4];
  always_reported(
      {.threads = 64, .shared_bytes = sizeof(Objects), .tensors = {{out, sizeof(out), Access::write, "out"}}},
      [](bool buggy) {
        auto& s = shared<Objects>();
        init_barriers(s.full, 1);
        if (warp_index() == 0) {
          store_global(&out[0], 7u);
          if (!buggy) syncwarp();
          if (lane_index() == 0) mbarrier_arrive(address(s.full[0]));
        } else {
          mbarrier_wait(address(s.full[0]), 1);
          if (lane_index() == 0) store_shared(s.line[0], load_global(&out[0]));
        }
        syncwarp();
      },
      {"RACE-GLOBAL"});
}

/// What is stored before, or after, a fence that makes a relaxed arrival at the cluster barrier tell of it.
template <class Store, class Fence>
void told_by_fence(Store, Fence) {
  always_reported({.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = sizeof(Objects)},
                  [](bool buggy) {
                    auto& s = shared<Objects>();
                    if (buggy) Fence{}();
                    Store{}(s);
                    if (!buggy) Fence{}();
                    cluster_arrive_relaxed();
                    cluster_wait();
                    const uint32_t seen =
                        load_cluster<uint32_t>(map_to_rank(address(s.line[0][0]), cluster_rank() ^ 1));
                    if (lane_index() == 0) store_shared(&s.word, seen);
                    cluster_sync();
                  },
                  {"NOT-VISIBLE"});
}

TEST(Holes, ARelaxedArrivalTellsWhatWasFenced) {
  const auto plain = [](Objects& s) {
    if (lane_index() == 0) store_shared(&s.line[0][0], 1u);
  };
  const auto matrix = [](Objects& s) {
    const uint32_t registers[1] = {1};
    store_matrix<1>(address(s.line[0][4 * (lane_index() % 8)]), registers);
  };
  told_by_fence(plain, [] { fence_proxy_async_release(); });
  told_by_fence(matrix, [] { fence_proxy_async_release(); });
  told_by_fence(plain, [] { fence_cluster(); });
  told_by_fence(matrix, [] { fence_cluster(); });
  told_by_fence(plain, [] { fence_shared_release(); });
}

}  // namespace
}  // namespace warploom::loom
