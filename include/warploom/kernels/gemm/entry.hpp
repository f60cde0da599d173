// What a launch calls: a function of the kernel's parameters, on the machine that the file is compiled for.
#pragma once

#include "warploom/kernels/gemm_params.hpp"

namespace warploom {

#if WARPLOOM_GPU
template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1) gemm_kernel(const __grid_constant__ GemmParams params) {
  Kernel::run(params);
}
#else
template <class Kernel>
void gemm_entry(const void* params) {
  Kernel::run(*static_cast<const GemmParams*>(params));
}
#endif

}  // namespace warploom
