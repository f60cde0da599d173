// Where the clusters of a launch that fills the GPU begin in the order of tiles, so that neighbours on the chip begin
// beside each other: SMs of one GPC (a part of the chip with 16 or 18 of them) that load the same operand tile at the
// same time fetch it from L2 once, as long as TMA does not multicast it. Which SMs those are, and which cluster runs
// where, differs from chip to chip and is found by looking, once per process: a few launches of a kernel that does
// nothing. A wrong answer, say of a GPU that was busy, costs speed and nothing else.
#pragma once

#include <span>

#include "warploom/kernels/gemm_params.hpp"

namespace warploom::gpu {

/// Of the current device, for `clusters` clusters of `size` CTAs, one CTA per SM. None (count 0) where the launch
/// leaves SMs free or nothing could be learnt.
ClusterPlaces cluster_places(int clusters, int size);

/// The arithmetic of it. `group`: of the SM that cluster c runs on, by c.
ClusterPlaces places_by_group(std::span<const int> group);

}  // namespace warploom::gpu
