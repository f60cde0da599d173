// One field of the loom's 128 bytes changed, as tensormap.replace does. Rules are checked when the map is used.
#pragma once

#include "loom/units/tma.hpp"

namespace warploom::loom {

/// False where the bytes are no tensor map. `which`: dimension, or stride counted from 0.
bool replace_field(TensorMap& map, TensorMapField field, uint32_t which, uint64_t value);

}  // namespace warploom::loom
