// Threads that fail without calling the machine: their stack overrun or endless loop becomes a finding, and the process
// lives on.
#include <gtest/gtest.h>

#include "warploom/arch/shared.hpp"
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

[[maybe_unused]] void overruns(const void*) {  // not with the address sanitizer, which has its own word on it
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

#if !defined(__SANITIZE_ADDRESS__)
TEST(Guard, WildPointerIsAFinding) {
  static volatile uintptr_t nowhere = 8;  // not a constant to the compiler, which would see through it
  const loom::Outcome outcome = run([](const void*) {
    if (arch::thread_index() == 3) *reinterpret_cast<volatile int*>(nowhere) = 1;
  });
  ASSERT_EQ(outcome.report.findings.size(), 1u);
  EXPECT_EQ(outcome.report.findings[0].code, "FAULT");
  EXPECT_EQ(outcome.report.findings[0].agent.lanes, 1u << 3);
  EXPECT_TRUE(run(&behaves).ok());
}
#endif

TEST(Guard, SharedAccessesAreBounded) {
  for (const ptrdiff_t offset : {ptrdiff_t{-4}, ptrdiff_t{1024}, ptrdiff_t{1 << 20}}) {
    static ptrdiff_t where;
    where = offset;
    const loom::Outcome outcome = run([](const void*) {
      auto* base = reinterpret_cast<char*>(&arch::shared<int>());
      if (arch::thread_index() == 0) arch::store_shared(reinterpret_cast<int*>(base + where), 1);
    });
    ASSERT_EQ(outcome.report.findings.size(), 1u) << offset;
    EXPECT_EQ(outcome.report.findings[0].code, "OOB-SHARED");
  }
  EXPECT_TRUE(run([](const void*) { arch::store_shared(&arch::shared<int>() + 255, 1); }).ok());
}

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
