#define WARPLOOM_PART 4
#include "kernels/gemm_part.hpp"
