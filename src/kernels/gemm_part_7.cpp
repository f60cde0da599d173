#define WARPLOOM_PART 7
#include "kernels/gemm_part.hpp"
