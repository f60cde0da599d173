// The loom side of arch/atomic.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <MemoryOrder order, MemoryScope scope>
WARPLOOM_FN uint32_t fetch_add_global(uint32_t* counter, uint32_t value) noexcept {
  return native::fetch_add_global(counter, value, order, scope);
}
WARPLOOM_FN void fence_gpu() noexcept { native::fence(MemoryScope::gpu); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
