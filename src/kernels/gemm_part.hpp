// The loom's instantiations of one part of hopper_gemm.def; gemm_part_*.cpp define WARPLOOM_PART and include this.
#pragma once

#include "kernels/gemm_entry.hpp"

namespace warploom {

#define WARPLOOM_HOPPER_GEMM(key, ...) template void gemm_entry<WARPLOOM_HOPPER_GEMM_KERNEL(__VA_ARGS__)>(const void*);
#include "warploom/kernels/hopper_gemm.def"
#undef WARPLOOM_HOPPER_GEMM

}  // namespace warploom
