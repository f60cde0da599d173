#define WARPLOOM_PART 23
#include "kernels/gemm_part.hpp"
