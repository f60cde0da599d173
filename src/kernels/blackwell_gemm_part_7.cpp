#define WARPLOOM_PART 7
#include "kernels/blackwell_gemm_part.hpp"
