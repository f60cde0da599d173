// The GPU side of arch/mbarrier_token.hpp.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

// mbarrier.arrive.release.cta.shared::cta.b64 state, [a], count
WARPLOOM_FN MbarrierToken mbarrier_arrive_token(SharedAddress barrier, uint32_t count) noexcept {
  WARPLOOM_INSTRUMENT(detail::note_arrival(barrier, count);)
  MbarrierToken token;
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], %2;"
               : "=l"(token.state)
               : "r"(barrier.value), "r"(count)
               : "memory");
  return token;
}
// mbarrier.arrive.noComplete.release.cta.shared::cta.b64 state, [a], count
WARPLOOM_FN MbarrierToken mbarrier_arrive_no_complete(SharedAddress barrier, uint32_t count) noexcept {
  WARPLOOM_INSTRUMENT(detail::note_arrival(barrier, count);)
  MbarrierToken token;
  asm volatile("mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %0, [%1], %2;"
               : "=l"(token.state)
               : "r"(barrier.value), "r"(count)
               : "memory");
  return token;
}
// mbarrier.pending_count.b64 count, state
WARPLOOM_FN uint32_t mbarrier_pending_count(MbarrierToken token) noexcept {
  uint32_t count;
  asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(token.state));
  return count;
}
// mbarrier.test_wait.acquire.cta.shared::cta.b64 p, [a], state
WARPLOOM_FN bool mbarrier_test_token(SharedAddress barrier, MbarrierToken token) noexcept {
  return detail::ptx::mbarrier_test_wait(detail::ptx::sem_acquire, detail::ptx::scope_cta,
                                         detail::generic_pointer<uint64_t>(barrier), token.state);
}
// mbarrier.try_wait.acquire.cta.shared::cta.b64 p, [a], state
WARPLOOM_FN void mbarrier_wait_token(SharedAddress barrier, MbarrierToken token) noexcept {
  while (!detail::ptx::mbarrier_try_wait(detail::ptx::sem_acquire, detail::ptx::scope_cta,
                                         detail::generic_pointer<uint64_t>(barrier), token.state)) {
  }
}
// mbarrier.arrive_drop.expect_tx.release.cta.shared::cluster.b64 _, [a], bytes
WARPLOOM_FN void mbarrier_arrive_drop_expect_tx(SharedAddress barrier, uint32_t bytes) noexcept {
  WARPLOOM_INSTRUMENT(detail::note_drop(barrier, 1);)
  asm volatile("mbarrier.arrive_drop.expect_tx.release.cta.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier.value),
               "r"(bytes)
               : "memory");
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
