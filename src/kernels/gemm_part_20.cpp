#define WARPLOOM_PART 20
#include "kernels/gemm_part.hpp"
