// The GPU side of arch/math.hpp. The _rn intrinsics are never contracted. The build must leave -ftz off, or they flush
// subnormals.
#pragma once

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN float fma(float a, float b, float c) noexcept { return __fmaf_rn(a, b, c); }
WARPLOOM_FN float multiply(float a, float b) noexcept { return __fmul_rn(a, b); }
WARPLOOM_FN float as_float(uint32_t bits) noexcept { return __uint_as_float(bits); }
WARPLOOM_FN uint32_t as_bits(float value) noexcept { return __float_as_uint(value); }
WARPLOOM_FN float to_float(bf16 value) noexcept { return as_float(static_cast<uint32_t>(value.bits) << 16); }
// cvt.rn.bf16x2.f32 d, high, low
WARPLOOM_FN uint32_t pack_bf16(float low, float high) noexcept {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
