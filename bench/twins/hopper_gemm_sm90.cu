// Both sides of the Hopper GEMM, for tools/free_of_cost.py: one CTA, and two that share B by multicast.
#include "hopper_gemm_pair.hpp"
#include "side.cuh"

namespace warploom::twins {

WARPLOOM_SIDE(hopper_gemm_1x1, HopperGemmSide<1>)
WARPLOOM_SIDE(hopper_gemm_1x1_twin, HopperGemmTwinSide<1>)
WARPLOOM_SIDE(hopper_gemm_2x1, HopperGemmSide<2>)
WARPLOOM_SIDE(hopper_gemm_2x1_twin, HopperGemmTwinSide<2>)

}  // namespace warploom::twins
