// The loom side of arch/named_barrier.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN void bar_sync(uint32_t id, uint32_t threads) noexcept { native::bar_sync(id, threads); }
WARPLOOM_FN void bar_arrive(uint32_t id, uint32_t threads) noexcept { native::bar_arrive(id, threads); }
WARPLOOM_FN void syncthreads() noexcept { native::syncthreads(); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
