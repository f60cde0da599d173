// activemask, for the scheduler: it is answered when nothing else can run.
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

/// Answers those that ask for it, where there are any.
bool answer_active_masks(Cluster& cluster);

}  // namespace warploom::loom
