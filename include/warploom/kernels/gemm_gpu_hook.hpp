// How the program reaches a GPU without being built for one: the library's GPU half, where it is linked in, says here
// what it can do. Without it there is no hook, and `--on gpu` answers with a sentence.
//
//   static const GemmGpuRegistrar registrar({.device = &device, .chip = &chip_limits, .run = &run});     // in
//   libwarploom_gpu if (const GemmGpuHook* gpu = gemm_gpu_hook()) auto ran = gpu->run(problem, plan, 1);        // in
//   the program
#pragma once

#include "warploom/kernels/gemm_problem.hpp"

namespace warploom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

struct GemmGpuRun {
  double microseconds = 0;  ///< of one launch, the median of `launches`
  int launches = 1;
};

struct GemmGpuHook {
  /// The name of the device, or a sentence that says why there is none that could run the kernels.
  Result<std::string> (*device)() = nullptr;
  ChipLimits (*chip)() = nullptr;  ///< of that device
  /// Runs a problem whose pointers are host memory: copies the tensors there, launches, copies D back, padding
  /// included. With more than one launch every one sees the same C, so that D is that of a single launch.
  Result<GemmGpuRun> (*run)(const GemmProblem& problem, const GemmPlan& plan, int launches) = nullptr;
};

/// What is registered, or nullptr.
const GemmGpuHook* gemm_gpu_hook();
void set_gemm_gpu_hook(const GemmGpuHook& hook);

struct GemmGpuRegistrar {
  explicit GemmGpuRegistrar(const GemmGpuHook& hook) { set_gemm_gpu_hook(hook); }
};

#pragma GCC visibility pop
}  // namespace warploom
