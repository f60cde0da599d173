// What an instruction reads, writes and does, as far as that follows from its opcode: the ground under every analysis
// of a function.
//
//   for_each_written(instruction, [&](uint32_t reg) { defined.insert(reg); });
//   if (effect_of(instruction) == Effect::none) ...   // arithmetic: it could run twice
//
// In PTX the first operand is the destination. The opcodes for which it is not are listed in effects.cpp.
#pragma once

#include <cstdint>

#include "ptx/module.hpp"

namespace warploom::ptx {

enum class Effect : uint8_t {
  none,     ///< writes registers, from registers and constants alone
  varying,  ///< the same, but the answer may change from one time to the next: a clock, a carry
  control,  ///< bra, brx, ret, exit, call, trap
  waste,    ///< passes time or is a hint: nanosleep, prefetch
  other,    ///< reads or writes memory, or is an operation of the machine
};

Effect effect_of(const Instruction& instruction);

/// Is that operand one that the instruction writes? An address never is, nor is a list of a call's parameters.
bool writes_operand(const Instruction& instruction, size_t operand);
/// Does it read an operand that it writes as well: the accumulator of wgmma?
bool accumulates(const Instruction& instruction);

/// Every register in an operand, as `visit(index)`.
template <class Visit>
void for_each_register(const Operand& operand, Visit&& visit) {
  if (operand.is_register()) visit(operand.index);
  for (const Operand& part : operand.parts) for_each_register(part, visit);
}

template <class Visit>
void for_each_written(const Instruction& instruction, Visit&& visit) {
  for (size_t i = 0; i < instruction.operands.size() && i < 2; ++i)
    if (writes_operand(instruction, i)) for_each_register(instruction.operands[i], visit);
}

/// The guard among them. A register that a guarded instruction may leave as it is does not count as read.
template <class Visit>
void for_each_read(const Instruction& instruction, Visit&& visit) {
  if (instruction.guard != no_index) visit(instruction.guard);
  for (size_t i = 0; i < instruction.operands.size(); ++i)
    if (i >= 2 || !writes_operand(instruction, i) || (i == 0 && accumulates(instruction)))
      for_each_register(instruction.operands[i], visit);
}

}  // namespace warploom::ptx
