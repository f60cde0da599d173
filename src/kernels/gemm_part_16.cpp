#define WARPLOOM_PART 16
#include "kernels/gemm_part.hpp"
