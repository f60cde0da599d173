#define WARPLOOM_PART 18
#include "kernels/blackwell_gemm_part.hpp"
