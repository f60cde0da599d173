// Host conversions of the device types, with the hardware's rounding and saturation (hardware.md §7.1).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "warploom/types/dtype.hpp"

namespace warploom {

constexpr float to_float(bf16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

/// cvt.rn.bf16.f32: nearest even; every NaN becomes 0x7fff
constexpr bf16 to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return {0x7fff};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

namespace bits {

/// A small binary float (sign, `exponent` bits, `mantissa` bits) with subnormals, no infinities considered.
constexpr float decode_small(uint32_t code, int exponent_bits, int mantissa_bits, int bias) {
  const uint32_t mantissa = code & ((1u << mantissa_bits) - 1);
  const uint32_t exponent = code >> mantissa_bits & ((1u << exponent_bits) - 1);
  const bool negative = (code >> (mantissa_bits + exponent_bits) & 1) != 0;
  float value = static_cast<float>(exponent == 0 ? mantissa : mantissa + (1u << mantissa_bits));
  int scale = (exponent == 0 ? 1 : static_cast<int>(exponent)) - bias - mantissa_bits;
  for (; scale > 0; --scale) value *= 2.0f;
  for (; scale < 0; ++scale) value *= 0.5f;
  return negative ? -value : value;
}

/// Nearest-even, saturating conversion to such a float; `max_code` is the code of its largest finite value.
inline uint32_t encode_small(float value, int exponent_bits, int mantissa_bits, int bias, uint32_t max_code) {
  const uint32_t sign = (std::bit_cast<uint32_t>(value) >> 31) << (exponent_bits + mantissa_bits);
  const float magnitude = std::fabs(value);
  if (magnitude == 0.0f) return sign;
  int exponent = 0;
  if (std::isinf(magnitude)) return sign | max_code;
  std::frexp(magnitude, &exponent);  // magnitude = f * 2^exponent, f in [0.5, 1)
  int field = exponent - 1 + bias;
  if (field < 1) field = 1;  // subnormal: the exponent of the smallest normal
  // Units of the last place at this exponent; nearbyint rounds to nearest even.
  const float units = std::ldexp(magnitude, mantissa_bits + bias - field);
  uint32_t rounded = static_cast<uint32_t>(std::nearbyint(units));
  uint32_t code = rounded < (1u << mantissa_bits)
                      ? rounded
                      : (static_cast<uint32_t>(field) << mantissa_bits) + rounded - (1u << mantissa_bits);
  if (code > max_code) code = max_code;
  return sign | code;
}

}  // namespace bits

constexpr float to_float(e4m3 value) {
  if ((value.bits & 0x7f) == 0x7f) return std::bit_cast<float>(0x7fffffffu);
  return bits::decode_small(value.bits, 4, 3, 7);
}

/// cvt.rn.satfinite.e4m3x2.f32: nearest even, overflow and infinities to +-448, every NaN to 0x7f
inline e4m3 to_e4m3(float value) {
  if (std::isnan(value)) return {0x7f};
  return {static_cast<uint8_t>(bits::encode_small(value, 4, 3, 7, 0x7e))};
}

constexpr float to_float(e5m2 value) {
  if ((value.bits & 0x7c) == 0x7c) {
    if ((value.bits & 3) != 0) return std::bit_cast<float>(0x7fffffffu);
    return std::bit_cast<float>((value.bits & 0x80) != 0 ? 0xff800000u : 0x7f800000u);
  }
  return bits::decode_small(value.bits, 5, 2, 15);
}

inline e5m2 to_e5m2(float value) {
  if (std::isnan(value)) return {0x7f};
  return {static_cast<uint8_t>(bits::encode_small(value, 5, 2, 15, 0x7b))};
}

constexpr float to_float(f16 value) {
  if ((value.bits & 0x7c00) == 0x7c00) {
    if ((value.bits & 0x3ff) != 0) return std::bit_cast<float>(0x7fffffffu);
    return std::bit_cast<float>((value.bits & 0x8000) != 0 ? 0xff800000u : 0x7f800000u);
  }
  return bits::decode_small(value.bits, 5, 10, 15);
}

/// cvt.rn.f16.f32: nearest even, overflow to infinity
inline f16 to_f16(float value) {
  if (std::isnan(value)) return {0x7fff};
  const uint32_t code = bits::encode_small(value, 5, 10, 15, 0x7c00);
  return {static_cast<uint16_t>(code)};
}

}  // namespace warploom
