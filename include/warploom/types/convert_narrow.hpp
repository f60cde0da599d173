// Host conversions of the narrow types, and the forms of PTX `cvt` that types/convert.hpp lacks: other roundings, no
// saturation, relu (hardware.md §7.1). The loom's arch functions are made of these; the bits are the hardware's.
//
//   convert_to<e2m1>(5.1f)                                     nearest even, saturating: 6
//   to_ue8m0(0.7f, ScaleRounding::up, Overflow::saturate)      2^0
#pragma once

#include "warploom/types/convert.hpp"
#include "warploom/types/narrow.hpp"

namespace warploom {

namespace bits {

struct Format {
  int exponent, mantissa, bias;
  uint32_t max_code;  ///< of the largest finite value
};
inline constexpr Format e4m3_format{4, 3, 7, 0x7e}, e5m2_format{5, 2, 15, 0x7b}, e2m3_format{2, 3, 1, 0x1f},
    e3m2_format{3, 2, 3, 0x1f}, e2m1_format{2, 1, 1, 0x7}, f16_format{5, 10, 15, 0x7bff},
    bf16_format{8, 7, 127, 0x7f7f}, tf32_format{8, 10, 127, 0x3fbff};

/// The code of a finite magnitude in a format of unbounded exponent: beyond `max_code` it has overflowed.
constexpr uint32_t round_magnitude(float value, const Format& format, Rounding rounding) {
  const uint32_t word = std::bit_cast<uint32_t>(value) & 0x7fffffff;
  if (word == 0) return 0;
  const uint32_t fraction = word & 0x7fffff;
  const int stored = static_cast<int>(word >> 23);
  const uint64_t significand = stored == 0 ? fraction : fraction | 0x800000;  // times 2^scale
  const int scale = (stored == 0 ? 1 : stored) - 150;
  const int magnitude = static_cast<int>(std::bit_width(significand)) - 1 + scale;  // floor of the binary logarithm
  const int field = magnitude + format.bias < 1 ? 1 : magnitude + format.bias;
  const int shift = field - format.bias - format.mantissa - scale;  // bits below the last place
  uint64_t kept = 0;
  if (shift <= 0) {
    kept = significand << -shift;
  } else if (shift < 40) {
    const uint64_t rest = significand & ((uint64_t{1} << shift) - 1), half = uint64_t{1} << (shift - 1);
    kept = significand >> shift;
    if (rounding == Rounding::nearest_even && (rest > half || (rest == half && (kept & 1) != 0))) ++kept;
    if (rounding == Rounding::nearest_away && rest >= half) ++kept;
  }
  const uint64_t one = uint64_t{1} << format.mantissa;
  return static_cast<uint32_t>(kept < one ? kept : (static_cast<uint64_t>(field) << format.mantissa) + kept - one);
}

constexpr uint32_t sign_of(float value, const Format& format) {
  return (std::bit_cast<uint32_t>(value) >> 31) << (format.exponent + format.mantissa);
}
constexpr bool is_nan(float value) { return (std::bit_cast<uint32_t>(value) & 0x7fffffff) > 0x7f800000; }
constexpr bool is_infinite(float value) { return (std::bit_cast<uint32_t>(value) & 0x7fffffff) == 0x7f800000; }

/// `overflown`: what overflow and infinities become, `nan`: what a NaN becomes.
constexpr uint32_t convert(float value, const Format& format, Rounding rounding, uint32_t overflown, uint32_t nan) {
  if (is_nan(value)) return nan;
  const uint32_t code = is_infinite(value) ? format.max_code + 1 : round_magnitude(value, format, rounding);
  return sign_of(value, format) | (code > format.max_code ? overflown : code);
}

}  // namespace bits

constexpr float to_float(e2m3 value) { return bits::decode_small(value.bits & 0x3fu, 2, 3, 1); }
constexpr float to_float(e3m2 value) { return bits::decode_small(value.bits & 0x3fu, 3, 2, 3); }
constexpr float to_float(e2m1 value) { return bits::decode_small(value.bits & 0xfu, 2, 1, 1); }
constexpr float to_float(ue8m0 value) {
  if (value.bits == 0xff) return std::bit_cast<float>(0x7fffffffu);
  return std::bit_cast<float>(value.bits == 0 ? 0x00400000u : static_cast<uint32_t>(value.bits) << 23);
}
constexpr float to_float(ue4m3 value) { return to_float(e4m3{static_cast<uint8_t>(value.bits & 0x7f)}); }

/// cvt.rn.satfinite.{e4m3,e5m2,e2m3,e3m2,e2m1}x2.f32, one element: nearest even. Types without a NaN make their largest
/// value of one. Overflow::special is the CUDA headers' conversion without saturation: NaN for e4m3, infinity for e5m2.
template <class T>
constexpr T convert_to(float value, Overflow overflow = Overflow::saturate);
template <>
constexpr e4m3 convert_to<e4m3>(float value, Overflow overflow) {
  const uint32_t top = overflow == Overflow::saturate ? 0x7e : 0x7f;
  return {static_cast<uint8_t>(bits::convert(value, bits::e4m3_format, Rounding::nearest_even, top, 0x7f))};
}
template <>
constexpr e5m2 convert_to<e5m2>(float value, Overflow overflow) {
  const uint32_t top = overflow == Overflow::saturate ? 0x7b : 0x7c;
  return {static_cast<uint8_t>(bits::convert(value, bits::e5m2_format, Rounding::nearest_even, top, 0x7f))};
}
template <>
constexpr e2m3 convert_to<e2m3>(float value, Overflow) {
  return {static_cast<uint8_t>(bits::convert(value, bits::e2m3_format, Rounding::nearest_even, 0x1f, 0x1f))};
}
template <>
constexpr e3m2 convert_to<e3m2>(float value, Overflow) {
  return {static_cast<uint8_t>(bits::convert(value, bits::e3m2_format, Rounding::nearest_even, 0x1f, 0x1f))};
}
template <>
constexpr e2m1 convert_to<e2m1>(float value, Overflow) {
  return {static_cast<uint8_t>(bits::convert(value, bits::e2m1_format, Rounding::nearest_even, 0x7, 0x7))};
}
/// The magnitude, as an unsigned scale factor; there is no instruction for it, kernels mask the sign of e4m3.
template <>
constexpr ue4m3 convert_to<ue4m3>(float value, Overflow overflow) {
  return {static_cast<uint8_t>(convert_to<e4m3>(value, overflow).bits & 0x7f)};
}

/// cvt.{rn,rz}{.satfinite}.f16.f32; .satfinite takes overflow and infinities to 65504, and every form a NaN to 0x7fff.
constexpr f16 to_f16(float value, Rounding rounding, Overflow overflow) {
  // Toward zero nothing finite overflows: what lies beyond the largest value is cut down to it.
  const bool cut = rounding == Rounding::toward_zero && !bits::is_infinite(value);
  const uint32_t top = overflow == Overflow::saturate || cut ? 0x7bff : 0x7c00;
  return {static_cast<uint16_t>(bits::convert(value, bits::f16_format, rounding, top, 0x7fff))};
}
constexpr bf16 to_bf16(float value, Rounding rounding, Overflow overflow) {
  const bool cut = rounding == Rounding::toward_zero && !bits::is_infinite(value);
  const uint32_t top = overflow == Overflow::saturate || cut ? 0x7f7f : 0x7f80;
  return {static_cast<uint16_t>(bits::convert(value, bits::bf16_format, rounding, top, 0x7fff))};
}

/// cvt.{rna,rn,rz}.tf32.f32: an f32 whose low 13 bits are zero. A NaN becomes 0x7fffe000, but .rna only clears its low
/// bits, so that one with a payload only there becomes an infinity.
constexpr uint32_t to_tf32(float value, Rounding rounding) {
  if (bits::is_nan(value))
    return rounding == Rounding::nearest_away ? std::bit_cast<uint32_t>(value) & 0xffffe000u : 0x7fffe000u;
  const bool cut = rounding == Rounding::toward_zero && !bits::is_infinite(value);
  return bits::convert(value, bits::tf32_format, rounding, cut ? 0x3fbffu : 0x3fc00u, 0) << 13;
}

/// cvt.{rz,rp}{.satfinite}.ue8m0x2.f32, one element: the exponent, of the value itself or of the next power of two. The
/// sign is ignored, a zero becomes the smallest scale.
constexpr ue8m0 to_ue8m0(float value, ScaleRounding rounding, Overflow overflow) {
  if (bits::is_nan(value)) return {0xff};
  const uint32_t word = std::bit_cast<uint32_t>(value) & 0x7fffffff;
  const auto top = static_cast<uint8_t>(overflow == Overflow::saturate ? 0xfe : 0xff);
  if (bits::is_infinite(value)) return {top};
  uint32_t code = word >> 23;
  // 2^-127, the value of code 0, lies in the middle of the f32 subnormals.
  const bool above = code == 0 ? word > 0x00400000u : (word & 0x7fffff) != 0;
  if (rounding == ScaleRounding::up && above) ++code;
  return {code > 0xfe ? top : static_cast<uint8_t>(code)};
}

}  // namespace warploom
