// The GPU side of arch/convert.hpp. e2m1x2 is a .b8 register, which inline assembly cannot bind.
#pragma once

#include "warploom/types/dtype.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace detail {
template <class T, class U>
inline constexpr bool is_type = false;
template <class T>
inline constexpr bool is_type<T, T> = true;
}  // namespace detail

#define WARPLOOM_CVT_F32(modifier, type) \
  asm("cvt.rn.satfinite" modifier "." type "x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low))
#define WARPLOOM_CVT_E2M1(modifier)                                                                             \
  asm("{\n\t.reg .b8 code;\n\tcvt.rn.satfinite" modifier ".e2m1x2.f32 code, %1, %2;\n\tcvt.u16.u8 %0, code;\n}" \
      : "=h"(packed)                                                                                            \
      : "f"(high), "f"(low))

template <class T, bool relu>
WARPLOOM_FN uint16_t pack(float low, float high) noexcept {
  uint16_t packed;
  if constexpr (detail::is_type<T, e4m3>) {
    if constexpr (relu)
      WARPLOOM_CVT_F32(".relu", "e4m3");
    else
      WARPLOOM_CVT_F32("", "e4m3");
  } else if constexpr (detail::is_type<T, e5m2>) {
    if constexpr (relu)
      WARPLOOM_CVT_F32(".relu", "e5m2");
    else
      WARPLOOM_CVT_F32("", "e5m2");
  } else if constexpr (detail::is_type<T, e2m3>) {
    if constexpr (relu)
      WARPLOOM_CVT_F32(".relu", "e2m3");
    else
      WARPLOOM_CVT_F32("", "e2m3");
  } else if constexpr (detail::is_type<T, e3m2>) {
    if constexpr (relu)
      WARPLOOM_CVT_F32(".relu", "e3m2");
    else
      WARPLOOM_CVT_F32("", "e3m2");
  } else {
    static_assert(detail::is_type<T, e2m1>, "warploom: cvt makes e4m3, e5m2, e2m3, e3m2 and e2m1 of f32");
    if constexpr (relu)
      WARPLOOM_CVT_E2M1(".relu");
    else
      WARPLOOM_CVT_E2M1("");
  }
  return packed;
}
#undef WARPLOOM_CVT_F32
#undef WARPLOOM_CVT_E2M1

template <class T, bool relu>
WARPLOOM_FN uint16_t pack_halves(uint32_t halves) noexcept {
  static_assert(detail::is_type<T, e4m3> || detail::is_type<T, e5m2>, "warploom: cvt makes e4m3 and e5m2 of f16");
  uint16_t packed;
  if constexpr (detail::is_type<T, e4m3>) {
    if constexpr (relu)
      asm("cvt.rn.satfinite.relu.e4m3x2.f16x2 %0, %1;" : "=h"(packed) : "r"(halves));
    else
      asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(packed) : "r"(halves));
  } else {
    if constexpr (relu)
      asm("cvt.rn.satfinite.relu.e5m2x2.f16x2 %0, %1;" : "=h"(packed) : "r"(halves));
    else
      asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(packed) : "r"(halves));
  }
  return packed;
}

template <class T>
WARPLOOM_FN uint32_t unpack(uint16_t codes) noexcept {
  uint32_t halves;
  if constexpr (detail::is_type<T, e4m3>) {
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(codes));
  } else if constexpr (detail::is_type<T, e5m2>) {
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(codes));
  } else if constexpr (detail::is_type<T, e2m3>) {
    asm("cvt.rn.f16x2.e2m3x2 %0, %1;" : "=r"(halves) : "h"(codes));
  } else if constexpr (detail::is_type<T, e3m2>) {
    asm("cvt.rn.f16x2.e3m2x2 %0, %1;" : "=r"(halves) : "h"(codes));
  } else {
    static_assert(detail::is_type<T, e2m1>, "warploom: cvt makes f16 of e4m3, e5m2, e2m3, e3m2 and e2m1");
    asm("{\n\t.reg .b8 code;\n\tcvt.u8.u16 code, %1;\n\tcvt.rn.f16x2.e2m1x2 %0, code;\n}" : "=r"(halves) : "h"(codes));
  }
  return halves;
}

#define WARPLOOM_CVT_PAIR(form) asm("cvt." form ".f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low))
#define WARPLOOM_CVT_PAIRS(type)                                                                         \
  uint32_t packed;                                                                                       \
  static_assert(rounding != Rounding::nearest_away, "warploom: cvt rounds to " type " with .rn or .rz"); \
  constexpr bool near = rounding == Rounding::nearest_even, finite = overflow == Overflow::saturate;     \
  if constexpr (near && !relu && !finite)                                                                \
    WARPLOOM_CVT_PAIR("rn." type);                                                                       \
  else if constexpr (near && !relu)                                                                      \
    WARPLOOM_CVT_PAIR("rn.satfinite." type);                                                             \
  else if constexpr (near && !finite)                                                                    \
    WARPLOOM_CVT_PAIR("rn.relu." type);                                                                  \
  else if constexpr (near)                                                                               \
    WARPLOOM_CVT_PAIR("rn.relu.satfinite." type);                                                        \
  else if constexpr (!relu && !finite)                                                                   \
    WARPLOOM_CVT_PAIR("rz." type);                                                                       \
  else if constexpr (!relu)                                                                              \
    WARPLOOM_CVT_PAIR("rz.satfinite." type);                                                             \
  else if constexpr (!finite)                                                                            \
    WARPLOOM_CVT_PAIR("rz.relu." type);                                                                  \
  else                                                                                                   \
    WARPLOOM_CVT_PAIR("rz.relu.satfinite." type);                                                        \
  return packed

template <Rounding rounding, Overflow overflow, bool relu>
WARPLOOM_FN uint32_t pack_f16(float low, float high) noexcept {
  WARPLOOM_CVT_PAIRS("f16x2");
}
template <Rounding rounding, Overflow overflow, bool relu>
WARPLOOM_FN uint32_t pack_bf16(float low, float high) noexcept {
  WARPLOOM_CVT_PAIRS("bf16x2");
}
#undef WARPLOOM_CVT_PAIRS
#undef WARPLOOM_CVT_PAIR

template <Rounding rounding>
WARPLOOM_FN uint32_t to_tf32(float value) noexcept {
  uint32_t word;
  if constexpr (rounding == Rounding::nearest_away)
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(value));
  else if constexpr (rounding == Rounding::nearest_even)
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(word) : "f"(value));
  else
    asm("cvt.rz.tf32.f32 %0, %1;" : "=r"(word) : "f"(value));
  return word;
}

#define WARPLOOM_CVT_SCALE(form) asm("cvt." form ".ue8m0x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low))
template <ScaleRounding rounding, Overflow overflow>
WARPLOOM_FN uint16_t pack_ue8m0(float low, float high) noexcept {
  constexpr bool up = rounding == ScaleRounding::up, finite = overflow == Overflow::saturate;
  uint16_t packed;
  if constexpr (up && finite)
    WARPLOOM_CVT_SCALE("rp.satfinite");
  else if constexpr (up)
    WARPLOOM_CVT_SCALE("rp");
  else if constexpr (finite)
    WARPLOOM_CVT_SCALE("rz.satfinite");
  else
    WARPLOOM_CVT_SCALE("rz");
  return packed;
}
#undef WARPLOOM_CVT_SCALE

#define WARPLOOM_CVT_SCALE(form) asm("cvt." form ".ue8m0x2.bf16x2 %0, %1;" : "=h"(packed) : "r"(brains))
template <ScaleRounding rounding, Overflow overflow>
WARPLOOM_FN uint16_t pack_ue8m0_bf16(uint32_t brains) noexcept {
  constexpr bool up = rounding == ScaleRounding::up, finite = overflow == Overflow::saturate;
  uint16_t packed;
  if constexpr (up && finite)
    WARPLOOM_CVT_SCALE("rp.satfinite");
  else if constexpr (up)
    WARPLOOM_CVT_SCALE("rp");
  else if constexpr (finite)
    WARPLOOM_CVT_SCALE("rz.satfinite");
  else
    WARPLOOM_CVT_SCALE("rz");
  return packed;
}
#undef WARPLOOM_CVT_SCALE

WARPLOOM_FN uint32_t unpack_ue8m0(uint16_t codes) noexcept {
  uint32_t brains;
  asm("cvt.rn.bf16x2.ue8m0x2 %0, %1;" : "=r"(brains) : "h"(codes));
  return brains;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
