// mbarrier tokens and the rarer arrivals (hardware.md §1.2). A token names the phase its arrival belonged to, so that a
// waiter needs no count of phases of its own. Barriers of this CTA only.
//
//   const MbarrierToken mine = mbarrier_arrive_token(done);
//   mbarrier_wait_token(done, mine);
#pragma once

#include "warploom/arch/mbarrier.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// Its bits are the machine's own.
struct MbarrierToken {
  uint64_t state;
};

/// mbarrier.arrive.release.cta.shared::cta.b64 state, [a], count
WARPLOOM_FN MbarrierToken mbarrier_arrive_token(SharedAddress barrier, uint32_t count = 1) noexcept;
/// mbarrier.arrive.noComplete.release.cta.shared::cta.b64: must not be the arrival that completes the phase
WARPLOOM_FN MbarrierToken mbarrier_arrive_no_complete(SharedAddress barrier, uint32_t count) noexcept;
/// mbarrier.pending_count: arrivals that were missing before the noComplete arrival that gave the token
WARPLOOM_FN uint32_t mbarrier_pending_count(MbarrierToken token) noexcept;

/// mbarrier.test_wait.acquire.cta: has the token's phase completed? It must be the current phase or the one before.
WARPLOOM_FN bool mbarrier_test_token(SharedAddress barrier, MbarrierToken token) noexcept;
/// mbarrier.try_wait.acquire.cta in a loop
WARPLOOM_FN void mbarrier_wait_token(SharedAddress barrier, MbarrierToken token) noexcept;

/// mbarrier.arrive_drop.expect_tx.release.cta.shared::cluster: announces `bytes`, then leaves the barrier; any CTA's
WARPLOOM_FN void mbarrier_arrive_drop_expect_tx(SharedAddress barrier, uint32_t bytes) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/mbarrier_token.hpp"
#else
#include "warploom/arch/loom/mbarrier_token.hpp"
#endif
