// Device vocabulary types. They are bits and nothing else: conversion is `arch` (device) or types/convert.hpp (host).
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom {

struct bf16 {
  uint16_t bits = 0;
  friend constexpr bool operator==(bf16, bf16) = default;
};

struct f16 {
  uint16_t bits = 0;
  friend constexpr bool operator==(f16, f16) = default;
};

struct e4m3 {
  uint8_t bits = 0;
  friend constexpr bool operator==(e4m3, e4m3) = default;
};

struct e5m2 {
  uint8_t bits = 0;
  friend constexpr bool operator==(e5m2, e5m2) = default;
};

enum class DType : uint8_t { e4m3, e5m2, bf16, f16, f32 };

template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "warploom: this element type has no DType");
  return DType::f32;
}();
template <>
inline constexpr DType dtype_of<e4m3> = DType::e4m3;
template <>
inline constexpr DType dtype_of<e5m2> = DType::e5m2;
template <>
inline constexpr DType dtype_of<bf16> = DType::bf16;
template <>
inline constexpr DType dtype_of<f16> = DType::f16;
template <>
inline constexpr DType dtype_of<float> = DType::f32;

WARPLOOM_CONST_FN uint32_t size_of(DType type) {
  switch (type) {
    case DType::e4m3:
    case DType::e5m2: return 1;
    case DType::bf16:
    case DType::f16: return 2;
    case DType::f32: return 4;
  }
  return 0;
}

WARPLOOM_CONST_FN const char* name_of(DType type) {
  switch (type) {
    case DType::e4m3: return "e4m3";
    case DType::e5m2: return "e5m2";
    case DType::bf16: return "bf16";
    case DType::f16: return "f16";
    case DType::f32: return "f32";
  }
  return "?";
}

}  // namespace warploom
