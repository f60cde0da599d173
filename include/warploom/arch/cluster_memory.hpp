// Plain accesses to the shared memory of any CTA of the cluster, and atomics on it (hardware.md §6.2). A CTA must not
// exit while others may still come: end with cluster_sync.
//
//   const SharedAddress theirs = map_to_rank(shared_address(&counter), 0);
//   const uint32_t ticket = fetch_cluster<Atomic::add>(theirs, 1);
#pragma once

#include "warploom/arch/shared.hpp"
#include "warploom/types/atomic.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// getctarank.shared::cluster: the CTA an address names
WARPLOOM_FN uint32_t rank_of(SharedAddress address) noexcept;

/// ld.shared::cluster, st.shared::cluster. T is 1, 2, 4, 8 or 16 bytes, naturally aligned.
template <class T>
WARPLOOM_FN T load_cluster(SharedAddress source) noexcept;
template <class T>
WARPLOOM_FN void store_cluster(SharedAddress destination, T value) noexcept;

/// atom.ORDER.SCOPE.shared::cluster.OP: returns what was there before. T as in arch/atomic.hpp.
template <Atomic operation, MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::cluster,
          class T = uint32_t>
WARPLOOM_FN T fetch_cluster(SharedAddress destination, std::type_identity_t<T> value) noexcept;
/// red.ORDER.SCOPE.shared::cluster.OP: the same, and nobody learns what was there
template <Atomic operation, MemoryOrder order = MemoryOrder::relaxed, MemoryScope scope = MemoryScope::cluster,
          class T = uint32_t>
WARPLOOM_FN void reduce_cluster(SharedAddress destination, std::type_identity_t<T> value) noexcept;
/// atom.ORDER.SCOPE.shared::cluster.cas: writes `desired` where `expected` was; returns what was there before
template <MemoryOrder order = MemoryOrder::acq_rel, MemoryScope scope = MemoryScope::cluster, class T = uint32_t>
WARPLOOM_FN T compare_exchange_cluster(SharedAddress destination, std::type_identity_t<T> expected,
                                       std::type_identity_t<T> desired) noexcept;

/// red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.OP: on a word of any CTA of the cluster; its
/// bytes count on a barrier of that CTA once that is done. T is uint32_t, int32_t, or uint64_t for sums.
template <Atomic operation, class T>
WARPLOOM_FN void reduce_async(SharedAddress destination, T value, SharedAddress barrier) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/cluster_memory.hpp"
#else
#include "warploom/arch/loom/cluster_memory.hpp"
#endif
