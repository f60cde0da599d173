#define WARPLOOM_PART 6
#include "kernels/gemm_part.hpp"
