// The one table of PTX instructions that the translator knows: how an opcode is spelled, what its operands are and
// which of them it writes, which operation of the machine it is, and what C++ it becomes. Everything that must know a
// form asks here: flow analysis (for_each_register), the emitter, `warploom ptx info` (forms, spellings), the tests'
// random programs.
//
//   const Form* form = find_form(instruction.op());      // nullptr: not supported; why_not() has the sentence
//   for_each_register(*form, instruction, [&](const RegisterUse& use) { ... });
//
// A pattern spells the parts of an opcode, each followed by `?` where it may be left out: "add.{rn,rz}?.ftz?.sat?.f32".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.hpp"

namespace warploom::ptx {

class Body;  // emit_body.hpp

/// How an instruction uses an operand. The asynchronous ones are registers that the machine reads or writes after the
/// instruction, until a wait: those of wgmma and tcgen05.ld.
enum class Use : uint8_t { none, read, write, read_write, async_write, async_read, async_read_write };

enum class Shape : uint8_t {
  value,      ///< a register, an immediate, a special register or an address, of `type`
  predicate,  ///< one of type .pred; may be negated where it is read
  vector,     ///< one value, or several in braces
  pair,       ///< a value or predicate, or two of them: `%p1|%p2`
  address,    ///< `[base+offset]`; its registers are read
  immediate,
  label,
  call,  ///< the function, results and arguments of a call
};

/// One operand of a form; `type` is resolved for each opcode.
struct OperandSpec {
  Shape shape = Shape::value;
  Use use = Use::read;
  Type type = Type::none;
  bool optional = false;
};

struct Form {
  std::string_view pattern;
  /// One word for each operand: `d` is written, `a` read; of which type follows a dot: none: the opcode's last, `0`:
  /// its first, `b`, `s`, `u`: its last's width as bits, signed, unsigned, `w`: twice as wide, or a type's name. `p`
  /// and `P` are predicates read and written, `dP` and `PP` pairs, `v` and `V` vectors, `C`, `D`, `R` asynchronous
  /// registers written and read, written, read; `m` an address, `i` an immediate, `l` a label, `c` a call. `?` follows
  /// what may be left out.
  std::string_view operands;
  /// C++ whose value the first operand gets; `$1` is the second operand. Empty where `emit` writes statements.
  std::string_view code;
  void (*emit)(Body&, const Instruction&) = nullptr;
  std::string_view operation =
      {};  ///< of the machine (a row of loom/observe/check/operations.hpp); "" for what is none
};

/// All rows, in the order in which they are tried.
std::span<const Form> forms();
/// The row of an opcode, or nullptr.
const Form* find_form(const Opcode& opcode);
/// "" where the instruction can be translated; otherwise a sentence about it, without file and line.
std::string why_not(const Module& module, const Instruction& instruction);

/// The operands of an opcode of that form, in order.
std::vector<OperandSpec> operands_of(const Form& form, const Opcode& opcode);

/// Every opcode that a pattern spells. A part that ends in `*` stands for any that begins so and is left as it is.
std::vector<std::string> spellings(std::string_view pattern);
bool matches(std::string_view pattern, const Opcode& opcode);

/// A register of an instruction, and how it is used. The guard is not among them.
struct RegisterUse {
  uint32_t reg = no_index;
  Use use = Use::read;
  uint32_t operand = 0;  ///< its index
  uint32_t element = 0;  ///< in a vector
};
std::vector<RegisterUse> registers_of(const Form& form, const Instruction& instruction);
template <class F>
void for_each_register(const Form& form, const Instruction& instruction, F&& f) {
  for (const RegisterUse& use : registers_of(form, instruction)) f(use);
}

/// Neither memory nor the machine: depends on its operands alone, and may be repeated.
bool is_pure(const Form& form);

// The parts of the table (forms_*.cpp).
std::span<const Form> integer_forms();
std::span<const Form> float_forms();
std::span<const Form> conversion_forms();
std::span<const Form> memory_forms();
std::span<const Form> control_forms();
std::span<const Form> barrier_forms();
std::span<const Form> copy_forms();
std::span<const Form> tensor_forms();

}  // namespace warploom::ptx
