// Who should have arrived at a barrier and has not.
#pragma once

#include <string>
#include <vector>

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

/// Warps from which the missing arrivals of a barrier should come.
std::vector<const Warp*> suppliers(const Cluster& cluster, const Barrier& barrier);
/// Adds to the causes of a wait what its phase lacks.
void missing_bytes(const Cluster& cluster, Waiter& waiter, const Barrier& barrier);
void missing_arrivals(const Cluster& cluster, Waiter& waiter, const Barrier& barrier);

}  // namespace warploom::loom
