#define WARPLOOM_PART 10
#include "kernels/blackwell_gemm_part.hpp"
