// The TMA load that GEMMs consist of, without the general case around it: a tiled box in two dimensions (or more, of
// extent 1), wholly inside the tensor, nothing converted, rows as long as the swizzle's span.
#pragma once

#include "warploom/types/tensor_map_args.hpp"

namespace warploom::loom {

/// Does what tma_load_box does, or nothing and says false.
bool tma_load_quickly(const TensorMapArgs& map, const int32_t* coordinates, std::byte* window, uint32_t offset);

}  // namespace warploom::loom
