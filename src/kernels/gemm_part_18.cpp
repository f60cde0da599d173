#define WARPLOOM_PART 18
#include "kernels/gemm_part.hpp"
