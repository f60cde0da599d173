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
void complete_named_barrier(Cta& cta, uint32_t id);

}  // namespace warploom::loom::isa
