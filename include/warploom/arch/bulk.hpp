// Bulk copies without a tensor map (hardware.md §2.1, 2.8): plain bytes between global memory and the shared memory of
// this CTA or of another of the cluster. One thread issues; addresses are multiples of 16 bytes, and so are sizes.
//
//   mbarrier_arrive_expect_tx(full, bytes);
//   bulk_load(slot, row, bytes, full);                       // global to shared, completes on the barrier
//   bulk_send(map_to_rank(slot, 1), slot, bytes, map_to_rank(full, 1));   // shared to another CTA's shared
//   bulk_reduce<Reduction::add, ReductionType::f32>(sums, slot, bytes);   // joins the bulk group, as stores do
#pragma once

#include "warploom/arch/tma.hpp"
#include "warploom/types/reduction.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
WARPLOOM_FN void bulk_load(SharedAddress destination, const void* source, uint32_t bytes,
                           SharedAddress barrier) noexcept;
/// The same with .multicast::cluster: to the same offsets of every CTA in `cta_mask`.
WARPLOOM_FN void bulk_load_multicast(SharedAddress destination, const void* source, uint32_t bytes,
                                     SharedAddress barrier, uint16_t cta_mask) noexcept;

/// cp.async.bulk.global.shared::cta.bulk_group
WARPLOOM_FN void bulk_store(void* destination, SharedAddress source, uint32_t bytes) noexcept;
/// The same with .cp_mask (sm_100): of each 16 bytes, those whose bit is set are written.
WARPLOOM_FN void bulk_store_masked(void* destination, SharedAddress source, uint32_t bytes,
                                   uint16_t byte_mask) noexcept;

/// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes: to another CTA of the cluster; the bytes
/// complete on a barrier of that CTA.
WARPLOOM_FN void bulk_send(SharedAddress destination, SharedAddress source, uint32_t bytes,
                           SharedAddress barrier) noexcept;

/// cp.reduce.async.bulk.global.shared::cta.bulk_group.OP{.noftz}.TYPE
template <Reduction operation, ReductionType type>
WARPLOOM_FN void bulk_reduce(void* destination, SharedAddress source, uint32_t bytes) noexcept;

/// cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.OP.TYPE: into another CTA of the
/// cluster.
template <Reduction operation, ReductionType type>
WARPLOOM_FN void bulk_send_reduce(SharedAddress destination, SharedAddress source, uint32_t bytes,
                                  SharedAddress barrier) noexcept;

/// cp.async.bulk.prefetch.L2.global: a hint
WARPLOOM_FN void bulk_prefetch(const void* source, uint32_t bytes) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/bulk.hpp"
#else
#include "warploom/arch/loom/bulk.hpp"
#endif
