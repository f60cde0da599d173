#define WARPLOOM_PART 14
#include "kernels/gemm_part.hpp"
