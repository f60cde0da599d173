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
template <int cta_group>
WARPLOOM_FN void umma_commit(SharedAddress barrier) noexcept {
  native::umma_commit(cta_group, barrier.value, -1);
}
template <int cta_group>
WARPLOOM_FN void umma_commit_multicast(SharedAddress barrier, uint16_t cta_mask) noexcept {
  native::umma_commit(cta_group, barrier.value, cta_mask);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
