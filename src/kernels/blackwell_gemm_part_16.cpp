#define WARPLOOM_PART 16
#include "kernels/blackwell_gemm_part.hpp"
