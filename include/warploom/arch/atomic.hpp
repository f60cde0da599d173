// Atomics on global memory, and the fence that orders what CTAs tell each other through it.
//
//   fence_gpu();  // every thread: its stores come before ...
//   syncthreads();
//   if (thread_index() == 0) last = fetch_add_global(&counter, 1) == parts - 1;  // ... the count that announces them
//
// A kernel that uses them depends on the order in which its clusters run: on the loom its launch says so
// (LaunchConfig::talks_across_clusters).
#pragma once

#include "warploom/types/memory_order.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// atom.{relaxed,acquire,release,acq_rel}.{cta,cluster,gpu}.global.add.u32: returns what was there before. One that
/// only acquires or releases, or reaches less far, is cheaper; what it then does not order, others order in its place.
template <MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::gpu>
WARPLOOM_FN uint32_t fetch_add_global(uint32_t* counter, uint32_t value) noexcept;
/// fence.acq_rel.gpu
WARPLOOM_FN void fence_gpu() noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/atomic.hpp"
#else
#include "warploom/arch/loom/atomic.hpp"
#endif
