// What the host hands the blockwise FP8 kernel; the same bytes on both machines.
#pragma once

#include <cstdint>

#include "warploom/types/dtype.hpp"
#include "warploom/types/raster.hpp"
#include "warploom/types/tensor_map.hpp"

namespace warploom {

struct BlockwiseFP8Params {
  TensorMap a, b, a_scales, c, d;
  const float* b_scales;
  bf16* d_data;
  int64_t d_stride;
  int m, n, k;
  float alpha, beta;
  Raster raster;
};

}  // namespace warploom
