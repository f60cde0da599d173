#define WARPLOOM_PART 26
#include "kernels/gemm_part.hpp"
