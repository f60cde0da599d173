#define WARPLOOM_PART 22
#include "kernels/blackwell_gemm_part.hpp"
