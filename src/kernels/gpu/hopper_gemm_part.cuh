// One part of hopper_gemm.def, compiled for sm_90a. The build writes a file per part (cmake/WarploomGpu.cmake), so that
// nvcc works on several at once:
//
//   #define WARPLOOM_PART 0
//   #include "kernels/gpu/hopper_gemm_part.cuh"
#pragma once

#include "kernels/gpu/gemm_part.cuh"
#include "warploom/kernels/hopper_gemm.hpp"

namespace warploom::gpu {

GemmKernelRows WARPLOOM_PART_NAME(hopper_gemm_part_)() {
  static const GemmKernel rows[] = {
#define WARPLOOM_HOPPER_GEMM(key, A, B, a_major, b_major, scaling, tile_left, tile_right, schedule, cluster_left, \
                             cluster_right, cluster_k, swap)                                                      \
  gemm_row<HopperGemm<A, B, Major::a_major, Major::b_major, Scaling::scaling, tile_left, tile_right,              \
                      HopperSchedule::schedule, cluster_left, cluster_right, cluster_k, swap>>(key),
#include "warploom/kernels/hopper_gemm.def"
#undef WARPLOOM_HOPPER_GEMM
  };
  return {rows, sizeof(rows) / sizeof(rows[0])};
}

}  // namespace warploom::gpu
