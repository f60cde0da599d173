// The host's end of the GPU watchdog, for .cu files compiled with WARPLOOM_WATCHDOG=1 (docs/instrumentation.md).
//
//   auto watchdog = warploom::gpu::arm_watchdog();        // before the launch, in the file that holds the kernel
//   kernel<<<...>>>(params);
//   if (cudaDeviceSynchronize() != cudaSuccess) puts(watchdog->text().c_str());
//
// Arming gives the GPU host memory to write its reports to: they are there even when the launch has ended in a trap.
// Keep it as long as kernels run. Unarmed, reports go through printf. In a build without the watchdog arming does
// nothing.
#pragma once

#include <cuda_runtime.h>

#include <new>

#include "warploom/arch/mbarrier.hpp"
#include "warploom/gpu/owned.hpp"
#include "warploom/gpu/watchdog_text.hpp"
#include "warploom/types/result.hpp"

namespace warploom::gpu {

class Watchdog {
 public:
  explicit Watchdog(StuckWaits* memory = nullptr) : memory_(memory) {}

  /// The reports written so far; "" when there are none.
  std::string text() const { return memory_.get() == nullptr ? std::string() : to_text(*memory_.get()); }

 private:
  Owned<StuckWaits, cudaFreeHost> memory_;  // after a trap the runtime refuses to free it; the process's end does
};

/// Arms the kernels of this file, each of which has a watchdog of its own. `limit_ns`: how long a wait may take.
[[maybe_unused]] static Result<Watchdog> arm_watchdog([[maybe_unused]] uint64_t limit_ns = WARPLOOM_WATCHDOG_NS) {
#if WARPLOOM_WATCHDOG
  void* memory = nullptr;
  void* seen_by_gpu = nullptr;
  cudaError_t error = cudaHostAlloc(&memory, sizeof(StuckWaits), cudaHostAllocMapped | cudaHostAllocPortable);
  if (error != cudaSuccess) return Error{std::string("watchdog: cudaHostAlloc: ") + cudaGetErrorString(error)};
  Watchdog watchdog(new (memory) StuckWaits{});
  error = cudaHostGetDevicePointer(&seen_by_gpu, memory, 0);
  if (error == cudaSuccess)
    error = cudaMemcpyToSymbol(arch::detail::watchdog_memory, &seen_by_gpu, sizeof(seen_by_gpu));
  if (error == cudaSuccess) error = cudaMemcpyToSymbol(arch::detail::watchdog_limit, &limit_ns, sizeof(limit_ns));
  if (error != cudaSuccess) return Error{std::string("watchdog: ") + cudaGetErrorString(error)};
  return Result<Watchdog>(std::move(watchdog));
#else
  return Watchdog();
#endif
}

}  // namespace warploom::gpu
