#define WARPLOOM_PART 15
#include "kernels/gemm_part.hpp"
