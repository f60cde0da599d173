// The types of PTX: what `.u32`, `.f16x2` or `.pred` mean to whoever reads or translates an instruction.
//
//   type_named("bf16x2") == Type::bf16x2;   bits(Type::bf16x2) == 32;   is_float(Type::bf16x2);
//
// type_named knows the names without their dot; Type::none stands for a name that is no type.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace warploom::ptx {

enum class Type : uint8_t {
  none,
  pred,
  b1,
  b4,
  b8,
  b16,
  b32,
  b64,
  b128,
  u4,
  u8,
  u16,
  u32,
  u64,
  s4,
  s8,
  s16,
  s32,
  s64,
  u16x2,
  s16x2,
  u8x4,
  s8x4,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f32x2,
  f64,
  e4m3,
  e5m2,
  e3m2,
  e2m3,
  e2m1,
  ue8m0,
  ue4m3,
  e4m3x2,
  e5m2x2,
  e3m2x2,
  e2m3x2,
  e2m1x2,
  ue8m0x2,
  e4m3x4,
  e5m2x4,
  e3m2x4,
  e2m3x4,
  e2m1x4,
};

enum class TypeKind : uint8_t { none, predicate, untyped, unsigned_integer, signed_integer, floating };

struct TypeInfo {
  std::string_view name;
  uint8_t bits;  ///< of the register or memory place that holds it
  TypeKind kind;
};

inline constexpr std::array<TypeInfo, 49> type_table{{
    {"", 0, TypeKind::none},
    {"pred", 1, TypeKind::predicate},
    {"b1", 1, TypeKind::untyped},
    {"b4", 4, TypeKind::untyped},
    {"b8", 8, TypeKind::untyped},
    {"b16", 16, TypeKind::untyped},
    {"b32", 32, TypeKind::untyped},
    {"b64", 64, TypeKind::untyped},
    {"b128", 128, TypeKind::untyped},
    {"u4", 4, TypeKind::unsigned_integer},
    {"u8", 8, TypeKind::unsigned_integer},
    {"u16", 16, TypeKind::unsigned_integer},
    {"u32", 32, TypeKind::unsigned_integer},
    {"u64", 64, TypeKind::unsigned_integer},
    {"s4", 4, TypeKind::signed_integer},
    {"s8", 8, TypeKind::signed_integer},
    {"s16", 16, TypeKind::signed_integer},
    {"s32", 32, TypeKind::signed_integer},
    {"s64", 64, TypeKind::signed_integer},
    {"u16x2", 32, TypeKind::unsigned_integer},
    {"s16x2", 32, TypeKind::signed_integer},
    {"u8x4", 32, TypeKind::unsigned_integer},
    {"s8x4", 32, TypeKind::signed_integer},
    {"f16", 16, TypeKind::floating},
    {"f16x2", 32, TypeKind::floating},
    {"bf16", 16, TypeKind::floating},
    {"bf16x2", 32, TypeKind::floating},
    {"tf32", 32, TypeKind::floating},
    {"f32", 32, TypeKind::floating},
    {"f32x2", 64, TypeKind::floating},
    {"f64", 64, TypeKind::floating},
    {"e4m3", 8, TypeKind::floating},
    {"e5m2", 8, TypeKind::floating},
    {"e3m2", 8, TypeKind::floating},
    {"e2m3", 8, TypeKind::floating},
    {"e2m1", 4, TypeKind::floating},
    {"ue8m0", 8, TypeKind::floating},
    {"ue4m3", 8, TypeKind::floating},
    {"e4m3x2", 16, TypeKind::floating},
    {"e5m2x2", 16, TypeKind::floating},
    {"e3m2x2", 16, TypeKind::floating},
    {"e2m3x2", 16, TypeKind::floating},
    {"e2m1x2", 8, TypeKind::floating},
    {"ue8m0x2", 16, TypeKind::floating},
    {"e4m3x4", 32, TypeKind::floating},
    {"e5m2x4", 32, TypeKind::floating},
    {"e3m2x4", 32, TypeKind::floating},
    {"e2m3x4", 32, TypeKind::floating},
    {"e2m1x4", 16, TypeKind::floating},
}};

constexpr const TypeInfo& info(Type type) { return type_table[static_cast<size_t>(type)]; }
constexpr std::string_view to_string(Type type) { return info(type).name; }
constexpr uint32_t bits(Type type) { return info(type).bits; }
/// In memory: a predicate has none, half a byte takes one.
constexpr uint32_t bytes(Type type) { return (info(type).bits + 7U) / 8U; }
constexpr bool is_float(Type type) { return info(type).kind == TypeKind::floating; }
constexpr bool is_signed(Type type) { return info(type).kind == TypeKind::signed_integer; }
constexpr bool is_unsigned(Type type) { return info(type).kind == TypeKind::unsigned_integer; }
constexpr bool is_integer(Type type) { return is_signed(type) || is_unsigned(type); }
constexpr bool is_untyped(Type type) { return info(type).kind == TypeKind::untyped; }

constexpr Type type_named(std::string_view name) {
  if (name.empty()) return Type::none;
  for (size_t i = 1; i < type_table.size(); ++i)
    if (type_table[i].name == name) return static_cast<Type>(i);
  return Type::none;
}

static_assert(type_named("e2m1x4") == Type::e2m1x4 && type_named("f64") == Type::f64 &&
              type_named("pred") == Type::pred);

}  // namespace warploom::ptx
