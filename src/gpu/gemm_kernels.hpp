// The GEMM kernels of this build, as nvcc knows them: what gemm_run.cpp finds a plan's kernel in.
//
//   const GemmKernel* kernel = find_gemm_kernel("bf16-kk-128x256-coop-2x1");
//   cudaLaunchKernelExC(&launch, kernel->entry, arguments);
#pragma once

#include <span>
#include <string_view>

#include "warploom/kernels/gemm_params.hpp"

namespace warploom::gpu {

struct GemmKernel {
  const char* key;
  const void* entry;  ///< a __global__ function of one GemmParams
  GemmShape shape;    ///< as nvcc computes it: it must be what the plan was made for
};

/// In the order of hopper_gemm.def, then blackwell_gemm.def.
std::span<const GemmKernel> gemm_kernels();
const GemmKernel* find_gemm_kernel(std::string_view key);

}  // namespace warploom::gpu
