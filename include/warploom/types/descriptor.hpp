// The tensor core's descriptors, bit for bit: shared-memory matrix descriptors (hardware.md §3) and the tcgen05
// instruction descriptor (§4.7). Kernels never see them; warp/mma.hpp builds them from tile types.
#pragma once

#include "warploom/types/dtype.hpp"
#include "warploom/types/narrow.hpp"
#include "warploom/types/swizzle.hpp"
#include "warploom/types/wgmma_types.hpp"

namespace warploom {

enum class Major : uint8_t { k, mn };

struct SmemDescriptor {
  uint64_t bits = 0;
  /// The same operand `bytes` further on: only the start-address field moves (§3.3), in 32-bit arithmetic.
  WARPLOOM_CONST_FN SmemDescriptor advance(uint32_t bytes) const {
    return {bits >> 32 << 32 | (static_cast<uint32_t>(bits) + (bytes >> 4))};
  }
};

struct SmemDescriptorFields {
  uint32_t start = 0;  ///< byte address, 18 bits
  uint32_t leading_byte_offset = 0;
  uint32_t stride_byte_offset = 0;
  uint32_t base_offset = 0;
  Swizzle swizzle = Swizzle::none;
  friend constexpr bool operator==(const SmemDescriptorFields&, const SmemDescriptorFields&) = default;
};

namespace bits {
WARPLOOM_CONST_FN uint64_t encode_offset(uint32_t bytes) { return (bytes & 0x3ffff) >> 4; }
}  // namespace bits

/// The tcgen05 form (sm_100).
WARPLOOM_CONST_FN SmemDescriptor encode_smem_descriptor(const SmemDescriptorFields& f) {
  constexpr uint64_t version = 1;
  uint64_t code = 0;
  switch (f.swizzle) {
    case Swizzle::b128_atom32: code = 1; break;
    case Swizzle::b128: code = 2; break;
    case Swizzle::b64: code = 4; break;
    case Swizzle::b32: code = 6; break;
    default: break;
  }
  return {bits::encode_offset(f.start) | bits::encode_offset(f.leading_byte_offset) << 16 |
          bits::encode_offset(f.stride_byte_offset) << 32 | version << 46 |
          static_cast<uint64_t>(f.base_offset & 7) << 49 | code << 61};
}

/// The wgmma form (sm_90): no version bits, and two bits of swizzle. The swizzles with larger atoms do not exist there;
/// they become bits that are reserved, so that nobody takes such a descriptor for another.
WARPLOOM_CONST_FN SmemDescriptor encode_wgmma_descriptor(const SmemDescriptorFields& f) {
  uint64_t code = 0;
  switch (f.swizzle) {
    case Swizzle::none: break;
    case Swizzle::b128: code = 2; break;
    case Swizzle::b64: code = 4; break;
    case Swizzle::b32: code = 6; break;
    default: code = 1; break;
  }
  return {bits::encode_offset(f.start) | bits::encode_offset(f.leading_byte_offset) << 16 |
          bits::encode_offset(f.stride_byte_offset) << 32 | static_cast<uint64_t>(f.base_offset & 7) << 49 |
          code << 61};
}

/// tcgen05.mma kinds; the last three multiply blocks along K with scale factors (types/block_scaled.hpp).
enum class MmaKind : uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

WARPLOOM_CONST_FN bool block_scaled(MmaKind kind) { return kind >= MmaKind::mxf8f6f4; }

struct InstructionDescriptor {
  uint32_t bits = 0;
};

/// Field values as the hardware numbers them; `accumulator`: 0 f16, 1 f32, 2 s32.
struct InstructionFields {
  uint32_t accumulator = 1;
  uint32_t a_type = 0;
  uint32_t b_type = 0;
  bool negate_a = false;
  bool negate_b = false;
  Major a_major = Major::k;
  Major b_major = Major::k;
  uint32_t m = 128;
  uint32_t n = 128;
  bool saturate = false;
  bool sparse = false;
  uint32_t sparse_id = 0;
  uint32_t max_shift = 0;  ///< 0 none, 1: 8, 2: 16, 3: 32 columns (.ws only)
};

WARPLOOM_CONST_FN InstructionDescriptor encode_instruction(const InstructionFields& f) {
  return {(f.sparse_id & 3) | static_cast<uint32_t>(f.sparse) << 2 | static_cast<uint32_t>(f.saturate) << 3 |
          f.accumulator << 4 | f.a_type << 7 | f.b_type << 10 | static_cast<uint32_t>(f.negate_a) << 13 |
          static_cast<uint32_t>(f.negate_b) << 14 | static_cast<uint32_t>(f.a_major == Major::mn) << 15 |
          static_cast<uint32_t>(f.b_major == Major::mn) << 16 | (f.n >> 3) << 17 | (f.m >> 4) << 24 |
          f.max_shift << 30};
}

WARPLOOM_CONST_FN InstructionFields decode_instruction(InstructionDescriptor d) {
  InstructionFields f;
  f.sparse_id = d.bits & 3;
  f.sparse = (d.bits >> 2 & 1) != 0;
  f.saturate = (d.bits >> 3 & 1) != 0;
  f.accumulator = d.bits >> 4 & 3;
  f.a_type = d.bits >> 7 & 7;
  f.b_type = d.bits >> 10 & 7;
  f.negate_a = (d.bits >> 13 & 1) != 0;
  f.negate_b = (d.bits >> 14 & 1) != 0;
  f.a_major = (d.bits >> 15 & 1) != 0 ? Major::mn : Major::k;
  f.b_major = (d.bits >> 16 & 1) != 0 ? Major::mn : Major::k;
  f.n = (d.bits >> 17 & 63) << 3;
  f.m = (d.bits >> 24 & 31) << 4;
  f.max_shift = d.bits >> 30;
  return f;
}

/// What an operand element type means to tcgen05.mma.
template <class T>
struct MmaOperand;
template <>
struct MmaOperand<e4m3> {
  static constexpr MmaKind kind = MmaKind::f8f6f4;
  static constexpr uint32_t code = 0;
};
template <>
struct MmaOperand<e5m2> {
  static constexpr MmaKind kind = MmaKind::f8f6f4;
  static constexpr uint32_t code = 1;
};
template <>
struct MmaOperand<f16> {
  static constexpr MmaKind kind = MmaKind::f16;
  static constexpr uint32_t code = 0;
};
template <>
struct MmaOperand<bf16> {
  static constexpr MmaKind kind = MmaKind::f16;
  static constexpr uint32_t code = 1;
};

template <>
struct MmaOperand<e2m3> {
  static constexpr MmaKind kind = MmaKind::f8f6f4;
  static constexpr uint32_t code = 3;
};
template <>
struct MmaOperand<e3m2> {
  static constexpr MmaKind kind = MmaKind::f8f6f4;
  static constexpr uint32_t code = 4;
};
template <>
struct MmaOperand<e2m1> {
  static constexpr MmaKind kind = MmaKind::f8f6f4;
  static constexpr uint32_t code = 5;
};
template <>
struct MmaOperand<tf32> {
  static constexpr MmaKind kind = MmaKind::tf32;
  static constexpr uint32_t code = 2;
};
template <>
struct MmaOperand<uint8_t> {
  static constexpr MmaKind kind = MmaKind::i8;
  static constexpr uint32_t code = 0;
};
template <>
struct MmaOperand<int8_t> {
  static constexpr MmaKind kind = MmaKind::i8;
  static constexpr uint32_t code = 1;
};

/// Every tcgen05.mma and every wgmma reads 32 bytes of K per row of A and B.
inline constexpr uint32_t mma_k_bytes = 32;

}  // namespace warploom
