// One function of the translation being written: what the emitters of the table (forms_*.cpp) call to write operands,
// results and addresses.
//
//   void emit_clock(Body& body, const Instruction& instruction) {
//     body.set(instruction.operands[0], Type::u64, "clock_now()");
//   }
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "ptx/emit_layout.hpp"
#include "ptx/forms.hpp"
#include "ptx/plan.hpp"

namespace warploom::ptx {

class Body {
 public:
  Body(const Module& of, const Function& written, const Plan& planned, const Layout& laid_out, WgmmaForms& forms)
      : module(of), function(written), plan(planned), layout(laid_out), wgmma_forms(forms) {}

  const Module& module;
  const Function& function;
  const Plan& plan;
  const Layout& layout;
  WgmmaForms& wgmma_forms;
  std::string text;
  std::string failure;  ///< the first thing that could not be written; a sentence

  template <class... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Arguments>(arguments)...);
  }
  void fail(std::string sentence) {
    if (failure.empty()) failure = std::move(sentence);
  }

  /// The whole function, with its head.
  void write();

  // ---- operands as C++ expressions
  std::string name(uint32_t reg) const;
  /// Of the C++ type of `type`: u32 of b32 and u32, s32 of s32, f32, u16 of f16, bool.
  std::string value(const Operand& operand, Type type);
  std::string predicate(const Operand& operand);
  std::string shared_address(const Operand& operand);   ///< u32
  std::string generic_address(const Operand& operand);  ///< u64
  /// Of the space that the opcode names.
  std::string address_in(const Operand& operand, bool shared) {
    return shared ? shared_address(operand) : generic_address(operand);
  }
  /// Statement: the register gets an expression of that type.
  void set(const Operand& operand, Type type, std::string_view expression);
  void set_predicate(const Operand& operand, std::string_view expression);

  /// `{%r1, %r2}` or one operand alone.
  static std::span<const Operand> elements(const Operand& operand) {
    return operand.is(Operand::Kind::vector) ? std::span<const Operand>(operand.parts) : std::span(&operand, 1);
  }
  static bool wanted(const Operand& operand) { return !operand.is(Operand::Kind::sink); }
  /// Names of local variables that no other instruction uses.
  uint32_t next_number() { return number_++; }
  bool is_entry() const { return function.entry; }

 private:
  friend void emit_return(Body&, const Instruction&);
  std::string symbol(const Operand& operand, bool shared);
  std::string special(const Operand& operand);
  void write_head();
  void write_instruction(uint32_t index);
  void write_checks(uint32_t index);
  uint32_t number_ = 0;
};

/// u8, s32, f32, bool, b128, ...
std::string_view c_type(Type type);
/// What a register of that type is: u16, u32, bool, ...
std::string_view register_type(Type type);
/// b32 of u32, s32, f32 and f16x2.
Type as_bits(Type type);
Type as_unsigned(Type type);
Type as_signed(Type type);
Type as_wide(Type type);
/// "Round::nearest" of an opcode with .rn or .rni, or with no rounding at all.
std::string_view rounding_of(const Opcode& opcode);

// ---- the emitters of the table
void emit_add_carry(Body& body, const Instruction& instruction);
void emit_subtract_carry(Body& body, const Instruction& instruction);
void emit_multiply_carry(Body& body, const Instruction& instruction);
void emit_lop3_predicate(Body& body, const Instruction& instruction);
void emit_setp(Body& body, const Instruction& instruction);
void emit_set(Body& body, const Instruction& instruction);
void emit_move(Body& body, const Instruction& instruction);
void emit_min_max_f32(Body& body, const Instruction& instruction);
void emit_cvt_pack(Body& body, const Instruction& instruction);

void emit_load(Body& body, const Instruction& instruction);
void emit_store(Body& body, const Instruction& instruction);
void emit_store_async(Body& body, const Instruction& instruction);
void emit_atomic(Body& body, const Instruction& instruction);
void emit_reduce_async(Body& body, const Instruction& instruction);
void emit_nothing(Body& body, const Instruction& instruction);
void emit_cvta(Body& body, const Instruction& instruction);
void emit_isspacep(Body& body, const Instruction& instruction);
void emit_mapa(Body& body, const Instruction& instruction);
void emit_getctarank(Body& body, const Instruction& instruction);

void emit_branch(Body& body, const Instruction& instruction);
void emit_return(Body& body, const Instruction& instruction);
void emit_trap(Body& body, const Instruction& instruction);
void emit_call(Body& body, const Instruction& instruction);
void emit_elect(Body& body, const Instruction& instruction);
void emit_shfl(Body& body, const Instruction& instruction);
void emit_vote(Body& body, const Instruction& instruction);
void emit_match(Body& body, const Instruction& instruction);
void emit_redux(Body& body, const Instruction& instruction);
void emit_activemask(Body& body, const Instruction& instruction);
void emit_bar(Body& body, const Instruction& instruction);
void emit_bar_warp(Body& body, const Instruction& instruction);
void emit_bar_red(Body& body, const Instruction& instruction);
void emit_cluster_barrier(Body& body, const Instruction& instruction);
void emit_fence(Body& body, const Instruction& instruction);
void emit_registers(Body& body, const Instruction& instruction);
void emit_grid_dependency(Body& body, const Instruction& instruction);
void emit_sleep(Body& body, const Instruction& instruction);

void emit_mbarrier(Body& body, const Instruction& instruction);
void emit_mbarrier_arrive(Body& body, const Instruction& instruction);
void emit_mbarrier_wait(Body& body, const Instruction& instruction);

void emit_tensor_copy(Body& body, const Instruction& instruction);
void emit_bulk_copy(Body& body, const Instruction& instruction);
void emit_bulk_reduce(Body& body, const Instruction& instruction);
void emit_bulk_group(Body& body, const Instruction& instruction);
void emit_cp_async(Body& body, const Instruction& instruction);
void emit_tensor_map(Body& body, const Instruction& instruction);
void emit_launch_control(Body& body, const Instruction& instruction);

void emit_matrix_move(Body& body, const Instruction& instruction);
void emit_wgmma(Body& body, const Instruction& instruction);
void emit_wgmma_sync(Body& body, const Instruction& instruction);
void emit_tmem(Body& body, const Instruction& instruction);
void emit_tmem_load(Body& body, const Instruction& instruction);
void emit_tmem_store(Body& body, const Instruction& instruction);
void emit_umma(Body& body, const Instruction& instruction);
void emit_umma_copy(Body& body, const Instruction& instruction);

}  // namespace warploom::ptx
