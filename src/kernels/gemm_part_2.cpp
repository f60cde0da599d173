#define WARPLOOM_PART 2
#include "kernels/gemm_part.hpp"
