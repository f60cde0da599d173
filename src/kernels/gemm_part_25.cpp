#define WARPLOOM_PART 25
#include "kernels/gemm_part.hpp"
