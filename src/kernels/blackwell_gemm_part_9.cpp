#define WARPLOOM_PART 9
#include "kernels/blackwell_gemm_part.hpp"
