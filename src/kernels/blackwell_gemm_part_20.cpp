#define WARPLOOM_PART 20
#include "kernels/blackwell_gemm_part.hpp"
