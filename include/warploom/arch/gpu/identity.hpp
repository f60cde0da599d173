// The GPU side of arch/identity.hpp.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN uint32_t thread_index() noexcept { return ::threadIdx.x; }
// A shuffle, because ptxas takes only its result for uniform (tid / 32 costs a converging step before every aligned
// instruction). Over the lanes that are here, so that one elected lane may ask too.
WARPLOOM_FN uint32_t warp_index() noexcept {
  const uint32_t here = __activemask();
  return __shfl_sync(here, ::threadIdx.x / warp_size, __ffs(static_cast<int>(here)) - 1);
}
WARPLOOM_FN uint32_t lane_index() noexcept { return ::cuda::ptx::get_sreg_laneid(); }
WARPLOOM_FN Dim3 block_index() noexcept { return {::blockIdx.x, ::blockIdx.y, ::blockIdx.z}; }
WARPLOOM_FN Dim3 grid_dim() noexcept { return {::gridDim.x, ::gridDim.y, ::gridDim.z}; }
WARPLOOM_FN uint32_t cluster_rank() noexcept { return ::cuda::ptx::get_sreg_cluster_ctarank(); }
WARPLOOM_FN Dim3 cluster_index() noexcept {
  return {::cuda::ptx::get_sreg_clusterid_x(), ::cuda::ptx::get_sreg_clusterid_y(),
          ::cuda::ptx::get_sreg_clusterid_z()};
}
WARPLOOM_FN Dim3 cluster_count() noexcept {
  return {::cuda::ptx::get_sreg_nclusterid_x(), ::cuda::ptx::get_sreg_nclusterid_y(),
          ::cuda::ptx::get_sreg_nclusterid_z()};
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
