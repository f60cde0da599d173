// The GEMM kernels of this build, as nvcc knows them: what gemm_run.cpp finds a plan's kernel in.
//
//   const GemmKernel* kernel = find_gemm_kernel("bf16-kk-128x256-coop-2x1");
//   cudaLaunchKernelExC(&launch, kernel->entry, arguments);
#pragma once

#include <span>
#include <string_view>

#include "gpu/gemm_kernel.hpp"

namespace warploom::gpu {

/// In the order of hopper_gemm.def, then blackwell_gemm.def.
std::span<const GemmKernel> gemm_kernels();
const GemmKernel* find_gemm_kernel(std::string_view key);

}  // namespace warploom::gpu
