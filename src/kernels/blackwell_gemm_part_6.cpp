#define WARPLOOM_PART 6
#include "kernels/blackwell_gemm_part.hpp"
