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
// bar.red.popc.u32 d, id, threads, p
WARPLOOM_FN uint32_t bar_count(uint32_t id, uint32_t threads, bool predicate) noexcept {
  uint32_t count;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; bar.red.popc.u32 %0, %1, %2, p; }"
               : "=r"(count)
               : "r"(id), "r"(threads), "r"(static_cast<uint32_t>(predicate))
               : "memory");
  return count;
}
// bar.red.and.pred q, id, threads, p
WARPLOOM_FN bool bar_all(uint32_t id, uint32_t threads, bool predicate) noexcept {
  uint32_t all;
  asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %3, 0; bar.red.and.pred q, %1, %2, p; selp.u32 %0, 1, 0, q; }"
               : "=r"(all)
               : "r"(id), "r"(threads), "r"(static_cast<uint32_t>(predicate))
               : "memory");
  return all != 0;
}
// bar.red.or.pred q, id, threads, p
WARPLOOM_FN bool bar_any(uint32_t id, uint32_t threads, bool predicate) noexcept {
  uint32_t any;
  asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %3, 0; bar.red.or.pred q, %1, %2, p; selp.u32 %0, 1, 0, q; }"
               : "=r"(any)
               : "r"(id), "r"(threads), "r"(static_cast<uint32_t>(predicate))
               : "memory");
  return any != 0;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
