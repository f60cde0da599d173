// Activations of an epilogue, and code that has none.
#include "sass/activation.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sass/code.hpp"

namespace warploom::sass {
namespace {

TEST(Activation, EverySecondArithmeticInstructionYields) {
  Code code = epilogue(128);
  for (Instruction& one : code) one.high |= uint64_t{2} << 58;  // a kept operand
  const Code before = code;
  const Retimed count = retime_activation(code);
  EXPECT_EQ(count.instructions, 128u * 15);
  EXPECT_EQ(count.changed, 128u * 15 / 2);
  size_t seen = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    EXPECT_EQ(without_hints(code[i]), without_hints(before[i]));
    const bool expected = before[i].computes() && ++seen % 2 == 0;
    EXPECT_EQ(code[i].yields(), expected) << i;
    EXPECT_EQ(code[i].keeps_b(), !expected) << i;
  }
  const Code once = code;
  EXPECT_EQ(retime_activation(code).changed, 0u);
  EXPECT_EQ(code, once);
}

/// They are counted all the same: what comes after them yields in turn.
TEST(Activation, WhatWaitsLongAnywayStays) {
  for (const uint64_t stall : {0, 8, 15}) {
    Code code = epilogue(128);
    for (const size_t i : {3, 4}) code[i].high = (code[i].high & ~(uint64_t{0xf} << 41)) | stall << 41;
    const Code before = code;
    Code others = epilogue(128);
    retime_activation(code);
    retime_activation(others);
    EXPECT_EQ(code[3], before[3]) << stall;
    EXPECT_EQ(code[4], before[4]) << stall;
    EXPECT_TRUE(std::equal(code.begin() + 5, code.end(), others.begin() + 5)) << stall;
  }
}

TEST(Activation, ProductsOf16BitsCountToo) {
  Code code = epilogue(128);
  code.front() = instruction(opcode_hgmma);
  EXPECT_GT(retime_activation(code).changed, 0u);
}

TEST(Activation, OtherKernelsStayAsTheyAre) {
  Code few = epilogue(127), no_products = epilogue(128);
  no_products.erase(no_products.begin());
  Code exponentials = epilogue(128);
  for (Instruction& one : exponentials)
    if (one.inverts()) one.high ^= 6u << 10;  // MUFU.EX2
  for (Code* code : {&few, &no_products, &exponentials}) {
    const Code before = *code;
    EXPECT_EQ(retime_activation(*code).instructions, 0u);
    EXPECT_EQ(*code, before);
  }
}

}  // namespace
}  // namespace warploom::sass
