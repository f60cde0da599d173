#include "ptx/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_set>

#include "ptx/texts.hpp"
#include "ptx/waits.hpp"

namespace warploom::ptx {
namespace {

// ---- waits

WaitLoop first_wait(std::string_view body) {
  const Module module = parsed(in_kernel(".reg .pred p, q; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<4>;\n" +
                                         std::string(body) + "\nst.global.u32 [%rd1], %r7;\nret;"));
  const Function& function = module.functions[0];
  const Plan plan = plan_of(module, function);
  for (uint32_t i = 0; i < function.body.size(); ++i)
    if (is_mbarrier_wait(function.body[i])) return plan.waits[i];
  return WaitLoop::none;
}

TEST(PtxWaits, LoopsThatDoNothingElsePark) {
  // as inline assembly has it
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2;\n@p bra D;\nbra.uni W;\nD:"),
            WaitLoop::parks);
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2;\n@!p bra.uni W;"), WaitLoop::parks);
  // as a compiler writes a loop of C++
  EXPECT_EQ(first_wait("W: mbarrier.test_wait.shared::cta.b64 p, [%r1], %rd2; selp.b32 %r3, 1, 0, p; setp.eq.s32 q, "
                       "%r3, 0; @q bra W;"),
            WaitLoop::parks);
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; selp.u16 %r3, 1, 0, p; and.b16 %r4, %r3, "
                       "255; setp.ne.s16 q, %r4, 0; @q bra D; bra W; D:"),
            WaitLoop::parks);
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; xor.pred q, p, 1; not.pred q, q; not.pred "
                       "q, q; @q bra W;"),
            WaitLoop::parks);
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; selp.b32 %r3, 0, 1, !p; setp.eq.s32 q, "
                       "%r3, 0; @q bra W;"),
            WaitLoop::parks);
  // what is computed again from values that stay, also if others read it
  EXPECT_EQ(first_wait("W: add.s32 %r7, %r1, 8; mbarrier.try_wait.shared::cta.b64 p, [%r7], %rd2; @p bra D; "
                       "nanosleep.u32 20; bra W; D:"),
            WaitLoop::parks);
  // what only the loop reads
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; @p bra D; mov.b32 %r3, 1; bra W; D:"),
            WaitLoop::parks);
}

TEST(PtxWaits, LoopsWithAnEffectPoll) {
  EXPECT_EQ(first_wait("mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2;"), WaitLoop::poll);
  // a count of turns, and one that ends the loop
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; add.s32 %r7, %r7, 1; @!p bra W;"),
            WaitLoop::poll);
  EXPECT_EQ(
      first_wait(
          "W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; add.s32 %r3, %r3, 1; setp.lt.s32 q, %r3, 9; @q bra W;"),
      WaitLoop::poll);
  // another barrier, another parity in each turn
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; add.s32 %r1, %r1, 8; @!p bra W;"),
            WaitLoop::poll);
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2; xor.b32 %r2, %r2, 1; @!p bra W;"),
            WaitLoop::poll);
  // memory, a clock
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; ld.shared.b32 %r3, [%r4]; @!p bra W;"),
            WaitLoop::poll);
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; st.shared.b32 [%r4], %r3; @!p bra W;"),
            WaitLoop::poll);
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; mov.u32 %r7, %clock; @!p bra W;"),
            WaitLoop::poll);
  // the success goes round, the failure leaves
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; @p bra W;"), WaitLoop::poll);
  // whether it goes round, or comes to where it does, depends on something else
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; @q bra D; @!p bra W; D:"), WaitLoop::poll);
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; @q bra W;"), WaitLoop::poll);
  // a failure leaves a trace that is read later
  EXPECT_EQ(first_wait("W: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; @p bra D; mov.b32 %r7, 1; bra W; D:"),
            WaitLoop::poll);
  // somebody comes to the wait without having computed it
  EXPECT_EQ(
      first_wait("@q bra V; W: add.s32 %r7, %r1, 8; V: mbarrier.try_wait.shared::cta.b64 p, [%r1], %rd2; @!p bra W;"),
      WaitLoop::poll);
}

TEST(PtxWaits, WhatComesNextDecidesForWgmma) {
  constexpr std::string_view mma =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd2, %rd3, 1, 1, 1, 0, 0;";
  constexpr std::string_view wait =
      "W: mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2; @!p bra W; add.s32 %r3, %r3, 1;";
  EXPECT_EQ(first_wait(fmt::format("{} @q bra X; wgmma.fence.sync.aligned; X: {}", wait, mma)),
            WaitLoop::parks_before_wgmma);
  EXPECT_EQ(first_wait(fmt::format("{} @q bra X; wgmma.fence.sync.aligned; {} X:", wait, mma)), WaitLoop::parks);
  EXPECT_EQ(first_wait(fmt::format("{} @q ld.shared.b32 %r4, [%r3]; {}", wait, mma)), WaitLoop::parks);
  EXPECT_EQ(first_wait(fmt::format("{} @q ret; {}", wait, mma)), WaitLoop::parks);
  EXPECT_EQ(first_wait(fmt::format("{} @q wgmma.fence.sync.aligned; st.shared.b32 [%r3], %r4; {}", wait, mma)),
            WaitLoop::parks);
}

// ---- fragments

constexpr std::string_view registers = ".reg .pred p, q; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b64 %rd<4>;\n";
constexpr std::string_view load2 = "tcgen05.ld.sync.aligned.32x32b.x2.b32 ";

struct Planned {
  explicit Planned(std::string_view body)
      : module(parsed(in_kernel(std::string(registers) + std::string(body)))),
        function(module.functions[0]),
        plan(plan_of(module, function)) {}
  /// The lines of the body, counted from 1, with a check of that group.
  std::vector<uint32_t> checked(uint32_t group) const {
    std::vector<uint32_t> lines;
    for (uint32_t i = 0; i < function.body.size(); ++i)
      if (std::ranges::count(plan.checks[i], group) != 0) lines.push_back(function.body[i].line - first_line);
    return lines;
  }
  FragmentPlace place(std::string_view name) const {
    for (uint32_t reg = 0; reg < function.registers.size(); ++reg)
      if (function.registers[reg].name == name) return plan.places[reg];
    return {};
  }

  Module module;
  const Function& function;
  Plan plan;
};

TEST(PtxFragments, ListsAreArrays) {
  const Planned planned(
      R"(wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, %rd1, 1, 1, 1, 0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r5, %r5, %r1, %r6}, %rd1, 1, 1, 1, 0;)");
  ASSERT_EQ(planned.plan.groups.size(), 3U);
  EXPECT_EQ(planned.plan.failure, "");
  EXPECT_TRUE(planned.place("%f3").group == 0 && planned.place("%f3").element == 2);
  EXPECT_TRUE(planned.place("%r4").group == 1 && planned.place("%r4").element == 3);
  EXPECT_TRUE(planned.plan.groups[2].copied);  // %r5 twice, %r1 elsewhere
  EXPECT_FALSE(planned.plan.groups[0].copied || planned.plan.groups[1].copied);
  EXPECT_EQ(planned.plan.group_of[1][0].group, 0U);
  EXPECT_EQ(planned.plan.group_of[1][1].group, 2U);

  const Planned overlapping(
      R"(wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f4, %f5, %f6, %f7}, %rd1, %rd2, 1, 1, 1, 0, 0;)");
  EXPECT_EQ(overlapping.plan.failure.substr(0, 79),
            "8: the register %f4 is in two different accumulator lists of wgmma, here and in");
}

TEST(PtxFragments, CopiesBeforeTheWaitAreOtherNames) {
  const Planned planned(std::string(load2) + R"({%r1, %r2}, [%r9];
mov.b32 %f1, %r1;
mov.b32 %r3, %r2;
mov.b32 %r4, %r3;
tcgen05.wait::ld.sync.aligned;
add.f32 %f2, %f1, %f1;
mov.b32 %r5, %r2;
add.s32 %r5, %r4, %r5;)");
  EXPECT_EQ(planned.plan.dropped, (std::unordered_set<uint32_t>{1, 2, 3}));
  EXPECT_TRUE(planned.place("%r4").group == 0 && planned.place("%r4").element == 1);
  EXPECT_EQ(planned.place("%r5").group, no_index);  // written twice
  EXPECT_TRUE(planned.plan.loads_without_wait.empty());

  // The copy of the turn before is read when the next load has been issued: it must be a register of its own.
  const Planned turns("mov.b32 %r3, 0;\nL: " + std::string(load2) + R"({%r1, %r2}, [%r9];
add.s32 %r5, %r5, %r3;
tcgen05.wait::ld.sync.aligned;
mov.b32 %r3, %r2;
@p bra L;)");
  EXPECT_TRUE(turns.plan.dropped.empty());
  const Planned skipped("@p bra X;\n" + std::string(load2) +
                        "{%r1, %r2}, [%r9];\nmov.b32 %r3, %r2;\nX: add.s32 %r4, %r3, 1;");
  EXPECT_TRUE(skipped.plan.dropped.empty());
}

TEST(PtxFragments, LoadsThatNobodyWaitsFor) {
  const std::string load = std::string(load2) + "{%r1, %r2}, [%r9];\n";
  const auto without = [&](std::string_view rest) {
    return Planned(load + std::string(rest)).plan.loads_without_wait.size();
  };
  EXPECT_EQ(without("tcgen05.wait::ld.sync.aligned; add.s32 %r3, %r1, 1;"), 0U);
  EXPECT_EQ(without("add.s32 %r3, %r1, 1; tcgen05.wait::ld.sync.aligned;"), 1U);
  EXPECT_EQ(without("@p tcgen05.wait::ld.sync.aligned; add.s32 %r3, %r1, 1;"), 1U);
  EXPECT_EQ(without("mov.b64 %rd1, {%r1, %r2};"), 1U);
  EXPECT_EQ(without("mov.b32 %r3, %r1; add.s32 %r4, %r3, 1;"), 1U);          // through a copy
  EXPECT_EQ(without("mov.b32 %r1, 0; tcgen05.wait::ld.sync.aligned;"), 1U);  // written before it arrives
  EXPECT_EQ(without("@p bra X; tcgen05.wait::ld.sync.aligned; X: add.s32 %r3, %r1, 1;"), 1U);  // on one way of two
  EXPECT_EQ(without("add.s32 %r3, %r4, 1;"), 0U);
  EXPECT_EQ(Planned("L: @p add.s32 %r3, %r1, 1;\n" + load + "bra L;").plan.loads_without_wait.size(),
            1U);  // in the next turn
}

TEST(PtxFragments, OneCheckForEachUseThatMayBeTooEarly) {
  const Planned planned(R"(mov.f32 %f1, 0f00000000;
mov.f32 %f2, 0f00000000;
L: wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;
@p bra L;
wgmma.wait_group.sync.aligned 0;
@p add.f32 %f9, %f1, %f1;
add.f32 %f9, %f1, %f2;
add.f32 %f9, %f3, %f4;
@p bra L;
add.f32 %f9, %f3, %f4;)");
  // The first write, the first use behind the wait (and behind one that may not have run); nothing while nothing was
  // issued.
  EXPECT_EQ(planned.checked(0), (std::vector<uint32_t>{1, 7, 8}));
  const Planned loads(std::string(load2) +
                      "{%r1, %r2}, [%r9];\nmov.b32 %r3, %r1;\ntcgen05.wait::ld.sync.aligned;\nadd.s32 %r4, %r3, "
                      "1;\nadd.s32 %r4, %r2, 1;");
  EXPECT_EQ(loads.checked(0), (std::vector<uint32_t>{4}));
}

TEST(PtxPlan, WholeWarpsNeedNotAsk) {
  const Planned planned(
      "activemask.b32 %r1;\nmov.u32 %r2, %tid.x;\nsetp.eq.s32 p, %r2, 0;\n@p bra L;\nactivemask.b32 %r3;\nL: "
      "activemask.b32 %r4;");
  EXPECT_EQ(planned.plan.whole_warps, (std::unordered_set<uint32_t>{0, 5}));
}

}  // namespace
}  // namespace warploom::ptx
