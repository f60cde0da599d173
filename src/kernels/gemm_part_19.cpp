#define WARPLOOM_PART 19
#include "kernels/gemm_part.hpp"
