// Lanes of a warp that do not come together: those that wait in a collective for others that never join it.
#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  Mbarrier full[1];
  uint32_t slot;
};

TEST(Divergence, LaneThatExits) {
  rule({},
       [](bool buggy) {
         if (buggy && lane_index() == 5) return;
         OFFENDING(syncwarp());
         shuffle(0, 0);
       },
       {"DIVERGENCE", {"lanes 0-4, 6-31 of warp 0 wait in bar.warp.sync", "but lane 5 has exited"}});
}

// All of them are named, whatever the order in which they leave.
TEST(Divergence, LanesThatExit) {
  rule({.threads = 64},
       [](bool buggy) {
         if (buggy && warp_index() == 1 && lane_index() % 2 == 1 && lane_index() < 6) return;
         if (warp_index() == 1) OFFENDING((void)elect_one());
         syncwarp();
       },
       {"DIVERGENCE", {"lanes 0, 2, 4, 6-31 of warp 1 wait in elect.sync", "but lanes 1, 3, 5 have exited"}});
}

TEST(Divergence, LaneThatExitsFromAWarpAtANamedBarrier) {
  rule({.threads = 64},
       [](bool buggy) {
         if (buggy && thread_index() == 40) return;
         if (warp_index() == 1)
           OFFENDING(bar_sync(1, 64));
         else
           bar_sync(1, 64);
       },
       {"DIVERGENCE", {"lanes 0-7, 9-31 of warp 1 wait in bar.sync", "but lane 8 has exited"}});
}

TEST(Divergence, LaneOutsideTheMaskMayExit) {
  always_clean(
      {},
      [](bool) {
        if (lane_index() == 31) return;
        syncwarp(0x7fffffff);
      },
      true);
}

TEST(Divergence, LanesThatWaitForTheClusterInstead) {
  rule({},
       [](bool buggy) {
         if (!buggy || lane_index() < 30) OFFENDING(syncwarp());
         cluster_sync();
       },
       {"DIVERGENCE",
        {"lanes 0-29 of warp 0 wait in bar.warp.sync", "lanes 30-31 wait at the cluster barrier at",
         "divergence_test"}});
}

TEST(Divergence, LanesThatWaitForEachOtherUnderTwoMasks) {
  const auto kernel = [](bool buggy) {
    if (buggy && lane_index() < 2) syncwarp(0x00000007);
    syncwarp();
    if (!buggy && lane_index() < 2) syncwarp(0x00000003);
  };
  always_found({}, kernel, true, {"DIVERGENCE", {"of warp 0 wait in bar.warp.sync", "in bar.warp.sync at"}, false});
  always_clean({}, kernel, false);
}

// An elected lane that waits keeps its warp waiting: that is how roles work, and its own wait is what is wrong here.
TEST(Divergence, AnElectedLaneThatWaitsForEverIsADeadlock) {
  const auto kernel = [](bool buggy) {
    auto& s = shared<Storage>();
    init_barriers(s.full, 1);
    if (elect_one()) {
      if (!buggy) mbarrier_arrive(address(s.full[0]));
      mbarrier_wait(address(s.full[0]), 1);
    }
    syncwarp();
  };
  for (const Schedule& schedule : schedules()) {
    const Outcome outcome = run({}, kernel, true, with(schedule));
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "DEADLOCK");
    ASSERT_EQ(outcome.report.waiting.size(), 1u);
    EXPECT_EQ(outcome.report.waiting[0].object, "ring.full[0]");
  }
  always_clean({}, kernel, false);
}

// At a standstill the table of those who wait comes with it.
TEST(Divergence, StandstillShowsWhoWaits) {
  const Outcome outcome = run(
      {},
      [](bool) {
        if (lane_index() < 30) syncwarp();
        cluster_sync();
      },
      true);
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].code, "DIVERGENCE");
  EXPECT_EQ(outcome.report.findings[0].agent.lanes, 0x3fffffffu);
  EXPECT_EQ(outcome.report.waiting.size(), 2u) << to_text(outcome.report);
}

}  // namespace
}  // namespace warploom::loom
