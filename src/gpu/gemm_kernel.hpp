// A GEMM kernel as nvcc knows it. No standard headers: every file of kernels reads this.
//
//   GemmKernelRows hopper_gemm_part_0();   // each such file
#pragma once

#include <stddef.h>

#include "warploom/kernels/gemm_params.hpp"

namespace warploom::gpu {

struct GemmKernel {
  const char* key;
  const void* entry;  ///< a __global__ function of one GemmParams
  GemmShape shape;    ///< as nvcc computes it: it must be what the plan was made for
};

/// Those of one file, in terms that nvcc reads quickly.
struct GemmKernelRows {
  const GemmKernel* first;
  size_t count;
};

}  // namespace warploom::gpu
