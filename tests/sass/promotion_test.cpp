// Promotion as ptxas writes it, and code that only looks like it.
#include "sass/promotion.hpp"

#include <gtest/gtest.h>

#include "sass/code.hpp"

namespace warploom::sass {
namespace {

const Instruction wait = instruction(Instruction::warpgroup), product = instruction(opcode_qgmma),
                  branch = instruction(opcode_branch);

/// A product, the wait for it, its promotion, and the loop's branch.
Code loop_of(const Code& promotion) { return joined({{product, wait}, promotion, {branch}}); }

TEST(Promotion, YieldsWhereTheOtherGroupMayIssueAndSeldomLater) {
  Code code = loop_of(promotion(64));
  const Code before = code;
  const Retimed count = retime_promotion(code);
  EXPECT_EQ(count.instructions, 64u);
  EXPECT_GT(count.changed, 30u);
  std::vector<int> yields;
  for (int i = 0; i < 64; ++i) {
    const Instruction& one = code[2 + i];
    EXPECT_EQ(without_hints(one), without_hints(before[2 + i])) << i;
    if (one.yields()) yields.push_back(i);
    EXPECT_EQ(one.keeps_b(), !one.yields() && i != 63) << i;
  }
  EXPECT_EQ(yields, (std::vector<int>{1, 3, 5, 7, 23, 39, 55}));
  EXPECT_EQ(code[0], product);
  EXPECT_EQ(code[1], wait);
  EXPECT_EQ(code.back(), branch);
}

TEST(Promotion, ASecondTimeChangesNothing) {
  for (const int count : {16, 17, 32, 64, 96, 128}) {
    Code code = loop_of(promotion(count));
    retime_promotion(code);
    const Code once = code;
    EXPECT_EQ(retime_promotion(code).changed, 0u) << count;
    EXPECT_EQ(code, once) << count;
  }
}

TEST(Promotion, SixteenAreARun) {
  Code code = loop_of(promotion(16));
  EXPECT_GT(retime_promotion(code).changed, 0u);
}

TEST(Promotion, EveryRunBeginsAnew) {
  Code code = joined({loop_of(promotion(32)), loop_of(promotion(32))});
  EXPECT_EQ(find_promotion(code).size(), 2u);
  EXPECT_EQ(retime_promotion(code).instructions, 64u);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(code[2 + i], code[2 + 35 + i]) << i;
}

TEST(Promotion, AScaleIsKeptForTheSameScaleOnly) {
  Code code = loop_of(joined({promotion(10), promotion(22, 201)}));
  retime_promotion(code);
  EXPECT_TRUE(code[2 + 8].keeps_b());
  EXPECT_FALSE(code[2 + 9].keeps_b());
  EXPECT_TRUE(code[2 + 10].keeps_b());
}

/// total = product * total + total, and the next multiplies by it
TEST(Promotion, AScaleThatIsWrittenIsNotKept) {
  Code sums = promotion(32, 11);
  Code code = loop_of(sums);
  retime_promotion(code);
  EXPECT_TRUE(code[2 + 10].keeps_b());
  EXPECT_FALSE(code[2 + 11].keeps_b());
  EXPECT_TRUE(code[2 + 12].keeps_b());
}

TEST(Promotion, UnusualStallsStay) {
  for (const uint64_t stall : {0, 8, 13}) {
    Code code = loop_of(promotion(32));
    code[2 + 13].high = (code[2 + 13].high & ~(uint64_t{0xf} << 41)) | stall << 41;
    const Instruction before = code[2 + 13];
    retime_promotion(code);
    EXPECT_EQ(code[2 + 13], before) << stall;
    EXPECT_TRUE(code[2 + 14].keeps_b()) << stall;
  }
}

TEST(Promotion, NothingIsKeptAcrossAWaitOrAnotherInstruction) {
  Code waits = promotion(32);
  waits[20].high |= uint64_t{1} << 52;
  waits[26].high |= uint64_t{1} << 57;
  Code code = loop_of(waits);
  retime_promotion(code);
  EXPECT_FALSE(code[2 + 19].keeps_b());
  EXPECT_TRUE(code[2 + 20].keeps_b());
  EXPECT_FALSE(code[2 + 25].keeps_b());

  Code parted = promotion(32);
  parted.insert(parted.begin() + 20, instruction(opcode_load));
  code = loop_of(parted);
  EXPECT_EQ(retime_promotion(code).instructions, 32u);
  EXPECT_FALSE(code[2 + 19].keeps_b());
  EXPECT_EQ(code[2 + 20], instruction(opcode_load));
}

TEST(Promotion, CountsRegistersOfOneBank) {
  Code code = loop_of(promotion(32));
  EXPECT_EQ(retime_promotion(code).conflicts, 0u);
  for (int i = 10; i < 15; ++i) code[2 + i].low ^= uint64_t{1} << 24;  // the product in a neighbouring register
  EXPECT_EQ(retime_promotion(code).conflicts, 5u);
}

/// Their twins above are promotion.
TEST(Promotion, OtherCodeStaysAsItIs) {
  const auto expect_same = [](const char* what, Code code) {
    const Code before = code;
    EXPECT_EQ(retime_promotion(code).changed, 0u) << what;
    EXPECT_EQ(code, before) << what;
  };
  expect_same("no wait for a product", joined({promotion(64), {branch}}));
  expect_same("after a branch", joined({{product, wait, branch}, promotion(64)}));
  expect_same("after a point where warps meet", joined({{product, wait, instruction(opcode_sync)}, promotion(64)}));
  expect_same("after the next product", joined({{wait, product}, promotion(64)}));
  expect_same("after the next product of 16 bits", joined({{wait, instruction(opcode_hgmma)}, promotion(64)}));
  expect_same("too short", loop_of(promotion(15)));
  Code squares = promotion(64);
  for (Instruction& one : squares) one.low = (one.low & ~(uint64_t{0xff} << 24)) | uint64_t{one.c()} << 24;
  expect_same("the product is the sum", loop_of(squares));
  Code elsewhere = promotion(64), predicated = promotion(64), products = promotion(64), seldom = promotion(64);
  for (Instruction& one : elsewhere) one.high ^= 0x80;  // the sum is another register
  for (Instruction& one : predicated) one.low &= ~uint64_t{0x7000};
  for (Instruction& one : products) one.low ^= 0x001;  // FMUL-like
  for (Instruction& one : seldom) one.hint(false, false);
  expect_same("sum elsewhere", loop_of(elsewhere));
  expect_same("under a predicate", loop_of(predicated));
  expect_same("another instruction", loop_of(products));
  expect_same("yields seldom already", loop_of(seldom));
}

}  // namespace
}  // namespace warploom::sass
