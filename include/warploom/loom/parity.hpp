// mbarrier waits that name a parity and no phase, as mbarrier.try_wait.parity does: for kernels whose source is not
// ours to change (translated PTX), and for those that keep a parity bit. Part of the native front end (native.hpp).
//
//   native::mbarrier_wait_parity(full, parity);   // until the phase under way, or the one before, has this parity and
//   parity ^= 1;                                  // is complete
//
// Which phase is meant is decided when the thread is really there: behind all that it has posted, and behind the point
// at which others may run. A thread that is two phases behind passes, or waits, as on the hardware; under the checker
// that is PHASE-AMBIG.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::loom::native {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

/// In the place of the phases of a posted wait: a parity.
inline constexpr uint64_t posted_parity = uint64_t{1} << 63;

void mbarrier_wait_parity(uint32_t barrier, uint32_t parity) noexcept;
/// Of scope cluster: what threads of other CTAs did before they arrived with that scope is seen.
void mbarrier_wait_parity_cluster(uint32_t barrier, uint32_t parity) noexcept;
bool mbarrier_test_parity(uint32_t barrier, uint32_t parity, bool cluster_scope) noexcept;

void post_parity_wait(uint32_t barrier, uint32_t parity) noexcept;
/// By a whole warp, which until its next operation of another kind only issues wgmmas: lanes need not wait.
WARPLOOM_FN void mbarrier_wait_parity_before_wgmma(uint32_t barrier, uint32_t parity) noexcept {
  Script& s = script;
  if (s.next == s.end || s.next->kind != PostedKind::phase || s.next->a_descriptor != barrier ||
      s.next->b_descriptor != (posted_parity | parity)) [[unlikely]]
    return post_parity_wait(barrier, parity);
  ++s.next;
}

#pragma GCC visibility pop
}  // namespace warploom::loom::native
