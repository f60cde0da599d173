// A TMA tensor map: 128 bytes that only the machine reads. On the GPU they are the driver's; on the loom our own
// encoding, made from the same arguments (types/tensor_map_args.hpp) under the same rules (hardware.md §2.2).
#pragma once

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
enum class TensorMapField : uint8_t {
  address,
  rank,
  size,
  box,
  stride,
  element_stride,
  type,
  fill,
  swizzle,            ///< as in Swizzle; or, as the instruction set has it, in two parts:
  swizzle_mode,       ///< none, 32, 64 or 128 bytes
  swizzle_atomicity,  ///< of 128 bytes: atoms of 16, 32, 32 with flipped halves, or 64 bytes
  interleave,         ///< none, 16 or 32 bytes
};

/// .elemtype of tensormap.replace numbers the types in another order than the driver (hardware.md §2.2).
constexpr TmaType tma_type_of_elemtype(uint32_t code) {
  constexpr TmaType others[] = {TmaType::f32_ftz, TmaType::f64, TmaType::bf16};
  return code >= 8 && code <= 10 ? others[code - 8] : static_cast<TmaType>(code);
}

}  // namespace warploom
