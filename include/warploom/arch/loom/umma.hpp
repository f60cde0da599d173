// The loom side of arch/umma.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <MmaKind kind, int cta_group>
WARPLOOM_FN void umma(TmemAddress d, SmemDescriptor a, SmemDescriptor b, InstructionDescriptor idesc,
                      bool accumulate) noexcept {
  native::umma(kind, cta_group, d.value, a.bits, b.bits, idesc.bits, accumulate);
}
namespace detail {
WARPLOOM_FN void set_a(native::MmaInstruction& instruction, SmemDescriptor a) noexcept { instruction.a = a.bits; }
WARPLOOM_FN void set_a(native::MmaInstruction& instruction, TmemAddress a) noexcept {
  instruction.a_in_tmem = true;
  instruction.a = a.value;
}
template <class A>
WARPLOOM_FN native::MmaInstruction mma_instruction(MmaKind kind, int cta_group, TmemAddress d, A a, SmemDescriptor b,
                                                   InstructionDescriptor idesc, bool accumulate) noexcept {
  native::MmaInstruction instruction;
  instruction.kind = kind;
  instruction.cta_group = cta_group;
  instruction.d = d.value;
  set_a(instruction, a);
  instruction.b = b.bits;
  instruction.idesc = idesc.bits;
  instruction.accumulate = accumulate;
  return instruction;
}
}  // namespace detail

template <MmaKind kind, int cta_group>
WARPLOOM_FN void umma(TmemAddress d, TmemAddress a, SmemDescriptor b, InstructionDescriptor idesc,
                      bool accumulate) noexcept {
  native::umma(detail::mma_instruction(kind, cta_group, d, a, b, idesc, accumulate));
}
template <MmaKind kind, int cta_group, class A>
WARPLOOM_FN void umma_masked(TmemAddress d, A a, SmemDescriptor b, InstructionDescriptor idesc, bool accumulate,
                             const uint32_t (&disabled)[4 * cta_group]) noexcept {
  native::MmaInstruction instruction = detail::mma_instruction(kind, cta_group, d, a, b, idesc, accumulate);
  instruction.disabled_lanes = disabled;
  native::umma(instruction);
}
template <MmaKind kind, int cta_group, int s, class A>
WARPLOOM_FN void umma_scaled_input(TmemAddress d, A a, SmemDescriptor b, InstructionDescriptor idesc,
                                   bool accumulate) noexcept {
  native::MmaInstruction instruction = detail::mma_instruction(kind, cta_group, d, a, b, idesc, accumulate);
  instruction.scale_input_d = s;
  native::umma(instruction);
}
template <MmaKind kind, ScaleVector vector, int cta_group, class A>
WARPLOOM_FN void umma_block_scaled(TmemAddress d, A a, SmemDescriptor b, InstructionDescriptor idesc, TmemAddress sfa,
                                   TmemAddress sfb, bool accumulate) noexcept {
  native::MmaInstruction instruction = detail::mma_instruction(kind, cta_group, d, a, b, idesc, accumulate);
  instruction.scale_vector = vector;
  instruction.sfa = sfa.value;
  instruction.sfb = sfb.value;
  native::umma(instruction);
}
template <MmaKind kind>
WARPLOOM_FN void umma_ws(TmemAddress d, SmemDescriptor a, SmemDescriptor b, InstructionDescriptor idesc,
                         bool accumulate) noexcept {
  native::MmaInstruction instruction = detail::mma_instruction(kind, 1, d, a, b, idesc, accumulate);
  instruction.weight_stationary = true;
  native::umma(instruction);
}
template <int cta_group>
WARPLOOM_FN void umma_commit(SharedAddress barrier) noexcept {
  native::umma_commit(cta_group, barrier.value, -1);
}
template <int cta_group>
WARPLOOM_FN void umma_commit_multicast(SharedAddress barrier, uint16_t cta_mask) noexcept {
  native::umma_commit(cta_group, barrier.value, cta_mask);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
