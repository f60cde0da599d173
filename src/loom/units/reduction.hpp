// The arithmetic of bulk reductions, bit for bit as an H200 does it (hardware.md §2.8).
#pragma once

#include <cstddef>
#include <string>

#include "warploom/types/reduction.hpp"
#include "warploom/types/tensor_map.hpp"

namespace warploom::loom {

/// What a reduction through a tensor map of this type works on; "" and the type, or the rule it breaks.
struct TensorReduction {
  std::string broken;
  ReductionType type = ReductionType::u32;
};
TensorReduction tensor_reduction(Reduction operation, TmaType type);

/// destination = destination op source, element by element.
void reduce(Reduction operation, ReductionType type, std::byte* destination, const std::byte* source, size_t bytes);

}  // namespace warploom::loom
