// Plain accesses to the shared memory of any CTA of the cluster (hardware.md §6.2). A CTA must not exit while others
// may still come: end with cluster_sync.
//
//   const SharedAddress theirs = map_to_rank(shared_address(&counter), 0);
//   const uint32_t ticket = fetch_cluster<Atomic::add>(theirs, 1);
#pragma once

#include "warploom/arch/shared.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// getctarank.shared::cluster: the CTA an address names
WARPLOOM_FN uint32_t rank_of(SharedAddress address) noexcept;

/// ld.shared::cluster, st.shared::cluster. T is 1, 2, 4, 8 or 16 bytes, naturally aligned.
template <class T>
WARPLOOM_FN T load_cluster(SharedAddress source) noexcept;
template <class T>
WARPLOOM_FN void store_cluster(SharedAddress destination, T value) noexcept;

/// inc and dec wrap as in types/reduction.hpp.
enum class Atomic : uint8_t { add, min, max, inc, dec, bit_and, bit_or, bit_xor, exchange };

/// atom.acq_rel.cluster.shared::cluster.OP.u32 (and, or, xor and exch: .b32): returns what was there before
template <Atomic operation>
WARPLOOM_FN uint32_t fetch_cluster(SharedAddress destination, uint32_t value) noexcept;
/// atom.acq_rel.cluster.shared::cluster.cas.b32: writes `desired` where `expected` was; returns what was there before
WARPLOOM_FN uint32_t compare_exchange_cluster(SharedAddress destination, uint32_t expected, uint32_t desired) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/cluster_memory.hpp"
#else
#include "warploom/arch/loom/cluster_memory.hpp"
#endif
