// The loom side of arch/named_barrier.hpp.
#pragma once

#include "warploom/loom/collective.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN void bar_sync(uint32_t id, uint32_t threads) noexcept { native::bar_sync(id, threads); }
WARPLOOM_FN void bar_arrive(uint32_t id, uint32_t threads) noexcept { native::bar_arrive(id, threads); }
WARPLOOM_FN void syncthreads() noexcept { native::syncthreads(); }
WARPLOOM_FN uint32_t bar_count(uint32_t id, uint32_t threads, bool predicate) noexcept {
  return native::bar_reduce(native::BarReduction::popc, id, threads, predicate);
}
WARPLOOM_FN bool bar_all(uint32_t id, uint32_t threads, bool predicate) noexcept {
  return native::bar_reduce(native::BarReduction::bit_and, id, threads, predicate) != 0;
}
WARPLOOM_FN bool bar_any(uint32_t id, uint32_t threads, bool predicate) noexcept {
  return native::bar_reduce(native::BarReduction::bit_or, id, threads, predicate) != 0;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
