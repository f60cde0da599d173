#include "warploom/gpu/watchdog_text.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace warploom::gpu {
namespace {

StuckWait example() {
  StuckWait wait{};
  wait.written = 1;
  wait.block[0] = 2;
  wait.cluster_rank = 1;
  wait.sm = 17;
  wait.warp = 3;
  wait.lane = 0;
  wait.waited_ms = 1000;
  wait.barrier = 0x1000600;
  wait.side = 0;
  wait.stage = 1;
  wait.phase = 4;
  wait.expected = 65;
  wait.seen = 64;
  wait.seen_phases = 4;
  std::strcpy(wait.role, "total");
  std::strcpy(wait.ring, "output");
  std::strcpy(wait.signalled_by, "every thread of square");
  return wait;
}

TEST(WatchdogText, SaysWhoWaitsForWhat) {
  EXPECT_EQ(
      to_text(example()),
      "warploom watchdog: cta 2,0,0 (cluster rank 1, sm 17) warp 3 lane 0, role total, has waited 1000 ms\n"
      "  for output.full[1] (mbarrier at 0x1000600), phase 4: 65 arrivals expected, 64 by threads seen in phase 4\n"
      "  signalled by every thread of square\n");
}

TEST(WatchdogText, SaysWhatCannotBeSeen) {
  StuckWait wait = example();
  wait.side = 1;
  wait.seen_phases = 3;  // nobody waited for phase 3
  wait.unobservable = unobservable_bytes | unobservable_commits;
  const std::string text = to_text(wait);
  EXPECT_NE(text.find("for output.empty[1] "), std::string::npos) << text;
  EXPECT_NE(text.find("64 by threads seen since the end of phase 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("; TMA's bytes are not observable; tcgen05 commits are not observable\n"), std::string::npos);
}

TEST(WatchdogText, OnlyWhatIsFinished) {
  const auto memory = std::make_unique<StuckWaits>();
  EXPECT_EQ(to_text(*memory), "");
  memory->waits[3] = example();
  memory->waits[4] = example();
  memory->waits[4].written = 0;
  EXPECT_EQ(to_text(*memory), to_text(example()));
}

TEST(WatchdogText, LongNamesFit) {
  StuckWait wait = example();
  std::memset(wait.role, 'r', sizeof(wait.role) - 1);
  std::memset(wait.ring, 'q', sizeof(wait.ring) - 1);
  std::memset(wait.signalled_by, 's', sizeof(wait.signalled_by) - 1);
  wait.unobservable = unobservable_bytes | unobservable_commits;
  EXPECT_EQ(to_text(wait).back(), '\n');
}

}  // namespace
}  // namespace warploom::gpu
