// What the loom calls for a row of hopper_gemm.def or blackwell_gemm.def. A row's part is one file that the build
// writes, where its entry is instantiated; the registry in gemm.cpp only refers to it.
#pragma once

#include "warploom/kernels/own_gemm.hpp"

namespace warploom {

#define WARPLOOM_HOPPER_GEMM_KERNEL(A, B, a_major, b_major, scaling, tile_left, tile_right, schedule, cluster_left,   \
                                    cluster_right, cluster_k, swap)                                                   \
  HopperGemm<A, B, Major::a_major, Major::b_major, Scaling::scaling, tile_left, tile_right, HopperSchedule::schedule, \
             cluster_left, cluster_right, cluster_k, swap>

#define WARPLOOM_BLACKWELL_GEMM_KERNEL(A, B, a_major, b_major, scaling, tile_left, tile_right, cta_group, \
                                       cluster_left, cluster_right, source, k_group, swap)                \
  BlackwellGemm<A, B, Major::a_major, Major::b_major, Scaling::scaling, tile_left, tile_right, cta_group, \
                cluster_left, cluster_right, TileSource::source, k_group, swap>

}  // namespace warploom
