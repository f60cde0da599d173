#define WARPLOOM_PART 15
#include "kernels/blackwell_gemm_part.hpp"
