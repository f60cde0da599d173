#include "gpu/gemm_kernels.hpp"

#include <vector>

namespace warploom::gpu {

// Written by the build: one declaration, and later one use, per part of hopper_gemm.def and blackwell_gemm.def.
#define WARPLOOM_PART_ROWS(part) GemmKernelRows part();
#include "gpu/gemm_parts.inc"
#undef WARPLOOM_PART_ROWS

std::span<const GemmKernel> gemm_kernels() {
  static const std::vector<GemmKernel> all = [] {
    std::vector<GemmKernel> rows;
#define WARPLOOM_PART_ROWS(part) rows.insert(rows.end(), part().first, part().first + part().count);
#include "gpu/gemm_parts.inc"
#undef WARPLOOM_PART_ROWS
    return rows;
  }();
  return all;
}

const GemmKernel* find_gemm_kernel(std::string_view key) {
  for (const GemmKernel& kernel : gemm_kernels())
    if (key == kernel.key) return &kernel;
  return nullptr;
}

}  // namespace warploom::gpu
