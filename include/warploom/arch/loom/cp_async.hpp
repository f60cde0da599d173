// The loom side of arch/cp_async.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <int bytes>
WARPLOOM_FN void cp_async(SharedAddress destination, const void* source, uint32_t source_bytes) noexcept {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "warploom: cp.async copies 4, 8 or 16 bytes");
  native::cp_async(destination.value, source, bytes, source_bytes);
}
WARPLOOM_FN void cp_async_mbarrier_arrive_noinc(SharedAddress barrier) noexcept {
  native::cp_async_mbarrier_arrive(barrier.value, false);
}
WARPLOOM_FN void cp_async_mbarrier_arrive(SharedAddress barrier) noexcept {
  native::cp_async_mbarrier_arrive(barrier.value, true);
}
WARPLOOM_FN void cp_async_commit_group() noexcept { native::cp_async_commit_group(); }
template <int pending>
WARPLOOM_FN void cp_async_wait_group() noexcept {
  native::cp_async_wait_group(pending);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
