// Atomics on global memory, and the fence that orders what CTAs tell each other through it. Those on shared memory are
// in arch/cluster_memory.hpp, loads and stores with an order in arch/ordered.hpp.
//
//   fence_gpu();  // every thread: its stores come before ...
//   syncthreads();
//   if (thread_index() == 0) last = fetch_add_global(&counter, 1) == parts - 1;  // ... the count that announces them
//
// A kernel that uses them depends on the order in which its clusters run: on the loom its launch says so
// (LaunchConfig::talks_across_clusters).
#pragma once

#include "warploom/arch/config.hpp"
#include "warploom/types/atomic.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// atom.ORDER.SCOPE.global.OP: returns what was there before. T is uint32_t, int32_t, uint64_t, int64_t, float, double,
/// f16 or bf16 for what counts, words of 4, 8 or 16 bytes for exchange. An operation that only acquires or releases, or
/// reaches less far, is cheaper; what it then does not order, others order in its place.
template <Atomic operation, MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::gpu, class T>
WARPLOOM_FN T fetch_global(T* word, std::type_identity_t<T> value) noexcept;
/// red.ORDER.SCOPE.global.OP: the same, and nobody learns what was there
template <Atomic operation, MemoryOrder order = MemoryOrder::relaxed, MemoryScope scope = MemoryScope::gpu, class T>
WARPLOOM_FN void reduce_global(T* word, std::type_identity_t<T> value) noexcept;
/// red.ORDER.SCOPE.global.add.v2.f32, .v4.f32: each of them by itself. The address is a multiple of their size.
template <MemoryOrder order = MemoryOrder::relaxed, MemoryScope scope = MemoryScope::gpu, int count>
WARPLOOM_FN void reduce_add_global(float* words, const float (&values)[count]) noexcept;
/// atom.ORDER.SCOPE.global.cas: writes `desired` where `expected` was; returns what was there. T has 2, 4, 8 or 16
/// bytes.
template <MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::gpu, class T>
WARPLOOM_FN T compare_exchange_global(T* word, std::type_identity_t<T> expected,
                                      std::type_identity_t<T> desired) noexcept;

/// atom.ORDER.SCOPE.global.add.u32
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
