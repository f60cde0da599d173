// The narrow element types beside e4m3 and e5m2 (hardware.md §7), the types of scale factors, and the list of all types
// that a tensor core multiplies. Like dtype.hpp: bits and nothing else; types/convert_narrow.hpp converts on the host,
// arch/convert.hpp on the device.
//
//   to_float(e2m1{7})                          6
//   bits_of(MmaType::e2m3)                     6
//   MmaOperand<e2m1>::code                     5, in an instruction descriptor of kind f8f6f4
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom {

/// 6 bits: s1 e2 m3, bias 1, at most 7.5; no infinity, no NaN.
struct e2m3 {
  uint8_t bits = 0;
  friend constexpr bool operator==(e2m3, e2m3) = default;
};
/// 6 bits: s1 e3 m2, bias 3, at most 28; no infinity, no NaN.
struct e3m2 {
  uint8_t bits = 0;
  friend constexpr bool operator==(e3m2, e3m2) = default;
};
/// 4 bits: s1 e2 m1, bias 1: 0, 0.5, 1, 1.5, 2, 3, 4, 6.
struct e2m1 {
  uint8_t bits = 0;
  friend constexpr bool operator==(e2m1, e2m1) = default;
};
/// A scale factor, 2^(bits - 127); 0xff is NaN. No sign, no zero.
struct ue8m0 {
  uint8_t bits = 0;
  friend constexpr bool operator==(ue8m0, ue8m0) = default;
};
/// A scale factor: e4m3 without its sign; the top bit of the byte is ignored, 0x7f is NaN.
struct ue4m3 {
  uint8_t bits = 0;
  friend constexpr bool operator==(ue4m3, ue4m3) = default;
};

/// How a conversion rounds, and what overflow becomes.
enum class Overflow : uint8_t { saturate, special };  ///< .satfinite, or to infinity or NaN
enum class Rounding : uint8_t { nearest_even, nearest_away, toward_zero };
enum class ScaleRounding : uint8_t { toward_zero, up };

/// What an element of A or B of tcgen05.mma may be.
enum class MmaType : uint8_t { e4m3, e5m2, e2m3, e3m2, e2m1, f16, bf16, tf32, u8, s8 };

WARPLOOM_CONST_FN uint32_t bits_of(MmaType type) {
  switch (type) {
    case MmaType::e2m1: return 4;
    case MmaType::e2m3:
    case MmaType::e3m2: return 6;
    case MmaType::f16:
    case MmaType::bf16: return 16;
    case MmaType::tf32: return 32;
    default: return 8;
  }
}

WARPLOOM_CONST_FN const char* name_of(MmaType type) {
  switch (type) {
    case MmaType::e4m3: return "e4m3";
    case MmaType::e5m2: return "e5m2";
    case MmaType::e2m3: return "e2m3";
    case MmaType::e3m2: return "e3m2";
    case MmaType::e2m1: return "e2m1";
    case MmaType::f16: return "f16";
    case MmaType::bf16: return "bf16";
    case MmaType::tf32: return "tf32";
    case MmaType::u8: return "u8";
    case MmaType::s8: return "s8";
  }
  return "?";
}

/// The scale factors of a block-scaled product, as bit 23 of its instruction descriptor numbers them.
enum class ScaleType : uint8_t { ue4m3, ue8m0 };

/// How many scale factors per row one block-scaled instruction takes: .scale_vec::1X, 2X, 4X (§4.11).
enum class ScaleVector : uint8_t { x1 = 1, x2 = 2, x4 = 4 };

}  // namespace warploom
