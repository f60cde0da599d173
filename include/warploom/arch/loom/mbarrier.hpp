// The loom side of arch/mbarrier.hpp.
#pragma once

#include "warploom/loom/native.hpp"
#include "warploom/loom/parity.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN void mbarrier_init(SharedAddress barrier, uint32_t count) noexcept {
  native::mbarrier_init(barrier.value, count);
}
WARPLOOM_FN void mbarrier_invalidate(SharedAddress barrier) noexcept { native::mbarrier_invalidate(barrier.value); }
WARPLOOM_FN void fence_mbarrier_init() noexcept { native::fence_mbarrier_init(); }
template <Scope scope>
WARPLOOM_FN void mbarrier_arrive(SharedAddress barrier, uint32_t count) noexcept {
  native::mbarrier_arrive(barrier.value, count, scope == Scope::cluster);
}
WARPLOOM_FN void mbarrier_arrive_expect_tx(SharedAddress barrier, uint32_t bytes) noexcept {
  native::mbarrier_arrive_expect_tx(barrier.value, bytes);
}
WARPLOOM_FN void mbarrier_expect_tx(SharedAddress barrier, uint32_t bytes) noexcept {
  native::mbarrier_expect_tx(barrier.value, bytes);
}
WARPLOOM_FN void mbarrier_complete_tx(SharedAddress barrier, uint32_t bytes) noexcept {
  native::mbarrier_complete_tx(barrier.value, bytes);
}
WARPLOOM_FN void mbarrier_arrive_drop(SharedAddress barrier, uint32_t count) noexcept {
  native::mbarrier_arrive_drop(barrier.value, count);
}
template <Scope scope, bool before_wgmma>
WARPLOOM_FN void mbarrier_wait(SharedAddress barrier, uint32_t phases) noexcept {
  if constexpr (scope == Scope::cluster)
    native::mbarrier_wait_cluster(barrier.value, phases);
  else if constexpr (before_wgmma)
    native::mbarrier_wait_before_wgmma(barrier.value, phases);
  else
    native::mbarrier_wait(barrier.value, phases);
}
template <Scope scope, bool before_wgmma>
WARPLOOM_FN void mbarrier_wait_parity(SharedAddress barrier, uint32_t parity) noexcept {
  if constexpr (scope == Scope::cluster)
    native::mbarrier_wait_parity_cluster(barrier.value, parity);
  else if constexpr (before_wgmma)
    native::mbarrier_wait_parity_before_wgmma(barrier.value, parity);
  else
    native::mbarrier_wait_parity(barrier.value, parity);
}
template <Scope scope>
WARPLOOM_FN bool mbarrier_test_parity(SharedAddress barrier, uint32_t parity) noexcept {
  return native::mbarrier_test_parity(barrier.value, parity, scope == Scope::cluster);
}
template <Scope scope>
WARPLOOM_FN bool mbarrier_test(SharedAddress barrier, uint32_t phases) noexcept {
  return native::mbarrier_test(barrier.value, phases, scope == Scope::cluster);
}
/// What was asked, in place of the answer: the loom waits in any case, and reports a wait that goes by another poll.
class Ready {
 public:
  Ready() = default;

 private:
  explicit Ready(const native::Poll& poll) noexcept : poll_(poll) {}
  template <Scope scope>
  friend Ready mbarrier_poll(SharedAddress barrier, uint32_t phases) noexcept;
  template <Scope scope>
  friend void mbarrier_wait_unless(Ready ready, SharedAddress barrier, uint32_t phases) noexcept;

  native::Poll poll_;
};
template <Scope scope>
WARPLOOM_FN Ready mbarrier_poll(SharedAddress barrier, uint32_t phases) noexcept {
  return Ready(native::mbarrier_poll(barrier.value, phases, scope == Scope::cluster));
}
template <Scope scope>
WARPLOOM_FN void mbarrier_wait_unless(Ready ready, SharedAddress barrier, uint32_t phases) noexcept {
  native::mbarrier_wait_unless(ready.poll_, barrier.value, phases, scope == Scope::cluster);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
