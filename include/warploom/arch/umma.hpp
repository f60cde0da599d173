// tcgen05.mma and tcgen05.commit (hardware.md §4.6, 4.15). One thread issues, asynchronously; descriptors are the
// hardware's own bits (types/descriptor.hpp).
#pragma once

#include "warploom/arch/mbarrier.hpp"
#include "warploom/arch/tmem.hpp"
#include "warploom/types/descriptor.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// tcgen05.mma.cta_group::G.kind::K [d], a-desc, b-desc, idesc, accumulate: D = A*B (+ D)
template <MmaKind kind, int cta_group>
WARPLOOM_FN void umma(TmemAddress d, SmemDescriptor a, SmemDescriptor b, InstructionDescriptor idesc,
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
