// What a cluster that stands still waits for, for its report.
#pragma once

#include <string>
#include <vector>

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

/// Everyone who waits, and why; first who tells most about the cause.
std::vector<Waiter> waiters_of(const Cluster& cluster);

}  // namespace warploom::loom
