#define WARPLOOM_PART 0
#include "kernels/blackwell_gemm_part.hpp"
