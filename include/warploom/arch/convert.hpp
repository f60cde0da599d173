// Conversions between f32 and the narrow types, two elements at a time (PTX cvt, hardware.md §7.1). The bits are the
// same on both machines. `low` is the element in the lower bits of the result; cvt names it second.
//
//   const uint16_t codes = arch::pack<e5m2>(x, y);           saturating: 57344 is the largest
//   const uint32_t halves = arch::unpack<e5m2>(codes);       two f16, exact
//   const uint16_t scales = arch::pack_ue8m0<ScaleRounding::up, Overflow::saturate>(x, y);
#pragma once

#include "warploom/arch/math.hpp"
#include "warploom/types/narrow.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// cvt.rn.satfinite{.relu}.{e4m3,e5m2,e2m3,e3m2}x2.f32: bits 7:0 and 15:8. e2m1x2: bits 3:0 and 7:4. `relu` takes
/// negative numbers and -0 to +0. e2m3, e3m2 and e2m1: sm_100a only.
template <class T, bool relu = false>
WARPLOOM_FN uint16_t pack(float low, float high) noexcept;
/// cvt.rn.satfinite{.relu}.{e4m3,e5m2}x2.f16x2
template <class T, bool relu = false>
WARPLOOM_FN uint16_t pack_halves(uint32_t halves) noexcept;
/// cvt.rn.f16x2.{e4m3,e5m2,e2m3,e3m2,e2m1}x2: exact; a NaN becomes 0x7fff
template <class T>
WARPLOOM_FN uint32_t unpack(uint16_t codes) noexcept;

/// cvt.{rn,rz}{.relu}{.satfinite}.f16x2.f32
template <Rounding rounding, Overflow overflow, bool relu = false>
WARPLOOM_FN uint32_t pack_f16(float low, float high) noexcept;
/// cvt.{rn,rz}{.relu}{.satfinite}.bf16x2.f32
template <Rounding rounding, Overflow overflow, bool relu = false>
WARPLOOM_FN uint32_t pack_bf16(float low, float high) noexcept;
/// cvt.{rna,rn,rz}.tf32.f32: an f32 whose low 13 bits are zero
template <Rounding rounding>
WARPLOOM_FN uint32_t to_tf32(float value) noexcept;

/// cvt.{rz,rp}{.satfinite}.ue8m0x2.f32: exponents, rounded down or up. sm_100a only, as the next two.
template <ScaleRounding rounding, Overflow overflow>
WARPLOOM_FN uint16_t pack_ue8m0(float low, float high) noexcept;
/// cvt.{rz,rp}{.satfinite}.ue8m0x2.bf16x2
template <ScaleRounding rounding, Overflow overflow>
WARPLOOM_FN uint16_t pack_ue8m0_bf16(uint32_t brains) noexcept;
/// cvt.rn.bf16x2.ue8m0x2: 2^(code - 127); 0xff becomes 0x7fff
WARPLOOM_FN uint32_t unpack_ue8m0(uint16_t codes) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/convert.hpp"
#else
#include "warploom/arch/loom/convert.hpp"
#endif
