#include "warploom/kernels/gemm_gpu_hook.hpp"

namespace warploom {
namespace {

/// Inside a function: registrars of other files may run before this file's own variables exist.
GemmGpuHook& slot() {
  static GemmGpuHook hook;
  return hook;
}

}  // namespace

const GemmGpuHook* gemm_gpu_hook() { return slot().run == nullptr ? nullptr : &slot(); }
void set_gemm_gpu_hook(const GemmGpuHook& hook) { slot() = hook; }

}  // namespace warploom
