#define WARPLOOM_PART 3
#include "kernels/gemm_part.hpp"
