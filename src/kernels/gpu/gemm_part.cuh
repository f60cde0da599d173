// What the files for nvcc have in common: a __global__ entry per kernel, and the rows that launches find it by.
//
//   GemmKernelRows WARPLOOM_PART_NAME(hopper_gemm_part_)() { static const GemmKernel rows[] = {...}; ... }
#pragma once

#include "gpu/gemm_kernel.hpp"
#include "warploom/kernels/gemm/entry.hpp"

#ifndef WARPLOOM_PART
#error "warploom: WARPLOOM_PART names the part of the .def file to compile"
#endif
#define WARPLOOM_CONCATENATE_(a, b) a##b
#define WARPLOOM_CONCATENATE(a, b) WARPLOOM_CONCATENATE_(a, b)
#define WARPLOOM_PART_NAME(prefix) WARPLOOM_CONCATENATE(prefix, WARPLOOM_PART)

namespace warploom::gpu {

template <class Kernel>
GemmKernel gemm_row(const char* key) {
  return {key, reinterpret_cast<const void*>(&gemm_kernel<Kernel>), Kernel::shape};
}

}  // namespace warploom::gpu
