// The loom side of arch/math.hpp.
#pragma once

#include <bit>
#include <cmath>

#include "warploom/loom/native.hpp"
#include "warploom/loom/special_functions.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

namespace detail {

/// The GPU's NaN; a host has others, and passes on those it is given.
WARPLOOM_FN float canonical(float result) noexcept {
  return result == result ? result : std::bit_cast<float>(0x7fffffffu);
}

}  // namespace detail

WARPLOOM_FN float fma(float a, float b, float c) noexcept { return detail::canonical(__builtin_fmaf(a, b, c)); }
WARPLOOM_FN float multiply(float a, float b) noexcept { return detail::canonical(a * b); }
WARPLOOM_FN float add(float a, float b) noexcept { return detail::canonical(a + b); }
WARPLOOM_FN float subtract(float a, float b) noexcept { return detail::canonical(a - b); }
WARPLOOM_FN float maximum(float a, float b) noexcept {
  if (a != a) return detail::canonical(b);
  if (b != b || a > b) return a;
  if (a < b) return b;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(a) & std::bit_cast<uint32_t>(b));  // equal: -0 only if both are
}
WARPLOOM_FN float maximum_or_nan(float a, float b) noexcept {
  return detail::canonical(a != a ? a : b != b ? b : maximum(a, b));
}
WARPLOOM_FN float minimum(float a, float b) noexcept {
  if (a != a) return detail::canonical(b);
  if (b != b || a < b) return a;
  if (a > b) return b;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(a) | std::bit_cast<uint32_t>(b));  // equal: -0 if one is
}
WARPLOOM_FN float absolute(float a) noexcept { return std::bit_cast<float>(std::bit_cast<uint32_t>(a) & 0x7fffffffu); }
WARPLOOM_FN float reciprocal(float a) noexcept { return a > 0x1p126f ? 0.0f : 1.0f / a; }
WARPLOOM_FN float exp2_approx(float a) noexcept { return ::warploom::loom::exp2_approx(a); }
WARPLOOM_FN float reciprocal_approx(float a) noexcept { return ::warploom::loom::reciprocal_approx(a); }
WARPLOOM_FN float as_float(uint32_t bits) noexcept { return std::bit_cast<float>(bits); }
WARPLOOM_FN uint32_t as_bits(float value) noexcept { return std::bit_cast<uint32_t>(value); }
WARPLOOM_FN float to_float(bf16 value) noexcept { return ::warploom::to_float(value); }
WARPLOOM_FN float to_float(f16 value) noexcept { return ::warploom::to_float(value); }
WARPLOOM_FN uint32_t pack_bf16(float low, float high) noexcept {
  return to_bf16(low).bits | static_cast<uint32_t>(to_bf16(high).bits) << 16;
}
WARPLOOM_FN uint32_t pack_f16(float low, float high) noexcept {
  return to_f16(low).bits | static_cast<uint32_t>(to_f16(high).bits) << 16;
}
WARPLOOM_FN uint16_t pack_e4m3(float low, float high) noexcept {
  return static_cast<uint16_t>(to_e4m3(low).bits | to_e4m3(high).bits << 8);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
