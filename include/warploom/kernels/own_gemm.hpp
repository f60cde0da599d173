// A GEMM that the library does not ship: with a function of your own in the place of the activation, or another tile.
// It is planned and run like those that it ships.
//
//   struct Clamp {
//     WARPLOOM_FN float operator()(float x) const noexcept { return arch::minimum(x, 6.0f); }
//   };
//   using Clamped = BlackwellGemm<bf16, bf16, Major::k, Major::k, Scaling::none, 128, 128, 1, 1, 1, TileSource::fixed,
//                                 1, false, Elementwise<Clamp>>;
//   const GemmConfig clamped = own_gemm<Clamped>("clamped");               // to outlive its plans
//   auto plan = plan_gemm(problem, clamped, 0, ChipLimits::of(Chip::sm100));
//   auto outcome = run_on_loom(problem, *plan);        // in a file for nvcc: gpu::run(problem, *plan, ...)
#pragma once

#include "warploom/kernels/blackwell_gemm.hpp"
#include "warploom/kernels/gemm/entry.hpp"
#include "warploom/kernels/gemm_problem.hpp"
#include "warploom/kernels/hopper_gemm.hpp"

namespace warploom {

/// What a plan is made for.
template <class Kernel>
constexpr GemmConfig gemm_config(const char* key) {
  return {key,
          Kernel::operands.a,
          Kernel::operands.b,
          Kernel::operands.a_major,
          Kernel::operands.b_major,
          Kernel::operands.scaling,
          Kernel::shape};
}

/// ... and what runs it, on the machine that the file is compiled for.
template <class Kernel>
GemmConfig own_gemm(const char* key) {
  GemmConfig config = gemm_config<Kernel>(key);
#if WARPLOOM_GPU
  config.gpu_entry = reinterpret_cast<const void*>(&gemm_kernel<Kernel>);
#else
  config.loom_entry = &gemm_entry<Kernel>;
#endif
  return config;
}

}  // namespace warploom
