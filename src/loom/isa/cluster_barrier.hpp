// barrier.cluster, for the end of a thread that others wait for.
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom::isa {

/// Completes the phase under way if all have come.
void cluster_barrier_check(Cluster& cluster);

}  // namespace warploom::loom::isa
