#define WARPLOOM_PART 21
#include "kernels/gemm_part.hpp"
