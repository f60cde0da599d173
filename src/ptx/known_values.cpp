#include "ptx/known_values.hpp"

#include "ptx/effects.hpp"

namespace warploom::ptx {
namespace {

uint64_t cut(uint64_t value, uint32_t width) { return width >= 64 ? value : value & ((uint64_t{1} << width) - 1); }

int64_t extended(uint64_t value, uint32_t width) {
  if (width >= 64) return static_cast<int64_t>(value);
  const uint64_t sign = uint64_t{1} << (width - 1);
  return static_cast<int64_t>((cut(value, width) ^ sign) - sign);
}

}  // namespace

std::optional<uint64_t> KnownValues::value(const Operand& operand) const {
  if (operand.is_immediate()) return operand.bits;
  if (!operand.is_register()) return std::nullopt;
  const auto known = values_.find(operand.index);
  if (known == values_.end()) return std::nullopt;
  return operand.negated ? known->second ^ 1U : known->second;
}

std::optional<bool> KnownValues::guard(const Instruction& instruction) const {
  if (instruction.guard == no_index) return true;
  const auto known = values_.find(instruction.guard);
  if (known == values_.end()) return std::nullopt;
  return (known->second != 0) != instruction.guard_negated;
}

std::optional<uint64_t> KnownValues::compared(const Instruction& instruction) const {
  const Opcode& op = instruction.op();
  const Type type = op.last_type();
  if (op.parts.size() != 3 || is_float(type) || instruction.operands[0].is(Operand::Kind::pair)) return std::nullopt;
  const auto a = value(instruction.operands[1]), b = value(instruction.operands[2]);
  if (!a || !b) return std::nullopt;
  const uint32_t width = bits(type);
  const std::string_view how = op.part(1);
  const uint64_t ua = cut(*a, width), ub = cut(*b, width);
  if (how == "eq") return ua == ub;
  if (how == "ne") return ua != ub;
  const bool less = is_signed(type) ? extended(*a, width) < extended(*b, width) : ua < ub;
  if (how == "lt" || how == "lo") return less;
  if (how == "ge" || how == "hs") return !less;
  if (how == "le" || how == "ls") return less || ua == ub;
  if (how == "gt" || how == "hi") return !less && ua != ub;
  return std::nullopt;
}

std::optional<uint64_t> KnownValues::result(const Instruction& instruction) const {
  const Opcode& op = instruction.op();
  const auto& operands = instruction.operands;
  const Type type = op.last_type();
  const uint32_t width = bits(type);
  if (operands.size() == 2 && op.base() == "mov") return value(operands[1]);
  if (operands.size() == 2 && op.base() == "cvt" && op.parts.size() == 3 && !is_float(type) &&
      !is_float(type_named(op.part(1)))) {
    const auto a = value(operands[1]);
    if (!a) return std::nullopt;
    const uint64_t wide = is_signed(type) ? static_cast<uint64_t>(extended(*a, width)) : cut(*a, width);
    return cut(wide, bits(type_named(op.part(1))));
  }
  if (operands.size() == 2 && op.base() == "not") {
    const auto a = value(operands[1]);
    return a ? std::optional(cut(~*a, width)) : std::nullopt;
  }
  if (operands.size() == 4 && op.base() == "selp") {
    const auto which = value(operands[3]);
    return which ? value(operands[*which != 0 ? 1 : 2]) : std::nullopt;
  }
  if (operands.size() != 3) return std::nullopt;
  if (op.base() == "setp") return compared(instruction);
  const auto a = value(operands[1]), b = value(operands[2]);
  if (op.base() == "and" && ((a && cut(*a, width) == 0) || (b && cut(*b, width) == 0))) return 0;
  if (type == Type::pred && op.base() == "or" && ((a && *a == 1) || (b && *b == 1))) return 1;
  if (!a || !b) return std::nullopt;
  if (op.base() == "and") return cut(*a & *b, width);
  if (op.base() == "or") return cut(*a | *b, width);
  if (op.base() == "xor") return cut(*a ^ *b, width);
  return std::nullopt;
}

void KnownValues::run(const Instruction& instruction) {
  const std::optional<uint64_t> answer = result(instruction);
  for_each_written(instruction, [&](uint32_t reg) { values_.erase(reg); });
  if (answer && !instruction.operands.empty() && instruction.operands[0].is_register())
    values_[instruction.operands[0].index] = *answer;
}

}  // namespace warploom::ptx
