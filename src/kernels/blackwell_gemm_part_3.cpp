#define WARPLOOM_PART 3
#include "kernels/blackwell_gemm_part.hpp"
