// Named barriers, for the end of a warp that others wait for.
#pragma once

#include "loom/state/cta.hpp"

namespace warploom::loom::isa {

/// Have all come that the phase under way waits for?
inline bool all_here(const Cta& cta, const NamedBarrier& barrier) {
  uint32_t exited = barrier.whole ? cta.exited_warps : 0;
  for (const Warp* warp : barrier.members)  // one that has arrived and exited counts once
    if (exited != 0 && warp->exited == warp->lanes.size()) --exited;
  return barrier.arrived + 32 * exited >= barrier.expected;
}
/// A warp arrives, or waits. `whole`: threads that have exited need not come.
void named_barrier(Warp& warp, Pc pc, uint32_t id, uint32_t threads, bool sync, bool whole = false,
                   const BarVote& vote = {});
void complete_named_barrier(Cta& cta, uint32_t id);

}  // namespace warploom::loom::isa
