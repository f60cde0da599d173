#define WARPLOOM_PART 24
#include "kernels/gemm_part.hpp"
