#define WARPLOOM_PART 2
#include "kernels/blackwell_gemm_part.hpp"
