// mbarrier: the 8-byte arrival barrier in shared memory (hardware.md §1).
//
// A wait names how many phases must have completed, `phases`, not a parity: hardware is handed the parity that follows
// from it, (phases + 1) & 1, and the loom also checks that the phase which satisfied the parity is the one meant.
// Waiting for 0 phases passes on a fresh barrier: that is how a producer starts.
#pragma once

#include "warploom/arch/shared.hpp"
#if WARPLOOM_INSTRUMENTED
#include "warploom/arch/gpu/barrier_notes.hpp"
#endif

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// The object in shared memory. Its bits are the machine's own; only the functions below touch them. An instrumented
/// build keeps its notes beside them, so nobody counts on 8 bytes.
struct alignas(8) Mbarrier {
  uint64_t opaque;
  WARPLOOM_INSTRUMENT(detail::BarrierNotes notes;)
};

constexpr uint32_t mbarrier_max_count = (1u << 20) - 1;

/// How far an arrive or wait orders ordinary memory accesses. `cluster` costs memory barriers on the GPU; it is needed
/// only where threads' reads and writes, st.async among them, pass between CTAs. What TMA and the tensor core write
/// needs no more than `cta`.
enum class Scope { cta, cluster };

WARPLOOM_FN void mbarrier_init(SharedAddress barrier, uint32_t count) noexcept;
WARPLOOM_FN void mbarrier_invalidate(SharedAddress barrier) noexcept;
/// fence.mbarrier_init.release.cluster: publishes this thread's inits to the cluster and to the async proxy
WARPLOOM_FN void fence_mbarrier_init() noexcept;

/// mbarrier.arrive.release.{cta,cluster}.shared::cluster: `count` arrivals on a barrier of any CTA of the cluster
template <Scope scope = Scope::cta>
WARPLOOM_FN void mbarrier_arrive(SharedAddress barrier, uint32_t count = 1) noexcept;
/// mbarrier.arrive.expect_tx.release.cta.shared::cluster: announces `bytes`, then arrives once
WARPLOOM_FN void mbarrier_arrive_expect_tx(SharedAddress barrier, uint32_t bytes) noexcept;
/// mbarrier.expect_tx.relaxed.cluster: announces `bytes` without arriving
WARPLOOM_FN void mbarrier_expect_tx(SharedAddress barrier, uint32_t bytes) noexcept;
/// mbarrier.complete_tx.relaxed.cluster: the software stand-in for what TMA does
WARPLOOM_FN void mbarrier_complete_tx(SharedAddress barrier, uint32_t bytes) noexcept;
/// mbarrier.arrive_drop.release.cta.shared::cluster: leaves the barrier for this and all later phases
WARPLOOM_FN void mbarrier_arrive_drop(SharedAddress barrier, uint32_t count = 1) noexcept;

/// mbarrier.try_wait.parity.acquire in a loop: returns once `phases` phases have completed. Local barriers only.
/// `before_wgmma`: a whole warp executes it, and until its next operation of another kind only its wgmmas read what the
/// barrier guards. The loom's lanes then need not wait there one by one.
template <Scope scope = Scope::cta, bool before_wgmma = false>
WARPLOOM_FN void mbarrier_wait(SharedAddress barrier, uint32_t phases) noexcept;
/// The same by parity: returns once the phase under way is not of this parity, 0 or 1. For kernels that keep a bit and
/// turn it round instead of counting; a thread that has fallen two phases behind is misled (hardware.md §1.3).
template <Scope scope = Scope::cta, bool before_wgmma = false>
WARPLOOM_FN void mbarrier_wait_parity(SharedAddress barrier, uint32_t parity) noexcept;
/// One mbarrier.test_wait.parity: has the phase completed?
template <Scope scope = Scope::cta>
WARPLOOM_FN bool mbarrier_test(SharedAddress barrier, uint32_t phases) noexcept;
template <Scope scope = Scope::cta>
WARPLOOM_FN bool mbarrier_test_parity(SharedAddress barrier, uint32_t parity) noexcept;
/// The same as a hint, which may spare a wait and decides nothing else: `Ready ready = mbarrier_poll(b, n); ...
/// mbarrier_wait_unless(ready, b, n)`. Whoever relies on the phase does so from the second on, which is as good as a
/// wait: the barrier must not have moved on. The answer cannot be looked at: what a program does must not depend on how
/// fast it is. Ready{}: nobody asked.
class Ready;
template <Scope scope = Scope::cta>
WARPLOOM_FN Ready mbarrier_poll(SharedAddress barrier, uint32_t phases) noexcept;
template <Scope scope = Scope::cta>
WARPLOOM_FN void mbarrier_wait_unless(Ready ready, SharedAddress barrier, uint32_t phases) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/mbarrier.hpp"
#else
#include "warploom/arch/loom/mbarrier.hpp"
#endif
