#define WARPLOOM_PART 10
#include "kernels/gemm_part.hpp"
