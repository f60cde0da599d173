// Loads and stores with an order: what one thread tells another through a flag in memory, without an atomic's round
// trip. Two of them, or one and an atomic, are no race; ordinary accesses beside them are.
//
//   store_global(&data, 5u);
//   store_global<MemoryOrder::release>(&flag, 1u);             // everything before it ...
//   while (load_global<MemoryOrder::acquire>(&flag) == 0) {    // ... is seen by who finds it
//   }
//
// On global memory the launch says that its clusters talk (LaunchConfig::talks_across_clusters).
#pragma once

#include "warploom/arch/shared.hpp"
#include "warploom/types/atomic.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// ld.{relaxed,acquire}.SCOPE.global. T is 1, 2, 4, 8 or 16 bytes, naturally aligned.
template <MemoryOrder order, MemoryScope scope = MemoryScope::gpu, class T>
WARPLOOM_FN T load_global(const T* source) noexcept;
/// st.{relaxed,release}.SCOPE.global
template <MemoryOrder order, MemoryScope scope = MemoryScope::gpu, class T>
WARPLOOM_FN void store_global(T* destination, std::type_identity_t<T> value) noexcept;

/// ld.{relaxed,acquire}.SCOPE.shared::cluster, st.{relaxed,release}.SCOPE.shared::cluster
template <class T, MemoryOrder order, MemoryScope scope = MemoryScope::cluster>
WARPLOOM_FN T load_cluster(SharedAddress source) noexcept;
template <class T, MemoryOrder order, MemoryScope scope = MemoryScope::cluster>
WARPLOOM_FN void store_cluster(SharedAddress destination, T value) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/ordered.hpp"
#else
#include "warploom/arch/loom/ordered.hpp"
#endif
