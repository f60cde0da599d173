#define WARPLOOM_PART 12
#include "kernels/blackwell_gemm_part.hpp"
