// The GPU side of arch/atomic.hpp.
#pragma once

#include <cuda/ptx>

namespace warploom::inline WARPLOOM_MACHINE::arch {

// atom.acq_rel.gpu.global.add.u32 old, [counter], value (cuda::ptx has no atom)
WARPLOOM_FN uint32_t fetch_add_global(uint32_t* counter, uint32_t value) noexcept {
  uint32_t old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "l"(__cvta_generic_to_global(counter)), "r"(value)
               : "memory");
  return old;
}
WARPLOOM_FN void fence_gpu() noexcept { ::cuda::ptx::fence(::cuda::ptx::sem_acq_rel, ::cuda::ptx::scope_gpu); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
