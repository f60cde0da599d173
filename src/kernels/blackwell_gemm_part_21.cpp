#define WARPLOOM_PART 21
#include "kernels/blackwell_gemm_part.hpp"
