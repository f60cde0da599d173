// A TMA tensor map: 128 bytes that only the machine reads. On the GPU they are the driver's; on the loom our own
// encoding, made from the same arguments under the same rules (hardware.md §2.2).
#pragma once

#include <array>

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
};

}  // namespace warploom
