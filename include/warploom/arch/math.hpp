// Arithmetic whose bits must agree on both machines: no contraction is left to a compiler, and every NaN that comes out
// is 0x7fffffff.
#pragma once

#include "warploom/arch/config.hpp"
#include "warploom/types/dtype.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN float fma(float a, float b, float c) noexcept;  ///< fma.rn.f32
WARPLOOM_FN float multiply(float a, float b) noexcept;      ///< mul.rn.f32
WARPLOOM_FN float add(float a, float b) noexcept;           ///< add.rn.f32
WARPLOOM_FN float subtract(float a, float b) noexcept;      ///< sub.rn.f32
/// max.f32: of a number and a NaN the number, of two zeros +0
WARPLOOM_FN float maximum(float a, float b) noexcept;
WARPLOOM_FN float maximum_or_nan(float a, float b) noexcept;  ///< max.NaN.f32: the same, but a NaN stays one
WARPLOOM_FN float minimum(float a, float b) noexcept;         ///< min.f32: of a number and a NaN the number
WARPLOOM_FN float absolute(float a) noexcept;                 ///< abs.f32; of a NaN, some NaN
/// 1 / a, correctly rounded, for 2^-126 <= a < 2^126; 0 for 2^126 * (1 + 2^-20) < a < 2^128, whose reciprocals are
/// subnormal. rcp.approx.ftz.f32 and a Newton step; no other a may be given.
WARPLOOM_FN float reciprocal(float a) noexcept;
/// ex2.approx.ftz.f32: 2^a, off by less than 2^-22.6 of it (two units in the last place), where a is cut off 23 bits
/// behind the point; of a subnormal result 0
WARPLOOM_FN float exp2_approx(float a) noexcept;
WARPLOOM_FN float reciprocal_approx(float a) noexcept;  ///< rcp.approx.ftz.f32: 1 / a, one unit off or less
WARPLOOM_FN float as_float(uint32_t bits) noexcept;
WARPLOOM_FN uint32_t as_bits(float value) noexcept;
WARPLOOM_FN float to_float(bf16 value) noexcept;
WARPLOOM_FN float to_float(f16 value) noexcept;  ///< cvt.f32.f16
/// cvt.rn.bf16x2.f32: `low` in bits 15:0, `high` in bits 31:16
WARPLOOM_FN uint32_t pack_bf16(float low, float high) noexcept;
/// cvt.rn.f16x2.f32: the same; beyond 65504 to infinity
WARPLOOM_FN uint32_t pack_f16(float low, float high) noexcept;
/// cvt.rn.satfinite.e4m3x2.f32: `low` in bits 7:0, `high` in bits 15:8; beyond 448 to 448
WARPLOOM_FN uint16_t pack_e4m3(float low, float high) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/math.hpp"
#else
#include "warploom/arch/loom/math.hpp"
#endif
