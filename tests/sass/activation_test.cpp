// Activations of an epilogue, and code that has none.
#include "sass/activation.hpp"

#include <gtest/gtest.h>

#include "sass/code.hpp"

namespace warploom::sass {
namespace {

/// Values that each take a reciprocal and 15 other instructions.
Code epilogue(int values) {
  Code code{instruction(opcode_qgmma)};
  for (int i = 0; i < values; ++i) {
    code.push_back(instruction(Instruction::mufu, i, i));
    code.push_back(instruction(opcode_load));
    for (int j = 0; j < 14; ++j) code.push_back(instruction(0x423, i, i, 3));
  }
  return code;
}

TEST(Activation, EverySecondArithmeticInstructionYields) {
  Code code = epilogue(64);
  for (Instruction& one : code) one.high |= uint64_t{2} << 58;  // a kept operand
  const Code before = code;
  const Retimed count = retime_activation(code);
  EXPECT_EQ(count.instructions, 64u * 15);
  EXPECT_EQ(count.changed, 64u * 15 / 2);
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

TEST(Activation, WhatWaitsLongAnywayStays) {
  Code code = epilogue(64);
  code[3].high |= uint64_t{0xf} << 41;
  code[4].high |= uint64_t{0xf} << 41;
  const Code before = code;
  retime_activation(code);
  EXPECT_EQ(code[3], before[3]);
  EXPECT_EQ(code[4], before[4]);
}

TEST(Activation, OtherKernelsStayAsTheyAre) {
  Code few = epilogue(63), no_products = epilogue(64);
  no_products.erase(no_products.begin());
  for (Code* code : {&few, &no_products}) {
    const Code before = *code;
    EXPECT_EQ(retime_activation(*code).instructions, 0u);
    EXPECT_EQ(*code, before);
  }
}

}  // namespace
}  // namespace warploom::sass
