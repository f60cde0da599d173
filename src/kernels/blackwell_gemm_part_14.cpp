#define WARPLOOM_PART 14
#include "kernels/blackwell_gemm_part.hpp"
