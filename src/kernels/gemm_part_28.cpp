#define WARPLOOM_PART 28
#include "kernels/gemm_part.hpp"
