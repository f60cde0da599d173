// One part of blackwell_gemm.def, compiled for sm_100a, as hopper_gemm_part.cuh is for sm_90a.
//
//   #define WARPLOOM_PART 0
//   #include "kernels/gpu/blackwell_gemm_part.cuh"
#pragma once

#include "kernels/gpu/gemm_part.cuh"
#include "warploom/kernels/blackwell_gemm.hpp"

namespace warploom::gpu {

GemmKernelRows WARPLOOM_PART_NAME(blackwell_gemm_part_)() {
  static const GemmKernel rows[] = {
#define WARPLOOM_BLACKWELL_GEMM(key, A, B, a_major, b_major, scaling, tile_left, tile_right, cta_group, cluster_left, \
                                cluster_right, source, k_group, swap)                                                 \
  gemm_row<BlackwellGemm<A, B, Major::a_major, Major::b_major, Scaling::scaling, tile_left, tile_right, cta_group,    \
                         cluster_left, cluster_right, TileSource::source, k_group, swap>>(key),
#include "warploom/kernels/blackwell_gemm.def"
#undef WARPLOOM_BLACKWELL_GEMM
  };
  return {rows, sizeof(rows) / sizeof(rows[0])};
}

}  // namespace warploom::gpu
