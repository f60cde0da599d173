// From a problem to the kernel's parameter block.
#pragma once

#include "warploom/kernels/blockwise_fp8_params.hpp"
#include "warploom/kernels/blockwise_fp8_problem.hpp"

namespace warploom {

/// Box sizes that follow from a configuration's tile types.
struct BlockwiseFP8Boxes {
  uint32_t a_rows, b_rows, tile_rows, strip_columns;
};

using EncodeTensorMap = Result<TensorMap> (*)(const TensorMapArgs& args);

Result<BlockwiseFP8Params> make_params(const BlockwiseFP8Problem& problem, const BlockwiseFP8Boxes& boxes,
                                       EncodeTensorMap encode);

}  // namespace warploom
