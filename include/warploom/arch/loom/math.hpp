// The loom side of arch/math.hpp.
#pragma once

#include <bit>
#include <cmath>

#include "warploom/loom/native.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN float fma(float a, float b, float c) noexcept { return __builtin_fmaf(a, b, c); }
WARPLOOM_FN float multiply(float a, float b) noexcept { return a * b; }
WARPLOOM_FN float as_float(uint32_t bits) noexcept { return std::bit_cast<float>(bits); }
WARPLOOM_FN uint32_t as_bits(float value) noexcept { return std::bit_cast<uint32_t>(value); }
WARPLOOM_FN float to_float(bf16 value) noexcept { return ::warploom::to_float(value); }
WARPLOOM_FN uint32_t pack_bf16(float low, float high) noexcept {
  return to_bf16(low).bits | static_cast<uint32_t>(to_bf16(high).bits) << 16;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
