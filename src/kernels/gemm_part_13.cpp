#define WARPLOOM_PART 13
#include "kernels/gemm_part.hpp"
