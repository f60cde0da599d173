#include "sass/activation.hpp"

#include <algorithm>

namespace warploom::sass {

namespace {

// Straight code for a block of a tile, with C and without, has 160 and more; a loop over patches, with every activation
// there is, 96.
constexpr ptrdiff_t least_reciprocals = 128;
constexpr size_t period = 2;

}  // namespace

Retimed retime_activation(std::span<Instruction> code) {
  const bool multiplies = std::ranges::any_of(code, &Instruction::multiplies);
  if (!multiplies || std::ranges::count_if(code, &Instruction::inverts) < least_reciprocals) return {};
  Retimed count;
  for (Instruction& one : code) {
    if (!one.computes() || ++count.instructions % period != 0 || !one.short_stall()) continue;
    const Instruction before = one;
    one.hint(true, false);
    count.changed += one != before;
  }
  return count;
}

}  // namespace warploom::sass
