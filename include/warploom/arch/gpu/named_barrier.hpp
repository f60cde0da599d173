// The GPU side of arch/named_barrier.hpp.
#pragma once

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN void bar_sync(uint32_t id, uint32_t threads) noexcept {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
WARPLOOM_FN void bar_arrive(uint32_t id, uint32_t threads) noexcept {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
WARPLOOM_FN void syncthreads() noexcept { __syncthreads(); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
