#define WARPLOOM_PART 5
#include "kernels/gemm_part.hpp"
