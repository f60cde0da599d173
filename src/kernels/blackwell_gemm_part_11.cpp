#define WARPLOOM_PART 11
#include "kernels/blackwell_gemm_part.hpp"
