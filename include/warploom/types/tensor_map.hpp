// A TMA tensor map: 128 bytes that only the machine reads. On the GPU they are the driver's; on the loom our own
// encoding, made from the same arguments under the same rules (hardware.md §2.2).
#pragma once

#include <array>
#include <optional>

#include "warploom/types/swizzle.hpp"

namespace warploom {

struct alignas(128) TensorMap {
  uint64_t opaque[16];
};

/// Numbered as CUtensorMapDataType.
enum class TmaType : uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
  u4_align8,
  u4_align16,
  u6_align16
};

enum class TmaFill : uint8_t { zeros, nan };

/// What cuTensorMapEncodeIm2col takes in place of a box. The tensor has the dimensions channels, width{, height{,
/// depth}} and images; corners are ordered {width, height, depth} (hardware.md §2.11).
struct Im2colWindow {
  std::array<int32_t, 3> lower{}, upper{};
  uint32_t channels = 1;  ///< per pixel
  uint32_t pixels = 1;    ///< per column of the result
  friend constexpr bool operator==(const Im2colWindow&, const Im2colWindow&) = default;
};

/// How a tensor copy walks through its map: .tile, .im2col (.im2col_no_offs where it stores), .tile::gather4 and
/// scatter4.
enum class TmaMode : uint8_t { tile, im2col, rows4 };

/// Where a tensor copy starts, innermost coordinate first. Rows4: the column and four rows of a tensor of rank 2.
struct TmaCoordinates {
  uint32_t rank;  ///< of the tensor
  int32_t c[5];
  TmaMode mode = TmaMode::tile;
  uint16_t offsets[3] = {};  ///< of im2col loads: {width, height, depth}
};

/// What tensormap.replace can change (arch/tensor_map_edit.hpp).
enum class TensorMapField : uint8_t { address, rank, size, box, stride, element_stride, type, fill, swizzle };

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
