// Threads that exit before others meet: which phase waits for them, and which does not. Programs that fail under some
// schedule are never told HOLDS, and their twins are under every one.
#include <gtest/gtest.h>

#include "loom/check/points.hpp"
#include "warploom/arch/atomic.hpp"
#include "warploom/arch/bulk.hpp"
#include "warploom/arch/cluster_memory.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/pdl.hpp"

namespace warploom::loom {
namespace {

using namespace points;

/// HOLDS, whichever schedule the one run has.
template <class Kernel>
void holds_always(const Launch& launch, Kernel kernel) {
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    const Verdict verdict = verdict_of(launch, kernel, false, 0, schedule);
    EXPECT_EQ(verdict.kind, Verdict::Kind::holds) << verdict.sentence() << to_text(verdict.report);
  }
}

const Launch pair{.grid = {2}, .cluster = {2}, .threads = 32, .shared_bytes = storage_bytes};

// ---- the cluster barrier

TEST(Exits, AReadBetweenTheLastArrivalAndTheExit) {
  // The phase waits for the arrival, and not for what its thread does before it exits.
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    if (thread_index() == 0) store_shared(&s.line[0], 5u);
    cluster_sync();
    if (cluster_rank() == 0) {
      const auto read = [&] {
        if (thread_index() == 0) (void)load_cluster<uint32_t>(map_to_rank(address(s.line[0]), 1));
      };
      if (!p.buggy) read();
      cluster_arrive();
      if (p.buggy) read();
      return;
    }
    cluster_sync();
    if (thread_index() == 0) store_shared(&s.line[0], 1u);
  };
  always_fails(pair, kernel, {"RACE-SMEM", "EXIT-REMOTE"});
  holds_always(pair, kernel);
}

TEST(Exits, AnArrivalElsewhereBetweenTheLastArrivalAndTheExit) {
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_three(s, 1);
    if (cluster_rank() == 0) {
      const auto signal = [&] {
        if (thread_index() == 0) mbarrier_arrive(map_to_rank(address(s.a[0]), 1));
      };
      if (!p.buggy) signal();
      cluster_arrive();
      if (p.buggy) signal();
      return;
    }
    cluster_sync();
  };
  always_fails(pair, kernel, {"EXIT-REMOTE"});
  holds_always(pair, kernel);
}

TEST(Exits, TheNextPhaseWaitsForAnExitAfterAnArrival) {
  holds_always(pair, [](const Params&) {
    auto& s = shared<Storage>();
    if (thread_index() == 0) store_shared(&s.line[0], 5u);
    cluster_sync();
    cluster_arrive();
    if (cluster_rank() == 0) {
      if (thread_index() == 0) (void)load_cluster<uint32_t>(map_to_rank(address(s.line[0]), 1));
      return;
    }
    cluster_wait();
    cluster_sync();
    if (thread_index() == 0) store_shared(&s.line[0], 1u);
  });
}

/// A warp exits before the others meet for the first time.
template <uint32_t leaver, bool cluster>
constexpr auto left_before_the_first = [](const Params& p) {
  if (warp_index() == leaver) {
    if (lane_index() == 0) (void)load_global(p.words);
    return;
  }
  cluster ? cluster_sync() : syncthreads();
  if (warp_index() == (leaver + 1) % 3 && lane_index() == 0) store_global(p.words, 1u);
};
const Launch three_warps{.threads = 96, .shared_bytes = storage_bytes};

TEST(Exits, BeforeTheFirstPhaseOfAClusterOfOne) {
  holds_always(three_warps, left_before_the_first<0, true>);
  holds_always(three_warps, left_before_the_first<1, true>);
  holds_always(three_warps, left_before_the_first<2, true>);
}

// ---- __syncthreads

TEST(Exits, BeforeTheFirstSyncthreads) {
  holds_always(three_warps, left_before_the_first<0, false>);
  holds_always(three_warps, left_before_the_first<1, false>);
  holds_always(three_warps, left_before_the_first<2, false>);
}

TEST(Exits, BeforeACountedBarrierZero) {
  // bar.sync 0, 64 has arrivals of two warps, and waits for nobody else.
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    if (thread_index() == 0) store_shared(&s.line[0], 5u);
    syncthreads();
    if (warp_index() == 2) {
      if (lane_index() == 0) (void)load_shared(&s.line[0]);
      return;
    }
    p.buggy ? bar_sync(0, 64) : syncthreads();
    if (thread_index() == 0) store_shared(&s.line[0], 1u);
  };
  always_fails(three_warps, kernel, {"RACE-SMEM"});
  holds_always(three_warps, kernel);
}

TEST(Exits, ACountAmongArrivalsOfAllThatAreLeft) {
  // Whoever comes first: an arrival with a count waits for so many arrivals.
  const auto kernel = [](const Params& p) {
    if (warp_index() == 2) return;
    p.buggy&& warp_index() == 1 ? bar_sync(0, 96) : syncthreads();
  };
  always_fails(three_warps, kernel, {"DEADLOCK", "EXIT-BARRIER"});
  holds_always(three_warps, kernel);
}

TEST(Exits, AWarpThatArrivedAndExitedCountsOnce) {
  holds_always(three_warps, [](const Params&) {
    auto& s = shared<Storage>();
    if (warp_index() == 2) {
      if (lane_index() == 0) store_shared(&s.line[0], 3u);
      bar_arrive(0, 96);
      return;
    }
    if (warp_index() == 1 && lane_index() == 0) store_shared(&s.line[1], 4u);
    syncthreads();
    if (thread_index() == 0) (void)(load_shared(&s.line[0]) + load_shared(&s.line[1]));
  });
}

TEST(Exits, BytesOfAThreadThatHasExited) {
  // They come before all others, so that the count stays in its range, in whatever order the signals are executed.
  holds_always({.threads = 64, .shared_bytes = storage_bytes}, [](const Params&) {
    auto& s = shared<Storage>();
    init_three(s, 1);
    if (thread_index() == 1) mbarrier_complete_tx(address(s.a[0]), 300'000);
    if (warp_index() == 0) return;
    syncthreads();
    if (lane_index() == 0) {
      mbarrier_expect_tx(address(s.a[0]), 1'000'000);
      mbarrier_complete_tx(address(s.a[0]), 1'000'000);
    }
    if (lane_index() == 1) mbarrier_expect_tx(address(s.a[0]), 300'000);
  });
}

// ---- grids

/// The verdict of grids that follow each other, each with the number of its place.
template <class Kernel>
Verdict verdict_of_grids(uint32_t count, uint32_t ctas, Kernel, bool buggy) {
  struct Grid {
    uint32_t* words;
    uint32_t number;
    bool buggy;
  };
  Memory memory;
  const Launch launch{.grid = {ctas}, .tensors = memory.tensors()};
  std::vector<Grid> params;
  for (uint32_t i = 0; i < count; ++i) params.push_back({memory.words.data(), i, buggy});
  CheckOptions options;
  options.schedules = 1;
  return check({.what = "grids",
                .launch =
                    [&](const Options& run_options) {
                      std::vector<GridLaunch> grids;
                      for (const Grid& grid : params) {
                        grids.push_back({config_of(launch), &entry<Kernel, Grid>, &grid, launch.tensors});
                        if (grid.number == 1) grids.back().tensors = {};  // touches nothing
                      }
                      return combined(launch_dependent(grids, run_options));
                    }},
               options);
}

TEST(Exits, AGridBetweenThatEndsWithoutWaiting) {
  // Its end lets the next one start, and the first may still run.
  const auto kernel = [](const auto& p) {
    if (p.number == 0) {
      grid_launch_dependents();
      if (thread_index() == 0) store_global(p.words, 1u);
    } else if (p.number == 1) {
      if (!p.buggy) grid_dependency_wait();
    } else if (thread_index() == 0) {
      (void)load_global(p.words);
    }
  };
  const Verdict buggy = verdict_of_grids(3, 1, kernel, true);
  ASSERT_EQ(buggy.kind, Verdict::Kind::fails) << buggy.sentence();
  EXPECT_EQ(buggy.report.findings[0].code, "PDL-EARLY") << to_text(buggy.report);
  const Verdict twin = verdict_of_grids(3, 1, kernel, false);
  EXPECT_EQ(twin.kind, Verdict::Kind::holds) << twin.sentence() << to_text(twin.report);
}

TEST(Exits, EveryCtaMustLetTheNextGridStart) {
  // One of the CTAs between waits before it does: when the last grid starts, the first has ended.
  const auto kernel = [](const auto& p) {
    if (p.number == 0) {
      grid_launch_dependents();
      if (thread_index() == 0) store_global(p.words + block_index().x, 1u);
    } else if (p.number == 1) {
      if (block_index().x == 0 && !p.buggy) grid_dependency_wait();
      grid_launch_dependents();
    } else if (thread_index() == 0) {
      (void)load_global(p.words + block_index().x);
    }
  };
  const Verdict buggy = verdict_of_grids(3, 2, kernel, true);
  ASSERT_EQ(buggy.kind, Verdict::Kind::fails) << buggy.sentence();
  EXPECT_EQ(buggy.report.findings[0].code, "PDL-EARLY") << to_text(buggy.report);
  const Verdict twin = verdict_of_grids(3, 2, kernel, false);
  EXPECT_EQ(twin.kind, Verdict::Kind::holds) << twin.sentence() << to_text(twin.report);
}

TEST(Exits, ACanceledClusterThatNobodyRuns) {
  // With a processor for each cluster nothing is canceled; with fewer, one is lost.
  Memory memory;
  const Launch launch{.grid = {4}, .shared_bytes = storage_bytes, .tensors = memory.tensors(), .launch_control = true};
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    init_three(s, 1);
    if (thread_index() != 0) return;
    mbarrier_arrive_expect_tx(address(s.a[0]), sizeof(ClcResponse));
    clc_try_cancel(address(s.response[0]), address(s.a[0]));
    mbarrier_wait(address(s.a[0]), 1);
    (void)p;
  };
  const Params params{memory.words.data(), true};
  for (const uint32_t processors : {2u, 4u}) {
    CheckOptions options;
    options.run.processors = processors;
    const Verdict verdict = check({.what = "probe",
                                   .launch =
                                       [&](const Options& run_options) {
                                         return ::warploom::loom::launch(
                                             config_of(launch), &entry<std::remove_const_t<decltype(kernel)>, Params>,
                                             &params, launch.tensors, run_options);
                                       }},
                                  options);
    EXPECT_EQ(verdict.kind, processors == 4 ? Verdict::Kind::holds : Verdict::Kind::fails) << verdict.sentence();
    if (processors == 4) {
      EXPECT_TRUE(contains(verdict.sentence(), "on 4 processors")) << verdict.sentence();
    } else {
      EXPECT_EQ(verdict.report.findings.at(0).code, "CLC-LOST") << to_text(verdict.report);
    }
  }
}

// ---- spins that others must get out of

/// Warp 1 writes to the words when its copy has landed, which is late under some schedules.
void release_later(Storage& s, const Params& p, uint32_t word) {
  mbarrier_arrive_expect_tx(address(s.a[0]), 16);
  bulk_load(address(s.line[16]), p.words, 16, address(s.a[0]));
  mbarrier_wait(address(s.a[0]), 1);
  (void)fetch_cluster<Atomic::exchange>(address(s.line[word]), 1);
}

template <class Kernel>
void always_ends(Kernel kernel) {
  const Launch launch{.threads = 64, .shared_bytes = storage_bytes};
  for (const Schedule& schedule : schedules(launch)) {
    SCOPED_TRACE(schedule.text());
    for (const bool checked : {false, true}) {
      Memory memory;
      Launch with_tensors = launch;
      with_tensors.tensors = memory.tensors();
      Options options = with(schedule);
      options.check = checked;
      options.step_limit = 100'000;
      const Outcome outcome = run(with_tensors, kernel, Params{memory.words.data(), false}, options);
      EXPECT_TRUE(outcome.ok()) << to_text(outcome.report);
    }
  }
}

TEST(Exits, ASpinOnEitherOfTwoWords) {
  always_ends([](const Params& p) {
    auto& s = shared<Storage>();
    init_three(s, 1);
    if (thread_index() < 2) store_shared(&s.line[thread_index()], 0u);
    syncthreads();
    if (thread_index() == 32) release_later(s, p, 1);
    if (thread_index() == 0)
      while (fetch_cluster<Atomic::add>(address(s.line[0]), 0) == 0 &&
             fetch_cluster<Atomic::add>(address(s.line[1]), 0) == 0) {
      }
  });
}

TEST(Exits, ASpinThatCountsItsTries) {
  always_ends([](const Params& p) {
    auto& s = shared<Storage>();
    init_three(s, 1);
    if (thread_index() < 2) store_shared(&s.line[thread_index()], 0u);
    syncthreads();
    if (thread_index() == 32) release_later(s, p, 0);
    if (thread_index() == 0)
      while (fetch_cluster<Atomic::add>(address(s.line[0]), 0) == 0)
        (void)fetch_cluster<Atomic::add>(address(s.line[1]), 1);
  });
}

}  // namespace
}  // namespace warploom::loom
