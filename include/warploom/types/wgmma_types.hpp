// What wgmma multiplies and adds up to (hardware.md §5.1). s8 and u8 are int8_t and uint8_t.
//
//   wgmma_type_of<bf16>                        WgmmaType::bf16
//   wgmma_k(WgmmaType::tf32)                   8: an instruction takes 32 bytes of K
#pragma once

#include "warploom/types/dtype.hpp"

namespace warploom {

/// An f32 whose low 13 bits the tensor core ignores.
struct tf32 {
  uint32_t bits = 0;
  friend constexpr bool operator==(tf32, tf32) = default;
};

/// In memory it is an f32.
template <>
inline constexpr DType dtype_of<tf32> = DType::f32;

enum class WgmmaType : uint8_t { bf16, f16, tf32, e4m3, e5m2, s8, u8 };
enum class WgmmaResult : uint8_t { f32, f16, s32 };
/// imm-scale-a, imm-scale-b: whose elements are multiplied by -1.
enum class WgmmaNegate : uint8_t { none, a, b, both };
/// What a sum beyond 32 bits becomes: modulo 2^32, or with .satfinite the nearest that is none.
enum class WgmmaOverflow : uint8_t { wrap, clamp };

template <class T>
inline constexpr WgmmaType wgmma_type_of = [] {
  static_assert(sizeof(T) == 0, "warploom: wgmma multiplies bf16, f16, tf32, e4m3, e5m2, int8_t and uint8_t");
  return WgmmaType::bf16;
}();
template <>
inline constexpr WgmmaType wgmma_type_of<bf16> = WgmmaType::bf16;
template <>
inline constexpr WgmmaType wgmma_type_of<f16> = WgmmaType::f16;
template <>
inline constexpr WgmmaType wgmma_type_of<tf32> = WgmmaType::tf32;
template <>
inline constexpr WgmmaType wgmma_type_of<e4m3> = WgmmaType::e4m3;
template <>
inline constexpr WgmmaType wgmma_type_of<e5m2> = WgmmaType::e5m2;
template <>
inline constexpr WgmmaType wgmma_type_of<int8_t> = WgmmaType::s8;
template <>
inline constexpr WgmmaType wgmma_type_of<uint8_t> = WgmmaType::u8;

WARPLOOM_CONST_FN uint32_t size_of(WgmmaType type) {
  switch (type) {
    case WgmmaType::tf32: return 4;
    case WgmmaType::bf16:
    case WgmmaType::f16: return 2;
    default: return 1;
  }
}
WARPLOOM_CONST_FN uint32_t wgmma_k(WgmmaType type) { return 32 / size_of(type); }
WARPLOOM_CONST_FN bool is_integer(WgmmaType type) { return type == WgmmaType::s8 || type == WgmmaType::u8; }
WARPLOOM_CONST_FN bool is_fp8(WgmmaType type) { return type == WgmmaType::e4m3 || type == WgmmaType::e5m2; }

WARPLOOM_CONST_FN const char* name_of(WgmmaType type) {
  switch (type) {
    case WgmmaType::bf16: return "bf16";
    case WgmmaType::f16: return "f16";
    case WgmmaType::tf32: return "tf32";
    case WgmmaType::e4m3: return "e4m3";
    case WgmmaType::e5m2: return "e5m2";
    case WgmmaType::s8: return "s8";
    case WgmmaType::u8: return "u8";
  }
  return "?";
}

/// Does a wgmma with these types exist?
WARPLOOM_CONST_FN bool wgmma_types_exist(WgmmaType a, WgmmaType b) {
  return a == b || (is_fp8(a) && is_fp8(b)) || (is_integer(a) && is_integer(b));
}
/// ... and with this result?
WARPLOOM_CONST_FN bool wgmma_result_exists(WgmmaType a, WgmmaResult d) {
  if (is_integer(a)) return d == WgmmaResult::s32;
  return d == WgmmaResult::f32 || (d == WgmmaResult::f16 && (a == WgmmaType::f16 || is_fp8(a)));
}
/// N = 8, 16, 24, ... 256; of integers, above 32 multiples of 16 only.
WARPLOOM_CONST_FN bool wgmma_n_exists(WgmmaType a, uint32_t n) {
  return n >= 8 && n <= 256 && n % 8 == 0 && (!is_integer(a) || n <= 32 || n % 16 == 0);
}

}  // namespace warploom
