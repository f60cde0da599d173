// Cluster launch control: every cluster's work is done exactly once whatever the schedule, answers do not depend on the
// number of workers, and each rule around a request is noticed.
#include "loom/probe_kernel.hpp"
#include "warploom/arch/clc.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  ClcResponse response[2];
  Mbarrier full[2];
  Mbarrier met[1];
};

/// Who did the work of each cluster, and how often it was done.
struct Ledger {
  std::vector<uint32_t> times, by;

  explicit Ledger(uint32_t clusters) : times(clusters), by(clusters, ~0u) {}
  std::vector<TensorRef> tensors() {
    return {{times.data(), 4 * times.size(), Access::write, "times"}, {by.data(), 4 * by.size(), Access::write, "by"}};
  }
};

struct Params {
  uint32_t *times, *by;
};

WARPLOOM_FN void do_work(const Params& p, Dim3 first_cta, Dim3 shape) {
  const Dim3 clusters = cluster_count(), own = cluster_index();
  const uint32_t index = first_cta.x / shape.x + clusters.x * (first_cta.y / shape.y + clusters.y * first_cta.z);
  store_global(p.times + index, load_global(p.times + index) + 1);
  store_global(p.by + index, own.x + clusters.x * (own.y + clusters.y * own.z));
}

/// One request at a time, by one thread.
const auto single_kernel = [](const Params& p) {
  auto& s = shared<Storage>();
  init_barriers(s.full, 1);
  if (thread_index() == 0) {
    Dim3 block = block_index();
    for (uint32_t phase = 1;; ++phase) {
      do_work(p, block, {});
      mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(ClcResponse));
      clc_try_cancel(address(s.response[0]), address(s.full[0]));
      mbarrier_wait(address(s.full[0]), phase);
      const ClcResponse response = load_shared(&s.response[0]);
      fence_proxy_async_shared();
      if (!clc_is_canceled(response)) break;
      block = clc_first_cta(response);
    }
  }
  syncwarp();
};

/// A cluster of 2 x 2: CTA 0 asks for all, every CTA reads the answer; CTA 0 asks again once all have.
const auto multicast_kernel = [](const Params& p) {
  auto& s = shared<Storage>();
  init_barriers(s.full, 1);
  if (thread_index() == 0) {
    const uint32_t rank = cluster_rank();
    Dim3 first = block_index();
    first = {first.x / 2 * 2, first.y / 2 * 2, first.z};
    for (uint32_t phase = 1;; ++phase) {
      if (rank == 3) do_work(p, first, {2, 2, 1});
      if (rank == 0) {
        for (uint32_t r = 0; r < 4; ++r)
          mbarrier_arrive_expect_tx(map_to_rank(address(s.full[0]), r), sizeof(ClcResponse));
        clc_try_cancel_multicast(address(s.response[0]), address(s.full[0]));
      }
      mbarrier_wait(address(s.full[0]), phase);
      const ClcResponse response = load_shared(&s.response[0]);
      fence_proxy_async_shared();
      mbarrier_arrive(map_to_rank(address(s.met[0]), 0));
      if (!clc_is_canceled(response)) break;
      first = clc_first_cta(response);
      if (rank == 0) mbarrier_wait(address(s.met[0]), phase);
    }
  }
  syncwarp();
  cluster_sync();
};
const auto multicast_entry = [](const Params& p) {
  auto& s = shared<Storage>();
  if (thread_index() == 0) mbarrier_init(address(s.met[0]), 4);
  multicast_kernel(p);
};

Outcome run_once(Dim3 grid, Dim3 cluster, Ledger& ledger, const Schedule& schedule, uint32_t processors,
                 unsigned workers = 0) {
  std::fill(ledger.times.begin(), ledger.times.end(), 0);
  const Launch launch{.grid = grid, .cluster = cluster, .tensors = ledger.tensors(), .launch_control = true};
  Options options = with(schedule);
  options.processors = processors;
  options.workers = workers;
  const Params params{ledger.times.data(), ledger.by.data()};
  return cluster.count() == 1 ? run(launch, single_kernel, params, options)
                              : run(launch, multicast_entry, params, options);
}

std::vector<Schedule> many_schedules(int random) {
  std::vector<Schedule> list = schedules();
  for (int seed = 8; seed < 8 + random; ++seed) list.push_back({Policy::random, static_cast<uint64_t>(seed)});
  return list;
}

TEST(LaunchControl, EveryClusterOnce) {
  for (const uint32_t processors : {1u, 3u, 4u, 64u}) {
    for (const Schedule& schedule : many_schedules(40)) {
      SCOPED_TRACE(schedule.text());
      Ledger ledger(29);
      const Outcome outcome = run_once({29}, {}, ledger, schedule, processors);
      ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
      EXPECT_EQ(ledger.times, std::vector<uint32_t>(29, 1));
    }
  }
}

TEST(LaunchControl, EveryClusterOnceMulticast) {
  for (const Schedule& schedule : many_schedules(40)) {
    SCOPED_TRACE(schedule.text());
    Ledger ledger(4 * 3 * 2);
    const Outcome outcome = run_once({8, 6, 2}, {2, 2, 1}, ledger, schedule, 3);
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    EXPECT_EQ(ledger.times, std::vector<uint32_t>(24, 1));
  }
}

// Without chance nobody is refused: a processor launches its first cluster, which takes over all others of its queue.
TEST(LaunchControl, EagerProcessorsRunOneClusterEach) {
  Ledger ledger(11);
  const Outcome outcome = run_once({11}, {}, ledger, {Policy::eager}, 4);
  ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
  EXPECT_EQ(outcome.canceled, 7u);
  for (uint32_t i = 0; i < 11; ++i) EXPECT_EQ(ledger.by[i], i % 4);
}

TEST(LaunchControl, RefusalsLeaveClustersToBeLaunched) {
  uint32_t launched = 0, canceled = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Ledger ledger(40);
    const Outcome outcome = run_once({40}, {}, ledger, {Policy::random, seed}, 2);
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    canceled += outcome.canceled;
    launched += 40 - outcome.canceled;
    for (uint32_t i = 0; i < 40; ++i) EXPECT_LE(ledger.by[i], i);
  }
  EXPECT_GT(launched, 40u * 3);  // more than the two that start in each run
  EXPECT_GT(canceled, 40u * 20);
}

TEST(LaunchControl, WorkersChangeNothing) {
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    Ledger expected(33);
    const Outcome first = run_once({33}, {}, expected, schedule, 5, 1);
    for (const unsigned workers : {1u, 2u, 3u, 8u}) {
      Ledger ledger(33);
      const Outcome outcome = run_once({33}, {}, ledger, schedule, 5, workers);
      EXPECT_EQ(ledger.by, expected.by) << workers;
      EXPECT_EQ(outcome.steps, first.steps);
      EXPECT_EQ(outcome.nominal_cycles, first.nominal_cycles);
      EXPECT_EQ(outcome.canceled, first.canceled);
    }
  }
}

// ---- the rules

const Launch rules{.grid = {6}, .launch_control = true};

/// Arms, asks, waits.
WARPLOOM_FN ClcResponse ask(Storage& s, uint32_t phase) {
  mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(ClcResponse));
  clc_try_cancel(address(s.response[0]), address(s.full[0]));
  mbarrier_wait(address(s.full[0]), phase);
  return load_shared(&s.response[0]);
}

TEST(LaunchControl, RequestAfterAFailureThatWasSeen) {
  rule(rules,
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (thread_index() == 0) {
           uint32_t phase = 1;
           ClcResponse response = ask(s, phase);
           while (clc_is_canceled(response)) {
             clc_first_cta(response);
             response = ask(s, ++phase);
           }
           if (buggy) {
             mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(ClcResponse));
             OFFENDING(clc_try_cancel(address(s.response[0]), address(s.full[0])));
             mbarrier_wait(address(s.full[0]), ++phase);
           }
         }
         syncwarp();
       },
       {"CLC-AFTER-FAILURE", {"has seen a request fail"}});
}

// Two requests in flight, the first fails: that alone is no error, nobody had seen it when the second was issued.
TEST(LaunchControl, TwoRequestsInFlightMayBothFail) {
  always_clean(
      rules,
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        if (thread_index() == 0) {
          for (uint32_t i = 0; i < 2; ++i) {
            mbarrier_arrive_expect_tx(address(s.full[i]), sizeof(ClcResponse));
            clc_try_cancel(address(s.response[i]), address(s.full[i]));
          }
          for (uint32_t i = 0; i < 2; ++i) {
            mbarrier_wait(address(s.full[i]), 1);
            const ClcResponse response = load_shared(&s.response[i]);
            if (clc_is_canceled(response)) clc_first_cta(response);
          }
        }
        syncwarp();
      },
      false);
}

TEST(LaunchControl, ResponseMustBeAligned) {
  rule(rules,
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (thread_index() == 0) {
           const SharedAddress to = address(s.response[0]) + (buggy ? 8 : 0);
           mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(ClcResponse));
           OFFENDING(clc_try_cancel(to, address(s.full[0])));
           mbarrier_wait(address(s.full[0]), 1);
           const ClcResponse response = load_shared(&s.response[0]);
           if (clc_is_canceled(response)) clc_first_cta(response);
         }
         syncwarp();
       },
       {"CLC-RULE", {"multiple of 16"}});
}

TEST(LaunchControl, BarrierMustBeArmed) {
  rule(rules,
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (thread_index() == 0) {
           if (buggy)
             mbarrier_arrive(address(s.full[0]));
           else
             mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(ClcResponse));
           clc_try_cancel(address(s.response[0]), address(s.full[0]));
           mbarrier_wait(address(s.full[0]), 1);
           if (buggy) mbarrier_wait(address(s.full[0]), 2);  // the 16 bytes are too many for any phase
           const ClcResponse response = load_shared(&s.response[0]);
           if (clc_is_canceled(response)) clc_first_cta(response);
         }
         syncwarp();
       },
       {"DEADLOCK", {}, false});
}

TEST(LaunchControl, EveryBarrierOfAMulticastMustBeArmed) {
  rule({.grid = {4}, .cluster = {2}, .launch_control = true},
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (thread_index() == 0) {
           if (cluster_rank() == 0) {
             for (uint32_t r = 0; r < (buggy ? 1u : 2u); ++r)
               mbarrier_arrive_expect_tx(map_to_rank(address(s.full[0]), r), sizeof(ClcResponse));
             clc_try_cancel_multicast(address(s.response[0]), address(s.full[0]));
           }
           mbarrier_wait(address(s.full[0]), 1);
           const ClcResponse response = load_shared(&s.response[0]);
           if (clc_is_canceled(response)) clc_first_cta(response);
         }
         syncwarp();
         cluster_sync();
       },
       {"DEADLOCK", {}, false});
}

TEST(LaunchControl, FirstCtaOfAFailedRequest) {
  rule({.launch_control = true},  // one cluster: there is nothing to cancel
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (thread_index() == 0) {
           const ClcResponse response = ask(s, 1);
           if (buggy || clc_is_canceled(response)) OFFENDING(clc_first_cta(response));
         }
         syncwarp();
       },
       {"CLC-RESPONSE", {"of a request that failed"}});
}

TEST(LaunchControl, AnswerReadBeforeItLands) {
  const auto kernel = [](bool buggy) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (thread_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(ClcResponse));
      clc_try_cancel(address(s.response[0]), address(s.full[0]));
      if (!buggy) mbarrier_wait(address(s.full[0]), 1);
      const ClcResponse response = load_shared(&s.response[0]);
      OFFENDING(if (clc_is_canceled(response)) clc_first_cta(response));
      if (buggy) mbarrier_wait(address(s.full[0]), 1);
    }
    syncwarp();
  };
  offending_line = 0;
  expect_finding(run(rules, kernel, true, with({Policy::lazy})), rules, {"CLC-RESPONSE", {"has not landed"}});
  always_clean(rules, kernel, false);
}

TEST(LaunchControl, CanceledClusterThatNobodyWorksOn) {
  const auto kernel = [](bool buggy) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (thread_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(ClcResponse));
      OFFENDING(clc_try_cancel(address(s.response[0]), address(s.full[0])));
      mbarrier_wait(address(s.full[0]), 1);
      const ClcResponse response = load_shared(&s.response[0]);
      if (clc_is_canceled(response) && !buggy) clc_first_cta(response);
    }
    syncwarp();
  };
  for (const Policy policy : {Policy::eager, Policy::lazy}) {
    offending_line = 0;
    expect_finding(run(rules, kernel, true, with({policy})), rules, {"CLC-LOST", {"cluster 4 was canceled"}});
  }
  always_clean(rules, kernel, false);
}

TEST(LaunchControl, AnswerMustLandBeforeTheEnd) {
  rule(rules,
       [](bool buggy) {
         auto& s = shared<Storage>();
         init_barriers(s.full, 1);
         if (thread_index() == 0) {
           mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(ClcResponse));
           if (!buggy) {
             clc_try_cancel(address(s.response[0]), address(s.full[0]));
             mbarrier_wait(address(s.full[0]), 1);
             const ClcResponse response = load_shared(&s.response[0]);
             if (clc_is_canceled(response)) clc_first_cta(response);
           }
         }
         syncwarp();
       },
       {"EXIT-BARRIER", {"16 bytes outstanding"}, false});
}

TEST(LaunchControl, LaunchMustSaySo) {
  const auto kernel = [](bool) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (thread_index() == 0) {
      mbarrier_arrive_expect_tx(address(s.full[0]), sizeof(ClcResponse));
      OFFENDING(clc_try_cancel(address(s.response[0]), address(s.full[0])));
      mbarrier_wait(address(s.full[0]), 1);
      const ClcResponse response = load_shared(&s.response[0]);
      if (clc_is_canceled(response)) clc_first_cta(response);
    }
    syncwarp();
  };
  always_found({.grid = {6}}, kernel, true, {"LAUNCH", {"LaunchConfig::launch_control"}});
  always_clean(rules, kernel, true);
  Options options;
  options.processors = 0;
  EXPECT_EQ(run(rules, kernel, true, options).report.findings.at(0).message,
            "launch control on 0 processors; at least 1 is needed");
}

// ---- the encoding (hardware.md §6.9): the same bits that the chip's queries decode

struct Words {
  uint32_t* words;
};

TEST(LaunchControl, AnswersHaveTheHardwaresBits) {
  std::vector<uint32_t> words(8);
  const Launch launch{.grid = {4, 6, 2},
                      .cluster = {2, 3, 1},
                      .tensors = {{words.data(), 32, Access::write, "words"}},
                      .launch_control = true};
  const auto kernel = [](const Words& p) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (thread_index() == 0 && cluster_rank() == 0) {
      const ClcResponse response = ask(s, 1);
      const uint32_t at = clc_is_canceled(response) ? 0 : 4;
      for (uint32_t i = 0; i < 4; ++i) store_global(p.words + at + i, response.words[i]);
      if (at == 0) clc_first_cta(response);
    }
    syncwarp();
    cluster_sync();
  };
  Options options;
  options.processors = 7;  // eight clusters: cluster 0 cancels cluster 7, the others find nothing
  options.workers = 1;
  expect_clean(run(launch, kernel, Words{words.data()}, options));
  EXPECT_EQ(words[0], 2u);
  EXPECT_EQ(words[1], 3u | 1u << 16);
  EXPECT_EQ(words[2], 1u);
  EXPECT_EQ(words[6], 0u);
}

}  // namespace
}  // namespace warploom::loom
