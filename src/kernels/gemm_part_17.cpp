#define WARPLOOM_PART 17
#include "kernels/gemm_part.hpp"
