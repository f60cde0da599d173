#define WARPLOOM_PART 8
#include "kernels/gemm_part.hpp"
