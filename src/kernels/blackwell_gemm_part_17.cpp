#define WARPLOOM_PART 17
#include "kernels/blackwell_gemm_part.hpp"
