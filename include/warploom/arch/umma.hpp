// tcgen05.mma and tcgen05.commit (hardware.md §4.6, 4.11, 4.15). One thread issues, asynchronously; descriptors are the
// hardware's own bits (types/descriptor.hpp, types/block_scaled.hpp). A is a descriptor of shared memory or, K-major,
// an address in tensor memory (§4.9).
//
//   umma<MmaKind::f8f6f4, 1>(d, a, b, idesc, false);                                        D = A*B
//   umma_block_scaled<MmaKind::mxf4nvf4, ScaleVector::x4, 2>(d, a, b, idesc, sfa, sfb, true);
#pragma once

#include "warploom/arch/mbarrier.hpp"
#include "warploom/arch/tmem.hpp"
#include "warploom/types/descriptor.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// tcgen05.mma.cta_group::G.kind::K [d], a-desc, b-desc, idesc, accumulate: D = A*B (+ D)
template <MmaKind kind, int cta_group>
WARPLOOM_FN void umma(TmemAddress d, SmemDescriptor a, SmemDescriptor b, InstructionDescriptor idesc,
                      bool accumulate) noexcept;
/// ... [d], [a-tmem], b-desc, idesc, accumulate
template <MmaKind kind, int cta_group>
WARPLOOM_FN void umma(TmemAddress d, TmemAddress a, SmemDescriptor b, InstructionDescriptor idesc,
                      bool accumulate) noexcept;
/// ... idesc, {disabled...}, accumulate: lane i of D stays as it is where bit i of `disabled` is set; words 4 to 7 are
/// the odd CTA's lanes
template <MmaKind kind, int cta_group, class A>
WARPLOOM_FN void umma_masked(TmemAddress d, A a, SmemDescriptor b, InstructionDescriptor idesc, bool accumulate,
                             const uint32_t (&disabled)[4 * cta_group]) noexcept;
/// ... idesc, accumulate, s: D = A*B + D * 2^-s, 0 <= s <= 15; kinds f16 and tf32
template <MmaKind kind, int cta_group, int s, class A>
WARPLOOM_FN void umma_scaled_input(TmemAddress d, A a, SmemDescriptor b, InstructionDescriptor idesc,
                                   bool accumulate) noexcept;
/// tcgen05.mma.cta_group::G.kind::K.block_scale.scale_vec::V [d], A, b-desc, idesc, [sfa], [sfb], accumulate; idesc as
/// encode_block_scaled() makes it. Pairs: mxf8f6f4 with 1X, mxf4 with 2X, mxf4nvf4 with 2X or 4X.
template <MmaKind kind, ScaleVector vector, int cta_group, class A>
WARPLOOM_FN void umma_block_scaled(TmemAddress d, A a, SmemDescriptor b, InstructionDescriptor idesc, TmemAddress sfa,
                                   TmemAddress sfb, bool accumulate) noexcept;
/// tcgen05.mma.ws.cta_group::1.kind::K.collector::b0::discard [d], a-desc, b-desc, idesc, accumulate: 32, 64 or 128
/// rows by 64, 128 or 256 columns
template <MmaKind kind>
WARPLOOM_FN void umma_ws(TmemAddress d, SmemDescriptor a, SmemDescriptor b, InstructionDescriptor idesc,
                         bool accumulate) noexcept;

/// tcgen05.commit.mbarrier::arrive::one: one arrival once this thread's earlier tcgen05 work is complete
template <int cta_group>
WARPLOOM_FN void umma_commit(SharedAddress barrier) noexcept;
/// .multicast::cluster: on the barrier at the same offset of every CTA in `cta_mask`
template <int cta_group>
WARPLOOM_FN void umma_commit_multicast(SharedAddress barrier, uint16_t cta_mask) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/umma.hpp"
#else
#include "warploom/arch/loom/umma.hpp"
#endif
