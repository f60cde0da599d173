#define WARPLOOM_PART 22
#include "kernels/gemm_part.hpp"
