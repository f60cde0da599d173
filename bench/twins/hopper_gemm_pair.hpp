// The two sides of the Hopper mainloop that are compared: cooperative, 128 x 256 tiles, four slots.
#pragma once

#include "../../examples/hopper_gemm_kernel.hpp"
#include "hopper_gemm_twin.hpp"

namespace warploom::inline WARPLOOM_MACHINE::twins {

template <int cluster>
struct HopperGemmSide : examples::HopperGemm<ClusterShape<1, cluster, 1>, examples::Hopper::cooperative, 128, 256, 4> {
  using Base = examples::HopperGemm<ClusterShape<1, cluster, 1>, examples::Hopper::cooperative, 128, 256, 4>;
  using Base::Base;
  using typename Base::Params;
  using typename Base::Storage;
  /// The example has barriers for ping-pong, too.
  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept { Base::Input::init_barriers(storage.input); }
  static WARPLOOM_FN void run(const Params& params) noexcept { HopperSkeleton<HopperGemmSide>::run(params); }
};

template <int cluster>
using HopperGemmTwinSide = HopperGemmTwin<examples::HopperGemmParams, cluster, 256, 4>;

}  // namespace warploom::inline WARPLOOM_MACHINE::twins
