#define WARPLOOM_PART 8
#include "kernels/blackwell_gemm_part.hpp"
