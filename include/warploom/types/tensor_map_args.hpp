// What the host makes a tensor map from. Apart from the map itself, because device code has no use for it, and files
// of kernels compile sooner without what it includes.
#pragma once

#include <array>
#include <optional>

#include "warploom/types/tensor_map.hpp"

namespace warploom {

/// What cuTensorMapEncodeIm2col takes in place of a box. The tensor has the dimensions channels, width{, height{,
/// depth}} and images; corners are ordered {width, height, depth} (hardware.md §2.11).
struct Im2colWindow {
  std::array<int32_t, 3> lower{}, upper{};
  uint32_t channels = 1;  ///< per pixel
  uint32_t pixels = 1;    ///< per column of the result
  friend constexpr bool operator==(const Im2colWindow&, const Im2colWindow&) = default;
};

/// The arguments of cuTensorMapEncodeTiled, dimension 0 innermost. `strides[i]` is in bytes, of dimension i + 1.
struct TensorMapArgs {
  TmaType type = TmaType::u8;
  uint32_t rank = 2;
  const void* address = nullptr;
  std::array<uint64_t, 5> dims{1, 1, 1, 1, 1};
  std::array<uint64_t, 4> strides{16, 16, 16, 16};
  std::array<uint32_t, 5> box{1, 1, 1, 1, 1};
  std::array<uint32_t, 5> element_strides{1, 1, 1, 1, 1};
  uint8_t interleave = 0;
  Swizzle swizzle = Swizzle::none;
  uint8_t l2_promotion = 0;
  TmaFill fill = TmaFill::zeros;
  /// Makes it cuTensorMapEncodeIm2col: `box` is not looked at.
  std::optional<Im2colWindow> im2col = {};
};

}  // namespace warploom
