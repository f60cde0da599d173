#define WARPLOOM_PART 23
#include "kernels/blackwell_gemm_part.hpp"
