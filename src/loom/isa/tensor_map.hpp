// Tensor maps as copies use them.
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom::isa {

/// What a copy through this map does; reports one that cannot be used.
TensorMapArgs usable_map(Thread& thread, Pc pc, const TensorMap& map);

}  // namespace warploom::loom::isa
