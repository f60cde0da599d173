// The GPU side of arch/atomic.hpp.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

// atom.ORDER.SCOPE.global.add.u32 old, [counter], value (cuda::ptx has no atom)
#define WARPLOOM_ATOM_ADD(order, scope)                                \
  asm volatile("atom." order "." scope ".global.add.u32 %0, [%1], %2;" \
               : "=r"(old)                                             \
               : "l"(__cvta_generic_to_global(counter)), "r"(value)    \
               : "memory")
#define WARPLOOM_ATOM_ADD_AT(order)                 \
  if constexpr (scope == MemoryScope::cta)          \
    WARPLOOM_ATOM_ADD(order, "cta");                \
  else if constexpr (scope == MemoryScope::cluster) \
    WARPLOOM_ATOM_ADD(order, "cluster");            \
  else                                              \
    WARPLOOM_ATOM_ADD(order, "gpu")

template <MemoryOrder order, MemoryScope scope>
WARPLOOM_FN uint32_t fetch_add_global(uint32_t* counter, uint32_t value) noexcept {
  uint32_t old;
  if constexpr (order == MemoryOrder::relaxed) {
    WARPLOOM_ATOM_ADD_AT("relaxed");
  } else if constexpr (order == MemoryOrder::acquire) {
    WARPLOOM_ATOM_ADD_AT("acquire");
  } else if constexpr (order == MemoryOrder::release) {
    WARPLOOM_ATOM_ADD_AT("release");
  } else {
    WARPLOOM_ATOM_ADD_AT("acq_rel");
  }
  return old;
}
#undef WARPLOOM_ATOM_ADD_AT
#undef WARPLOOM_ATOM_ADD
WARPLOOM_FN void fence_gpu() noexcept { ::cuda::ptx::fence(::cuda::ptx::sem_acq_rel, ::cuda::ptx::scope_gpu); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
