// Threads that fail without calling the machine: their stack overrun or endless loop becomes a finding, and the process
// lives on.
#include <gtest/gtest.h>

#include "warploom/arch/warp.hpp"
#include "warploom/loom/launch.hpp"

namespace warploom {
namespace {

// The recursion must keep its frames, so that the stack really grows.
__attribute__((noinline)) int deep(volatile int* depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(*depth);
  *depth = *depth + 1;
  return (*depth < 0 ? 0 : deep(depth)) + frame[0];
}

void overruns(const void*) {
  arch::syncwarp();
  volatile int depth = 0;
  if (arch::thread_index() == 7) deep(&depth);
}

void loops(const void*) {
  arch::syncwarp();
  volatile bool for_ever = true;
  if (arch::thread_index() == 9)
    while (for_ever) {
    }
}

void behaves(const void*) { arch::syncwarp(); }

loom::Outcome run(loom::Entry entry) {
  return loom::launch({.kernel = "guard", .grid = {3}, .cluster = {1}, .threads = 64, .shared_bytes = 1024}, entry,
                      nullptr, {}, {.seconds_limit = 0.2});
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(Guard, StackOverrunIsAFinding) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    const loom::Outcome outcome = run(&overruns);
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "STACK");
    EXPECT_EQ(outcome.report.findings[0].at.user.function, "deep");
    EXPECT_EQ(outcome.report.findings[0].agent.lanes, 1u << 7);
    EXPECT_TRUE(run(&behaves).ok());
  }
}
#endif

TEST(Guard, EndlessLoopIsAFinding) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    const loom::Outcome outcome = run(&loops);
    ASSERT_EQ(outcome.report.findings.size(), 1u);
    EXPECT_EQ(outcome.report.findings[0].code, "ENDLESS-LOOP");
    EXPECT_EQ(outcome.report.findings[0].at.user.function, "loops");
    EXPECT_EQ(outcome.report.findings[0].agent.lanes, 1u << 9);
    EXPECT_TRUE(run(&behaves).ok());
  }
}

}  // namespace
}  // namespace warploom
