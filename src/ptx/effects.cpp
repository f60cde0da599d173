#include "ptx/effects.hpp"

#include <algorithm>
#include <array>

namespace warploom::ptx {
namespace {

template <size_t n>
bool is_one_of(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::binary_search(names.begin(), names.end(), name);
}

template <size_t n>
constexpr std::array<std::string_view, n> sorted(std::array<std::string_view, n> names) {
  std::sort(names.begin(), names.end());
  return names;
}

/// Their first operand may be a register, and is read.
constexpr auto reads_first = sorted(std::to_array<std::string_view>({"applypriority",
                                                                     "bar",
                                                                     "barrier",
                                                                     "bra",
                                                                     "brkpt",
                                                                     "brx",
                                                                     "call",
                                                                     "clusterlaunchcontrol",
                                                                     "cp",
                                                                     "discard",
                                                                     "exit",
                                                                     "fence",
                                                                     "griddepcontrol",
                                                                     "membar",
                                                                     "multimem",
                                                                     "nanosleep",
                                                                     "pmevent",
                                                                     "prefetch",
                                                                     "prefetchu",
                                                                     "red",
                                                                     "ret",
                                                                     "setmaxnreg",
                                                                     "st",
                                                                     "stackrestore",
                                                                     "stmatrix",
                                                                     "suq",
                                                                     "sured",
                                                                     "sust",
                                                                     "tcgen05",
                                                                     "tensormap",
                                                                     "trap",
                                                                     "wgmma"}));

constexpr auto arithmetic = sorted(std::to_array<std::string_view>(
    {"abs",        "add",      "and",  "bfe",   "bfi", "bfind",       "bmsk", "brev", "clz",  "cnot",
     "copysign",   "cos",      "cvt",  "cvta",  "div", "dp2a",        "dp4a", "ex2",  "fma",  "fns",
     "getctarank", "isspacep", "lg2",  "lop3",  "mad", "mad24",       "mapa", "max",  "min",  "mov",
     "mul",        "mul24",    "neg",  "not",   "or",  "popc",        "prmt", "rcp",  "rem",  "rsqrt",
     "sad",        "selp",     "set",  "setp",  "shf", "shl",         "shr",  "sin",  "slct", "sqrt",
     "sub",        "szext",    "tanh", "testp", "xor", "createpolicy"}));

constexpr auto branches =
    sorted(std::to_array<std::string_view>({"bra", "brkpt", "brx", "call", "exit", "ret", "trap"}));

constexpr auto hints =
    sorted(std::to_array<std::string_view>({"applypriority", "nanosleep", "pmevent", "prefetch", "prefetchu"}));

bool varies(std::string_view special) {
  return special.starts_with("%clock") || special.starts_with("%globaltimer") || special.starts_with("%pm");
}

bool reads_varying(const Operand& operand) {
  return (operand.is(Operand::Kind::special) && varies(operand.name)) ||
         std::ranges::any_of(operand.parts, reads_varying);
}

}  // namespace

bool accumulates(const Instruction& instruction) { return instruction.op().is("wgmma", "mma_async"); }

bool writes_operand(const Instruction& instruction, size_t i) {
  const Opcode& op = instruction.op();
  if (i > 1 || i >= instruction.operands.size()) return false;
  if (i == 1) return op.is("tcgen05", "ld") && op.has("red");
  const Operand::Kind kind = instruction.operands[0].kind;
  if (kind != Operand::Kind::reg && kind != Operand::Kind::vector && kind != Operand::Kind::pair) {
    // The values that a call returns, where they are registers.
    return kind == Operand::Kind::list && op.base() == "call";
  }
  if (!is_one_of(reads_first, op.base())) return true;
  if (op.base() == "bar" || op.base() == "barrier") return op.has("red");
  if (op.base() == "wgmma") return accumulates(instruction);
  if (op.base() == "tcgen05") return op.part(1) == "ld";
  if (op.base() == "clusterlaunchcontrol") return op.part(1) == "query_cancel";
  if (op.base() == "multimem") return op.part(1) == "ld_reduce";
  return op.base() == "suq";
}

Effect effect_of(const Instruction& instruction) {
  const Opcode& op = instruction.op();
  const std::string_view base = op.base();
  // The carry is a register that no operand names.
  if (base == "addc" || base == "subc" || base == "madc" || op.has("cc")) return Effect::varying;
  if (is_one_of(arithmetic, base))
    return std::ranges::any_of(instruction.operands, reads_varying) ? Effect::varying : Effect::none;
  // Parameters and constants do not change while a kernel runs.
  if (base == "ld" && !op.has("volatile") && (op.part(1) == "const" || op.part(1) == "param")) {
    const bool of_call = instruction.operands.size() > 1 && !instruction.operands[1].parts.empty() &&
                         instruction.operands[1].parts[0].is(Operand::Kind::variable) && op.part(1) == "param";
    return of_call ? Effect::other : Effect::none;
  }
  if (is_one_of(branches, base)) return Effect::control;
  if (is_one_of(hints, base)) return Effect::waste;
  if (base == "activemask") return Effect::varying;
  return Effect::other;
}

}  // namespace warploom::ptx
