// What the analyses know of opcodes (effects.hpp) beside the table of forms: two lists that must not come apart.
#include "ptx/effects.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "ptx/forms.hpp"
#include "ptx/texts.hpp"

namespace warploom::ptx {
namespace {

/// The instruction of a form, with a register wherever one can be.
Instruction instruction_of(const Opcode& opcode, const std::vector<OperandSpec>& specs) {
  Instruction instruction;
  instruction.opcode = &opcode;
  for (uint32_t i = 0; i < specs.size(); ++i) {
    Operand& operand = instruction.operands.emplace_back();
    switch (specs[i].shape) {
      case Shape::address:
        operand.kind = Operand::Kind::address;
        operand.parts.emplace_back().kind = Operand::Kind::reg;
        operand.parts[0].index = i;
        break;
      case Shape::immediate: operand.kind = Operand::Kind::immediate; break;
      case Shape::label: operand.kind = Operand::Kind::label; break;
      case Shape::call: operand.kind = Operand::Kind::function; break;
      default: operand.kind = Operand::Kind::reg; operand.index = i;
    }
  }
  return instruction;
}

TEST(PtxEffects, WrittenOperandsAreThoseOfTheTable) {
  size_t count = 0;
  for (const Form& form : forms()) {
    // Some patterns spell thousands of opcodes: a few of each.
    std::vector<std::string> all = spellings(form.pattern);
    for (size_t k = 0; k < all.size(); k += std::max<size_t>(1, all.size() / 12)) {
      Opcode opcode;
      opcode.text = std::move(all[k]);
      for (size_t begin = 0; begin <= opcode.text.size();) {
        const size_t end = std::min(opcode.text.find('.', begin), opcode.text.size());
        opcode.parts.push_back(std::string_view(opcode.text).substr(begin, end - begin));
        begin = end + 1;
      }
      const std::vector<OperandSpec> specs = operands_of(form, opcode);
      const Instruction instruction = instruction_of(opcode, specs);
      for (uint32_t i = 0; i < specs.size(); ++i) {
        if (specs[i].shape == Shape::call || specs[i].shape == Shape::address) continue;
        const bool written = specs[i].use != Use::read && specs[i].use != Use::async_read && specs[i].use != Use::none;
        EXPECT_EQ(writes_operand(instruction, i), written) << opcode.text << ", operand " << i;
        const bool both = specs[i].use == Use::read_write || specs[i].use == Use::async_read_write;
        if (i == 0) {
          EXPECT_EQ(accumulates(instruction), both) << opcode.text;
        }
      }
      // Arithmetic for both of them: what a loop that waits may do. Here that has in it loads of what does not change,
      const Effect effect = effect_of(instruction);
      // and addresses that the machine computes. Fences that the machine does not need are no arithmetic.
      constexpr std::string_view others[] = {"cvta", "discard", "fence", "getctarank", "isspacep", "ld", "mapa"};
      const bool other = std::ranges::find(others, opcode.base()) != std::end(others);
      if (!other && is_pure(form)) {
        EXPECT_TRUE(effect == Effect::none || effect == Effect::varying || effect == Effect::waste) << opcode.text;
      }
      if (!other && effect == Effect::none) {
        EXPECT_TRUE(is_pure(form)) << opcode.text;
      }
      if (::testing::Test::HasFailure() && ++count > 20) return;
    }
  }
}

}  // namespace
}  // namespace warploom::ptx
