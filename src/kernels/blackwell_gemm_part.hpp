// The loom's instantiations of one part of blackwell_gemm.def, as hopper_gemm_part.hpp has those of hopper_gemm.def.
#pragma once

#include "kernels/gemm_entry.hpp"

namespace warploom {

#define WARPLOOM_BLACKWELL_GEMM(key, ...) \
  template void gemm_entry<WARPLOOM_BLACKWELL_GEMM_KERNEL(__VA_ARGS__)>(const void*);
#include "warploom/kernels/blackwell_gemm.def"
#undef WARPLOOM_BLACKWELL_GEMM

}  // namespace warploom
