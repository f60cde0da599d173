#define WARPLOOM_PART 13
#include "kernels/blackwell_gemm_part.hpp"
