#define WARPLOOM_PART 0
#include "kernels/gemm_part.hpp"
