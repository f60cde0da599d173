// The GPU side of arch/mbarrier.hpp. Every arrive is the shared::cluster form: it reaches a barrier of any CTA, and a
// local address is one of them, since it carries the CTA's own rank. What stands in WARPLOOM_INSTRUMENT is compiled
// into instrumented builds alone (docs/instrumentation.md).
#pragma once

#include "warploom/arch/gpu/ptx.hpp"
#if WARPLOOM_WATCHDOG
#include "warploom/arch/gpu/watchdog.hpp"
#endif
#if WARPLOOM_TRACE
#include "warploom/arch/gpu/trace.hpp"
#endif

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace detail {
template <Scope scope>
inline constexpr auto scope_tag = [] {
  if constexpr (scope == Scope::cta) {
    return ptx::scope_cta;
  } else {
    return ptx::scope_cluster;
  }
}();

#if WARPLOOM_INSTRUMENTED
static_assert(sizeof(Mbarrier) == notes_offset + sizeof(BarrierNotes), "the notes follow the hardware's word");

/// What an instrumented wait does besides waiting.
class WaitNotes {
 public:
  WARPLOOM_FN void still_waiting([[maybe_unused]] SharedAddress barrier, [[maybe_unused]] uint32_t phases) noexcept {
#if WARPLOOM_WATCHDOG
    watch_.still_waiting(barrier, phases);
#endif
  }
  WARPLOOM_FN void passed(SharedAddress barrier, uint32_t phases) noexcept {
    note_passed(barrier, phases);
#if WARPLOOM_TRACE
    trace_.passed(barrier, phases);
#endif
  }

 private:
#if WARPLOOM_WATCHDOG
  WaitWatch watch_;
#endif
#if WARPLOOM_TRACE
  WaitTrace trace_;
#endif
};
#endif

/// `phases` phases are complete exactly when this parity's wait passes (hardware.md §1.3).
WARPLOOM_FN uint32_t wait_parity(uint32_t phases) noexcept { return (phases + 1) & 1; }
}  // namespace detail

// mbarrier.init.shared.b64 [a], count
WARPLOOM_FN void mbarrier_init(SharedAddress barrier, uint32_t count) noexcept {
  detail::ptx::mbarrier_init(detail::generic_pointer<uint64_t>(barrier), count);
  WARPLOOM_INSTRUMENT(detail::note_init(barrier, count);)
}
// mbarrier.inval.shared::cta.b64 [a]
WARPLOOM_FN void mbarrier_invalidate(SharedAddress barrier) noexcept {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier.value) : "memory");
}
WARPLOOM_FN void fence_mbarrier_init() noexcept {
  detail::ptx::fence_mbarrier_init(detail::ptx::sem_release, detail::ptx::scope_cluster);
}
// mbarrier.arrive.release.{cta,cluster}.shared::cluster.b64 _, [a], count
// The cluster scope is not free: ptxas puts a GPU-wide memory barrier before it.
template <Scope scope>
WARPLOOM_FN void mbarrier_arrive(SharedAddress barrier, uint32_t count) noexcept {
  WARPLOOM_INSTRUMENT(detail::note_arrival(barrier, count);)
  if constexpr (scope == Scope::cta) {
    asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier.value), "r"(count)
                 : "memory");
  } else {
    detail::ptx::mbarrier_arrive(detail::ptx::sem_release, detail::ptx::scope_cluster, detail::ptx::space_cluster,
                                 detail::generic_pointer<uint64_t>(barrier), count);
  }
}
// mbarrier.arrive.expect_tx.release.cta.shared::cluster.b64 _, [a], bytes
WARPLOOM_FN void mbarrier_arrive_expect_tx(SharedAddress barrier, uint32_t bytes) noexcept {
  WARPLOOM_INSTRUMENT(detail::note_arrival(barrier, 1);)
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier.value), "r"(bytes)
               : "memory");
}
// mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [a], bytes
WARPLOOM_FN void mbarrier_expect_tx(SharedAddress barrier, uint32_t bytes) noexcept {
  detail::ptx::mbarrier_expect_tx(detail::ptx::sem_relaxed, detail::ptx::scope_cluster, detail::ptx::space_cluster,
                                  detail::generic_pointer<uint64_t>(barrier), bytes);
}
// mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [a], bytes
WARPLOOM_FN void mbarrier_complete_tx(SharedAddress barrier, uint32_t bytes) noexcept {
  asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(barrier.value), "r"(bytes)
               : "memory");
}
// mbarrier.arrive_drop.release.cta.shared::cluster.b64 _, [a], count
WARPLOOM_FN void mbarrier_arrive_drop(SharedAddress barrier, uint32_t count) noexcept {
  WARPLOOM_INSTRUMENT(detail::note_drop(barrier, count);)
  asm volatile("mbarrier.arrive_drop.release.cta.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier.value), "r"(count)
               : "memory");
}
namespace detail {
template <Scope scope>
WARPLOOM_FN void wait_for_parity(SharedAddress barrier, uint32_t parity, [[maybe_unused]] uint32_t phases) noexcept {
  // One try may sleep this many nanoseconds: 10 ms, or 1 ms where a watchdog looks at the time in between.
  constexpr uint32_t suspend_time_hint = WARPLOOM_WATCHDOG ? 1'000'000 : 0x989680;
  WARPLOOM_INSTRUMENT(WaitNotes notes;)
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, scope_tag<scope>, generic_pointer<uint64_t>(barrier), parity,
                                        suspend_time_hint)) {
    WARPLOOM_INSTRUMENT(notes.still_waiting(barrier, phases);)
  }
  WARPLOOM_INSTRUMENT(notes.passed(barrier, phases);)
}
template <Scope scope>
WARPLOOM_FN bool test_parity(SharedAddress barrier, uint32_t parity) noexcept {
  return ptx::mbarrier_test_wait_parity(ptx::sem_acquire, scope_tag<scope>, generic_pointer<uint64_t>(barrier), parity);
}
}  // namespace detail

// mbarrier.try_wait.parity.acquire.{cta,cluster}.shared::cta.b64 p, [a], parity, hint
template <Scope scope, bool>
WARPLOOM_FN void mbarrier_wait(SharedAddress barrier, uint32_t phases) noexcept {
  detail::wait_for_parity<scope>(barrier, detail::wait_parity(phases), phases);
}
template <Scope scope, bool>
WARPLOOM_FN void mbarrier_wait_parity(SharedAddress barrier, uint32_t parity) noexcept {
  uint32_t phases = 0;
  // The notes count phases: as many as a wait saw last, or one more.
  WARPLOOM_INSTRUMENT(phases = static_cast<uint32_t>(detail::notes_of(barrier).seen >> 32);)
  WARPLOOM_INSTRUMENT(phases += (phases & 1) == parity;)
  detail::wait_for_parity<scope>(barrier, parity, phases);
}
// mbarrier.test_wait.parity.acquire.{cta,cluster}.shared::cta.b64 p, [a], parity
template <Scope scope>
WARPLOOM_FN bool mbarrier_test(SharedAddress barrier, uint32_t phases) noexcept {
  return detail::test_parity<scope>(barrier, detail::wait_parity(phases));
}
template <Scope scope>
WARPLOOM_FN bool mbarrier_test_parity(SharedAddress barrier, uint32_t parity) noexcept {
  return detail::test_parity<scope>(barrier, parity);
}
class Ready {
 public:
  Ready() = default;

 private:
  WARPLOOM_FN explicit Ready(uint32_t yes) noexcept : yes_(yes) {}
  template <Scope scope>
  friend WARPLOOM_FN Ready mbarrier_poll(SharedAddress barrier, uint32_t phases) noexcept;
  template <Scope scope>
  friend WARPLOOM_FN void mbarrier_wait_unless(Ready ready, SharedAddress barrier, uint32_t phases) noexcept;

  uint32_t yes_ = 0;
};
// Not mbarrier_test: nvcc keeps a bool in a class as 0 or 1, and compares right behind the test, where the thread then
// waits for the answer that it asked for early.
template <Scope scope>
WARPLOOM_FN Ready mbarrier_poll(SharedAddress barrier, uint32_t phases) noexcept {
  uint32_t yes;
#define WARPLOOM_TEST_WAIT(scope_name)                                         \
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.acquire." scope_name \
               ".shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"         \
               : "=r"(yes)                                                     \
               : "r"(barrier.value), "r"(detail::wait_parity(phases))          \
               : "memory")
  if constexpr (scope == Scope::cluster)
    WARPLOOM_TEST_WAIT("cluster");
  else
    WARPLOOM_TEST_WAIT("cta");
#undef WARPLOOM_TEST_WAIT
  return Ready(yes);
}
template <Scope scope>
WARPLOOM_FN void mbarrier_wait_unless(Ready ready, SharedAddress barrier, uint32_t phases) noexcept {
  if (ready.yes_ == 0) mbarrier_wait<scope>(barrier, phases);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
