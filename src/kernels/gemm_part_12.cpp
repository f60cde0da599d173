#define WARPLOOM_PART 12
#include "kernels/gemm_part.hpp"
