// The sixteen named barriers of a CTA (hardware.md §6.6). `threads` counts all participants and is a multiple of 32;
// both forms are warp-collective.
#pragma once

#include "warploom/arch/warp.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN void bar_sync(uint32_t id, uint32_t threads) noexcept;    ///< bar.sync id, threads
WARPLOOM_FN void bar_arrive(uint32_t id, uint32_t threads) noexcept;  ///< bar.arrive id, threads
WARPLOOM_FN void syncthreads() noexcept;                              ///< bar.sync 0 over the whole CTA

// The same with an answer to all: all threads of a phase come with the same reduction, and none with bar_arrive.
WARPLOOM_FN uint32_t bar_count(uint32_t id, uint32_t threads, bool predicate) noexcept;  ///< bar.red.popc
WARPLOOM_FN bool bar_all(uint32_t id, uint32_t threads, bool predicate) noexcept;        ///< bar.red.and
WARPLOOM_FN bool bar_any(uint32_t id, uint32_t threads, bool predicate) noexcept;        ///< bar.red.or

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/named_barrier.hpp"
#else
#include "warploom/arch/loom/named_barrier.hpp"
#endif
