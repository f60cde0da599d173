// Who am I: thread, warp, CTA and cluster coordinates (hardware.md §6.1).
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

constexpr uint32_t warp_size = 32;
constexpr uint32_t full_mask = 0xffffffffu;

WARPLOOM_FN uint32_t thread_index() noexcept;  ///< %tid.x; blocks are one-dimensional
WARPLOOM_FN uint32_t warp_index() noexcept;    ///< thread_index() / 32, uniform in the warp
WARPLOOM_FN uint32_t lane_index() noexcept;    ///< %laneid
WARPLOOM_FN Dim3 block_index() noexcept;       ///< %ctaid
WARPLOOM_FN Dim3 grid_dim() noexcept;          ///< %nctaid
WARPLOOM_FN uint32_t cluster_rank() noexcept;  ///< %cluster_ctarank = x + cx*(y + cy*z)
WARPLOOM_FN Dim3 cluster_index() noexcept;     ///< %clusterid
WARPLOOM_FN Dim3 cluster_count() noexcept;     ///< %nclusterid

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/identity.hpp"
#else
#include "warploom/arch/loom/identity.hpp"
#endif
