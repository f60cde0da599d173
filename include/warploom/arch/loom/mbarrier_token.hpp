// The loom side of arch/mbarrier_token.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN MbarrierToken mbarrier_arrive_token(SharedAddress barrier, uint32_t count) noexcept {
  return {native::mbarrier_arrive_token(barrier.value, count, false)};
}
WARPLOOM_FN MbarrierToken mbarrier_arrive_no_complete(SharedAddress barrier, uint32_t count) noexcept {
  return {native::mbarrier_arrive_token(barrier.value, count, true)};
}
WARPLOOM_FN uint32_t mbarrier_pending_count(MbarrierToken token) noexcept {
  return native::mbarrier_pending_count(token.state);
}
WARPLOOM_FN bool mbarrier_test_token(SharedAddress barrier, MbarrierToken token) noexcept {
  return native::mbarrier_test_token(barrier.value, token.state);
}
WARPLOOM_FN void mbarrier_wait_token(SharedAddress barrier, MbarrierToken token) noexcept {
  native::mbarrier_wait_token(barrier.value, token.state);
}
WARPLOOM_FN void mbarrier_arrive_drop_expect_tx(SharedAddress barrier, uint32_t bytes) noexcept {
  native::mbarrier_arrive_drop_expect_tx(barrier.value, bytes);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
