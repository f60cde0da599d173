#define WARPLOOM_PART 4
#include "kernels/blackwell_gemm_part.hpp"
