#define WARPLOOM_PART 27
#include "kernels/gemm_part.hpp"
