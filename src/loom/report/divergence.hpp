// Lanes that wait for others of their warp which never come.
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

/// Threads that meet are parked like all others, to whoever looks for the reason of a standstill.
void note_meetings(Cluster& cluster);
/// True and a finding when lanes of the warp wait in a collective that others of its mask can no longer join. At a
/// standstill also those count that wait elsewhere, for the lanes that wait here.
bool stranded(Warp& warp, bool standstill);
bool any_stranded(Cluster& cluster);

}  // namespace warploom::loom
