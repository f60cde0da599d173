#define WARPLOOM_PART 9
#include "kernels/gemm_part.hpp"
