// One field of the loom's 128 bytes changed, as tensormap.replace does. Rules are checked when the map is used. Zeros
// are a map without any field: kernels that make one from nothing begin with them.
#pragma once

#include "loom/units/tma.hpp"

namespace warploom::loom {

/// False where the bytes are neither a tensor map nor zeros. `which`: dimension, or stride counted from 0.
bool replace_field(TensorMap& map, TensorMapField field, uint32_t which, uint64_t value);

}  // namespace warploom::loom
