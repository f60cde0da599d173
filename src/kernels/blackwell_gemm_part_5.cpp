#define WARPLOOM_PART 5
#include "kernels/blackwell_gemm_part.hpp"
