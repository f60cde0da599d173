// Follows a program from one instruction on with the values that are known there: where does it go if a wait answers
// false?
//
//   KnownValues values(function);
//   values.set(predicate, 0);
//   values.run(instruction);                     // selp.b32 %r1, 1, 0, %p1: now %r1 is 0
//   if (auto taken = values.guard(branch)) ...   // setp.eq.s32 %p2, %r1, 0; @%p2 bra: taken
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "ptx/module.hpp"

namespace warploom::ptx {

class KnownValues {
 public:
  explicit KnownValues(const Function& function) : function_(function) {}

  void set(uint32_t reg, uint64_t value) { values_[reg] = value; }
  std::optional<uint64_t> value(const Operand& operand) const;
  /// Whether the instruction runs: true without a guard.
  std::optional<bool> guard(const Instruction& instruction) const;
  /// What an instruction that runs does to the registers. Whatever is not understood is unknown from there on.
  void run(const Instruction& instruction);
  void forget(uint32_t reg) { values_.erase(reg); }

 private:
  std::optional<uint64_t> result(const Instruction& instruction) const;
  std::optional<uint64_t> compared(const Instruction& instruction) const;

  const Function& function_;
  std::unordered_map<uint32_t, uint64_t> values_;
};

}  // namespace warploom::ptx
