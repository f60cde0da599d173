#define WARPLOOM_PART 11
#include "kernels/gemm_part.hpp"
