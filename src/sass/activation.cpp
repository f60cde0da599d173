#include "sass/activation.hpp"

#include <algorithm>

namespace warploom::sass {

namespace {

constexpr ptrdiff_t least_reciprocals = 64;  // straight code for a tile, not a loop over its patches
constexpr size_t period = 2;
constexpr uint32_t long_stall = 8;  // others have their turn anyway

}  // namespace

Retimed retime_activation(std::span<Instruction> code) {
  const auto reciprocal = [](const Instruction& one) { return one.opcode() == Instruction::mufu; };
  const bool multiplies = std::ranges::any_of(code, &Instruction::multiplies);
  if (!multiplies || std::ranges::count_if(code, reciprocal) < least_reciprocals) return {};
  Retimed count;
  for (Instruction& one : code) {
    if (!one.computes() || ++count.instructions % period != 0 || one.stall() >= long_stall) continue;
    const Instruction before = one;
    one.hint(true, false);
    count.changed += one != before;
  }
  return count;
}

}  // namespace warploom::sass
