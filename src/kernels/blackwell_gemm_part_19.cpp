#define WARPLOOM_PART 19
#include "kernels/blackwell_gemm_part.hpp"
