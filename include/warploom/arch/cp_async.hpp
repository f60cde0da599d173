// cp.async: small asynchronous copies from global to shared memory, a few bytes per thread. For what TMA cannot bring
// (rows without a tensor map, gathered rows); completion is seen through an mbarrier or by waiting for groups.
//
//   cp_async<16>(slot, bias + column, bytes_left);      // every lane its 16 bytes, zeros beyond bytes_left
//   cp_async_mbarrier_arrive_noinc(full);               // arrives once the copies of this thread have landed
#pragma once

#include "warploom/arch/mbarrier.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// cp.async.{ca,cg}.shared.global: `bytes` bytes land at `destination` of this CTA, the first `source_bytes` of them
/// from `source`, zeros after that. Both addresses are multiples of `bytes`, which is 4, 8 or 16.
template <int bytes>
WARPLOOM_FN void cp_async(SharedAddress destination, const void* source, uint32_t source_bytes = bytes) noexcept;

/// cp.async.mbarrier.arrive.noinc.shared::cta: one arrival, which the barrier's count includes, once all earlier
/// cp.async of this thread are complete. A barrier of this CTA.
WARPLOOM_FN void cp_async_mbarrier_arrive_noinc(SharedAddress barrier) noexcept;
/// cp.async.mbarrier.arrive.shared::cta: the same, but the count does not include it: it is added now and taken by the
/// arrival (hardware.md §1.2).
WARPLOOM_FN void cp_async_mbarrier_arrive(SharedAddress barrier) noexcept;

/// cp.async.commit_group: closes this thread's copies into a group
WARPLOOM_FN void cp_async_commit_group() noexcept;
/// cp.async.wait_group: at most `pending` of this thread's groups are not yet complete
template <int pending>
WARPLOOM_FN void cp_async_wait_group() noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/cp_async.hpp"
#else
#include "warploom/arch/loom/cp_async.hpp"
#endif
