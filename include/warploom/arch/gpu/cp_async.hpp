// The GPU side of arch/cp_async.hpp. By hand: `cuda::ptx` has no cp.async, and its arrive hands a 32-bit window address
// to an instruction without .shared.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

// cp.async.cg.shared.global [d], [s], 16, source_bytes
// cp.async.ca.shared.global [d], [s], {4, 8}, source_bytes
// 16 bytes go past L1, which keeps nothing that is read once; the smaller sizes exist with .ca only.
template <int bytes>
WARPLOOM_FN void cp_async(SharedAddress destination, const void* source, uint32_t source_bytes) noexcept {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "warploom: cp.async copies 4, 8 or 16 bytes");
  const size_t global = __cvta_generic_to_global(source);
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination.value), "l"(global),
                 "r"(source_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(destination.value), "l"(global), "n"(bytes),
                 "r"(source_bytes)
                 : "memory");
  }
}
// cp.async.mbarrier.arrive.noinc.shared::cta.b64 [a]
WARPLOOM_FN void cp_async_mbarrier_arrive_noinc(SharedAddress barrier) noexcept {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier.value) : "memory");
}
// cp.async.mbarrier.arrive.shared::cta.b64 [a]
WARPLOOM_FN void cp_async_mbarrier_arrive(SharedAddress barrier) noexcept {
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(barrier.value) : "memory");
}
// cp.async.commit_group
WARPLOOM_FN void cp_async_commit_group() noexcept { asm volatile("cp.async.commit_group;" ::: "memory"); }
// cp.async.wait_group n
template <int pending>
WARPLOOM_FN void cp_async_wait_group() noexcept {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
