// What a launch refuses, and how a kernel that does not end is ended.
#include <stdexcept>

#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  Mbarrier full[1];
};

std::string refusal(const Launch& launch, const Schedule& schedule = {}) {
  const Outcome outcome = run(launch, [](bool) {}, true, with(schedule));
  if (outcome.report.findings.size() != 1 || outcome.report.findings[0].code != "LAUNCH") return "accepted";
  EXPECT_EQ(outcome.steps, 0u);
  return outcome.report.findings[0].message;
}

TEST(LaunchRules, Threads) {
  EXPECT_EQ(refusal({.threads = 0}), "0 threads per CTA; a multiple of 32 up to 1024 is possible");
  EXPECT_EQ(refusal({.threads = 33}), "33 threads per CTA; a multiple of 32 up to 1024 is possible");
  EXPECT_EQ(refusal({.threads = 1056}), "1056 threads per CTA; a multiple of 32 up to 1024 is possible");
  EXPECT_EQ(refusal({.threads = 1024}), "accepted");
}

TEST(LaunchRules, Cluster) {
  EXPECT_EQ(refusal({.grid = {17}, .cluster = {17}}), "a cluster of 17 CTAs; 1 to 16 are possible");
  EXPECT_EQ(refusal({.cluster = {0}}), "a cluster of 0 CTAs; 1 to 16 are possible");
  EXPECT_EQ(refusal({.grid = {16}, .cluster = {16}}), "accepted");
  EXPECT_EQ(refusal({.grid = {3, 0xaaaaaaab}, .cluster = {3, 0xaaaaaaab}}),  // 1 in 32 bits
            "a cluster of 8589934593 CTAs; 1 to 16 are possible");
}

TEST(LaunchRules, Grid) {
  EXPECT_EQ(refusal({.grid = {3}, .cluster = {2}}), "a grid of 3x1x1 CTAs is not a whole number of 2x1x1 clusters");
  EXPECT_EQ(refusal({.grid = {0}}), "a grid of 0x1x1 CTAs is not a whole number of 1x1x1 clusters");
  EXPECT_EQ(refusal({.grid = {2, 4}, .cluster = {2, 2}}), "accepted");
  EXPECT_EQ(refusal({.grid = {0x7fffffff}}), "a grid of 2147483647 clusters; the loom runs up to 4194304");
  EXPECT_EQ(refusal({.grid = {65536, 65536}}), "a grid of 4294967296 clusters; the loom runs up to 4194304");
}

// Stacks take mappings of the process, which are few: fewer workers then, and not the end of the program.
TEST(LaunchRules, AFullClusterRunsWithAnyNumberOfWorkers) {
  const Outcome outcome =
      run({.grid = {16 * 4}, .cluster = {16}, .threads = 1024}, [](bool) { cluster_sync(); }, true, {.workers = 16});
  expect_clean(outcome);
}

TEST(LaunchRules, AKernelNeedsNoName) {
  const Outcome outcome = launch({.kernel = nullptr, .grid = {1}, .cluster = {1}, .threads = 32, .shared_bytes = 1024},
                                 [](const void*) { syncwarp(); }, nullptr, {}, {});
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(outcome.report.kernel, "");
}

TEST(LaunchRules, SharedMemory) {
  EXPECT_EQ(refusal({.shared_bytes = 227 * 1024 + 1}),
            "232449 bytes of shared memory per CTA; at most 232448 are possible");
  EXPECT_EQ(refusal({.shared_bytes = 227 * 1024}), "accepted");
}

TEST(LaunchRules, Skew) {
  EXPECT_EQ(refusal({}, {Policy::random, 1, 1}), "skew=1 names no CTA of a cluster of 1");
  EXPECT_EQ(refusal({}, {Policy::random, 1, 0}), "accepted");
}

TEST(LaunchRules, ReportNamesKernelAndSchedule) {
  const Outcome outcome = run({.threads = 7}, [](bool) {}, true, with({Policy::lazy, 0x2a}));
  EXPECT_EQ(outcome.report.kernel, "probe");
  EXPECT_EQ(outcome.report.schedule, "lazy:2a");
}

TEST(LaunchRules, StepLimit) {
  const Launch launch{.threads = 64};
  for (const Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    Options options = with(schedule);
    options.step_limit = 5000;
    const Outcome outcome = run(
        launch,
        [](bool) {
          auto& s = shared<Storage>();
          init_barriers(s.full, 1);
          if (warp_index() == 1) mbarrier_wait(address(s.full[0]), 1);
          for (;;) OFFENDING(fence_proxy_async_shared());
          syncwarp();
        },
        true, options);
    expect_finding(outcome, launch, {"STEP-LIMIT", {"5000 operations"}});
  }
}

TEST(LaunchRules, StepLimitShowsWhoWaits) {
  static Line waiting_line;
  Options options;
  options.step_limit = 3000;
  const Outcome outcome = run(
      {.threads = 64},
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        if (warp_index() == 0) {
          AT_LINE(waiting_line, mbarrier_wait(address(s.full[0]), 1));
        } else {
          while (!mbarrier_test(address(s.full[0]), 1)) {
          }
        }
      },
      true, options);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.report.findings[0].code, "STEP-LIMIT");
  bool found = false;
  for (const Waiter& waiter : outcome.report.waiting)
    found = found || (waiter.object == "ring.full[0]" && waiter.at.user.line == waiting_line);
  EXPECT_TRUE(found) << to_text(outcome.report);
}

TEST(LaunchRules, EndlessPollReachesTheStepLimit) {
  Options options;
  options.step_limit = 3000;
  const Launch launch{};
  const Outcome outcome = run(
      launch,
      [](bool) {
        auto& s = shared<Storage>();
        init_barriers(s.full, 1);
        bool passed = false;
        while (!passed) OFFENDING(passed = mbarrier_test(address(s.full[0]), 1));
        syncwarp();
      },
      true, options);
  expect_finding(outcome, launch, {"STEP-LIMIT", {"3000"}});
}

TEST(LaunchRules, ExceptionInAKernel) {
  const Launch launch{};
  always_found(launch,
               [](bool) {
                 auto& s = shared<Storage>();
                 init_barriers(s.full, 1);
                 if (lane_index() == 3) throw std::runtime_error("no");
                 syncwarp();
               },
               true, {"EXCEPTION", {"the kernel threw an exception"}, false});
}

TEST(LaunchRules, ExceptionCaughtInsideAKernelIsTheKernelsBusiness) {
  always_clean(
      {},
      [](bool) {
        try {
          if (lane_index() % 2 == 0) throw lane_index();
          syncwarp(0xaaaaaaaa);
        } catch (uint32_t lane) {
          syncwarp(0x55555555);  // other fibers run, and throw, while this one handles its exception
          EXPECT_EQ(lane, lane_index());
        }
        syncwarp();
      },
      true);
}

TEST(LaunchRules, SharedMemoryStartsAsPoison) {
  always_clean(
      {.grid = {2}},
      [](bool) {
        const auto* words = &shared<uint32_t>();
        EXPECT_EQ(load_shared(words + lane_index()), 0xffffffffu);
        syncwarp();
        store_shared(&shared<uint32_t>() + lane_index(), 1u);  // the next cluster of this worker must not see it
        syncwarp();
      },
      true);
}

}  // namespace
}  // namespace warploom::loom
