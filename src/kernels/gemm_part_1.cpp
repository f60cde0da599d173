#define WARPLOOM_PART 1
#include "kernels/gemm_part.hpp"
