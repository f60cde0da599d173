// The two sides of the Hopper mainloop that are compared: cooperative, 128 x 256 tiles, four slots.
#pragma once

#include "../../examples/hopper_gemm_kernel.hpp"
#include "hopper_gemm_twin.hpp"

namespace warploom::inline WARPLOOM_MACHINE::twins {

template <int cluster>
using HopperGemmSide = examples::HopperGemm<ClusterShape<1, cluster, 1>, examples::Hopper::cooperative, 128, 256, 4>;

template <int cluster>
using HopperGemmTwinSide = HopperGemmTwin<examples::HopperGemmParams, cluster, 256, 4>;

}  // namespace warploom::inline WARPLOOM_MACHINE::twins
