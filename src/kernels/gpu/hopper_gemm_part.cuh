// One part of hopper_gemm.def, compiled for sm_90a. The build writes a file per part (cmake/WarploomGpu.cmake), so that
// nvcc works on several at once:
//
//   #define WARPLOOM_PART 0
//   #include "kernels/gpu/hopper_gemm_part.cuh"
#pragma once

#include <iterator>

#include "gpu/gemm_kernels.hpp"
#include "warploom/kernels/hopper_gemm.hpp"

#ifndef WARPLOOM_PART
#error "warploom: WARPLOOM_PART names the part of hopper_gemm.def to compile"
#endif
#define WARPLOOM_CONCATENATE_(a, b) a##b
#define WARPLOOM_CONCATENATE(a, b) WARPLOOM_CONCATENATE_(a, b)

namespace warploom {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1) hopper_gemm(const __grid_constant__ GemmParams params) {
  Kernel::run(params);
}

namespace gpu {

template <class Kernel>
GemmKernel hopper_row(const char* key) {
  return {key, reinterpret_cast<const void*>(&hopper_gemm<Kernel>), Kernel::shape};
}

std::span<const GemmKernel> WARPLOOM_CONCATENATE(hopper_gemm_part_, WARPLOOM_PART)() {
  static const GemmKernel rows[] = {
#define WARPLOOM_HOPPER_GEMM(key, A, B, a_major, b_major, scaling, tile_left, tile_right, schedule, cluster_left, \
                             cluster_right, cluster_k, swap)                                                      \
  hopper_row<HopperGemm<A, B, Major::a_major, Major::b_major, Scaling::scaling, tile_left, tile_right,            \
                        HopperSchedule::schedule, cluster_left, cluster_right, cluster_k, swap>>(key),
#include "warploom/kernels/hopper_gemm.def"
#undef WARPLOOM_HOPPER_GEMM
  };
  return {rows, std::size(rows)};
}

}  // namespace gpu
}  // namespace warploom
