// The loom side of arch/tmem_copy.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <TmemCopy shape, int cta_group, Expand expand>
WARPLOOM_FN void tmem_copy(TmemAddress destination, SmemDescriptor source) noexcept {
  native::tmem_copy(shape, expand, cta_group, destination.value, source.bits);
}
template <int cta_group>
WARPLOOM_FN void tmem_shift_down(TmemAddress address) noexcept {
  native::tmem_shift_down(cta_group, address.value);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
