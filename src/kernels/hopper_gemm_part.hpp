// The loom's instantiations of one part of hopper_gemm.def. The build writes a file per part that includes this.
#pragma once

#include "kernels/gemm_entry.hpp"

namespace warploom {

#define WARPLOOM_HOPPER_GEMM(key, ...) template void gemm_entry<WARPLOOM_HOPPER_GEMM_KERNEL(__VA_ARGS__)>(const void*);
#include "warploom/kernels/hopper_gemm.def"
#undef WARPLOOM_HOPPER_GEMM

}  // namespace warploom
