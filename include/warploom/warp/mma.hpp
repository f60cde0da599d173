// The tensor core's work on one pair of operand tiles: descriptors and instruction follow from the tile types. For the
// MMA role; `umma` in warp/contexts.hpp is the same for a stage of the accumulator ring.
//
//   umma_tile<cta_group>(stage.tmem().address(), in.a(), in.b(), Accumulate::onto);
#pragma once

#include "warploom/pipeline/policy.hpp"
#include "warploom/pipeline/storage.hpp"
#include "warploom/pipeline/tile.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

enum class Accumulate : bool { fresh, onto };

/// D (+)= A * B^T over the whole K extent of the tiles, issued by one lane. With cta_group 2 the tiles are this CTA's
/// halves, and the same descriptors apply in both CTAs.
template <int cta_group, class A, class B>
WARPLOOM_FN void umma_tile(arch::TmemAddress d, const A& a, const B& b, Accumulate accumulate) noexcept {
  using OperandA = MmaOperand<typename A::Element>;
  using OperandB = MmaOperand<typename B::Element>;
  static_assert(OperandA::kind == OperandB::kind, "warploom: A and B must be of one MMA kind");
  static_assert(A::row_bytes == B::row_bytes, "warploom: A and B tiles must have the same K extent");
  constexpr uint32_t m = A::rows * cta_group, n = B::rows * cta_group;
  constexpr InstructionDescriptor instruction = encode_instruction(
      {1, OperandA::code, OperandB::code, /*negate_a=*/false, /*negate_b=*/false, A::major, B::major, m, n});
  const SmemDescriptor a_descriptor = encode_smem_descriptor(operand_fields(a));
  const SmemDescriptor b_descriptor = encode_smem_descriptor(operand_fields(b));
  bool onto = accumulate == Accumulate::onto;
  WARPLOOM_UNROLL
  for (uint32_t k = 0; k < A::row_bytes / mma_k_bytes; ++k) {
    arch::umma<OperandA::kind, cta_group>(d, a_descriptor.advance(k * A::k_step), b_descriptor.advance(k * B::k_step),
                                          instruction, onto);
    onto = true;
  }
}

/// The MMA of one pair of operand tile types, under the original's name.
///
///   mma_op.mma(a_tile, b_tile, stage.tmem_offset());
///   mma_op.commit(in.mbar());                          // by hand; leaving a stage commits by itself
template <class A, class B, class Cluster>
struct MmaOp {
  static constexpr int cta_group = Cluster::cta_group;

  static WARPLOOM_FN void mma(const A& a, const B& b, uint32_t tmem_offset,
                              Accumulate accumulate = Accumulate::fresh) noexcept {
    umma_tile<cta_group>({tmem_offset}, a, b, accumulate);
  }
  /// One arrival on an operand slot's empty barrier, in every CTA that fills it, once the work so far is complete.
  static WARPLOOM_FN void commit(MbarPtr barrier) noexcept {
    mma_commit<Mma, to_operand_sources>::template signal<Cluster>(arch::shared_address(barrier));
  }
  /// A stage commits to its own barrier when it is released: once, not twice.
  static WARPLOOM_FN void commit(CommittedBarrier) noexcept {}
};

}  // namespace warploom::inline WARPLOOM_MACHINE
