// Cluster launch control, for the end of a cluster.
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom::isa {

/// True and a finding when a cluster was canceled and nobody asked which.
bool lost_work(Cluster& cluster);

}  // namespace warploom::loom::isa
