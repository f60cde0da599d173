// Grids that depend on each other, for every access to global memory and for the launch.
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom::isa {

/// Reports an access to memory that a grid before this one still works on.
void check_unfinished(Thread& thread, Pc pc, const void* begin, const void* end, bool write);
/// Every CTA of it lets dependents start (by a trigger, or by its end) while earlier grids may still run.
bool passes_early(const Cluster& cluster);

}  // namespace warploom::loom::isa
