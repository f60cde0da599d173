// The GPU side of arch/math.hpp. The _rn intrinsics are never contracted. The build must leave -ftz off, or they flush
// subnormals.
#pragma once

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN float fma(float a, float b, float c) noexcept { return __fmaf_rn(a, b, c); }
WARPLOOM_FN float multiply(float a, float b) noexcept { return __fmul_rn(a, b); }
WARPLOOM_FN float add(float a, float b) noexcept { return __fadd_rn(a, b); }
WARPLOOM_FN float subtract(float a, float b) noexcept { return __fsub_rn(a, b); }
WARPLOOM_FN float maximum(float a, float b) noexcept {
  float larger;
  asm("max.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}
WARPLOOM_FN float maximum_or_nan(float a, float b) noexcept {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}
WARPLOOM_FN float minimum(float a, float b) noexcept {
  float smaller;
  asm("min.f32 %0, %1, %2;" : "=f"(smaller) : "f"(a), "f"(b));
  return smaller;
}
WARPLOOM_FN float absolute(float a) noexcept {
  float magnitude;
  asm("abs.f32 %0, %1;" : "=f"(magnitude) : "f"(a));
  return magnitude;
}
WARPLOOM_FN float exp2_approx(float a) noexcept {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(a));
  return power;
}
WARPLOOM_FN float reciprocal_approx(float a) noexcept {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}
// What rcp.rn.f32 compiles to for these numbers, without its branch for all others. The step rounds correctly from
// either neighbour of the quotient, but for the largest mantissa, where rcp.approx must return the upper one, and does
// (tests/arch/math_test.cpp; arch_check counts on the chip). Beyond 2^126 rcp.approx gives 0, which the step leaves.
WARPLOOM_FN float reciprocal(float a) noexcept {
  const float r = reciprocal_approx(a);
  return __fmaf_rn(r, __fmaf_rn(-a, r, 1.0f), r);
}
WARPLOOM_FN float as_float(uint32_t bits) noexcept { return __uint_as_float(bits); }
WARPLOOM_FN uint32_t as_bits(float value) noexcept { return __float_as_uint(value); }
WARPLOOM_FN float to_float(bf16 value) noexcept { return as_float(static_cast<uint32_t>(value.bits) << 16); }
WARPLOOM_FN float to_float(f16 value) noexcept {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
}
// cvt.rn.bf16x2.f32 d, high, low
WARPLOOM_FN uint32_t pack_bf16(float low, float high) noexcept {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
// cvt.rn.f16x2.f32 d, high, low
WARPLOOM_FN uint32_t pack_f16(float low, float high) noexcept {
  uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
// cvt.rn.satfinite.e4m3x2.f32 d, high, low
WARPLOOM_FN uint16_t pack_e4m3(float low, float high) noexcept {
  uint16_t packed;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
  return packed;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
