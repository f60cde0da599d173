// What a PTX instruction gives for its operands, worked out in the plainest way: bit by bit, and floats in long double
// with one rounding. Knows nothing of the translator. arithmetic_test.cpp compares the two.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "ptx/module.hpp"

namespace warploom::ptx::model {

/// The operands that are read, in their order, as the bits of their registers.
using Inputs = std::array<uint64_t, 6>;

struct Answer {
  uint64_t value = 0;
  std::optional<uint64_t> second = {};  ///< of a pair of results
  /// An approximation: the true value, and how far off in units of 2^-22 of it; 0: exact.
  double truth = 0, tolerance = 0;
};

/// Nothing for an instruction that the model leaves out.
std::optional<Answer> evaluate(const Opcode& opcode, const Inputs& in, uint64_t immediate);

/// Values that go wrong first: of integers and floats of that width, and random ones.
uint64_t random_operand(uint64_t (*random)(), Type type);

}  // namespace warploom::ptx::model
