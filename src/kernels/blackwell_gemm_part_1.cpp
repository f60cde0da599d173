#define WARPLOOM_PART 1
#include "kernels/blackwell_gemm_part.hpp"
