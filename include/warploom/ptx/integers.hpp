// Integers and bits of translated PTX: registers are unsigned words, and an instruction says how it reads them. Part of
// runtime.hpp; the emitter writes calls such as `bfe<s32>(a, 4, 8)`.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#define WARPLOOM_PTX inline __attribute__((always_inline))

namespace warploom::ptx::rt {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using f32 = float;
using f64 = double;
__extension__ typedef unsigned __int128 u128;  // NOLINT: -Wpedantic knows no other way
__extension__ typedef __int128 s128;           // NOLINT
/// A .b128 register.
struct b128 {
  u64 q[2];
};

template <class T>
struct Wider;
template <>
struct Wider<u8> {
  using type = u16;
};
template <>
struct Wider<s8> {
  using type = s16;
};
template <>
struct Wider<u16> {
  using type = u32;
};
template <>
struct Wider<s16> {
  using type = s32;
};
template <>
struct Wider<u32> {
  using type = u64;
};
template <>
struct Wider<s32> {
  using type = s64;
};
template <>
struct Wider<u64> {
  using type = u128;
};
template <>
struct Wider<s64> {
  using type = s128;
};
template <class T>
using wider = typename Wider<T>::type;
template <class T>
using unsigned_of = std::make_unsigned_t<T>;
template <class T>
inline constexpr u32 width = 8 * sizeof(T);

// ---- shifts: an amount of the width or more leaves nothing but the sign

template <class T>
WARPLOOM_PTX T shl(T a, u32 n) {
  return n >= width<T> ? T{0} : static_cast<T>(static_cast<unsigned_of<T>>(a) << n);
}
template <class T>
WARPLOOM_PTX T shr(T a, u32 n) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(a >> (n >= width<T> ? width<T> - 1 : n));
  else
    return n >= width<T> ? T{0} : static_cast<T>(a >> n);
}
template <bool clamp>
WARPLOOM_PTX u32 shf_l(u32 low, u32 high, u32 amount) {
  const u32 n = clamp ? (amount > 32 ? 32 : amount) : amount & 31;
  return static_cast<u32>(((u64{high} << 32 | low) << n) >> 32);
}
template <bool clamp>
WARPLOOM_PTX u32 shf_r(u32 low, u32 high, u32 amount) {
  const u32 n = clamp ? (amount > 32 ? 32 : amount) : amount & 31;
  return static_cast<u32>((u64{high} << 32 | low) >> n);
}

// ---- arithmetic

template <class T>
WARPLOOM_PTX T mul_hi(T a, T b) {
  return static_cast<T>((static_cast<wider<T>>(a) * static_cast<wider<T>>(b)) >> width<T>);
}
template <class T>
WARPLOOM_PTX wider<T> mul_wide(T a, T b) {
  return static_cast<wider<T>>(static_cast<wider<T>>(a) * static_cast<wider<T>>(b));
}
/// The low 24 bits of each, with their sign.
template <class T>
WARPLOOM_PTX s64 low_24(T a) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<s32>(static_cast<u32>(a) << 8) >> 8;
  else
    return static_cast<s64>(a & 0xffffffu);
}
/// .lo: bits 31:0 of the product of 48 bits, .hi: bits 47:16
template <class T, bool high>
WARPLOOM_PTX T mul24(T a, T b) {
  const s64 product = low_24(a) * low_24(b);
  return static_cast<T>(high ? product >> 16 : product);
}
WARPLOOM_PTX s32 saturated(s64 a) {
  return a > std::numeric_limits<s32>::max()   ? std::numeric_limits<s32>::max()
         : a < std::numeric_limits<s32>::min() ? std::numeric_limits<s32>::min()
                                               : static_cast<s32>(a);
}
WARPLOOM_PTX s32 add_sat(s32 a, s32 b) { return saturated(s64{a} + b); }
WARPLOOM_PTX s32 sub_sat(s32 a, s32 b) { return saturated(s64{a} - b); }
WARPLOOM_PTX s32 mad_hi_sat(s32 a, s32 b, s32 c) { return saturated(s64{mul_hi(a, b)} + c); }
template <class T>
WARPLOOM_PTX T sad(T a, T b, T c) {
  using U = unsigned_of<T>;
  const U difference = a < b ? static_cast<U>(static_cast<U>(b) - static_cast<U>(a))
                             : static_cast<U>(static_cast<U>(a) - static_cast<U>(b));
  return static_cast<T>(static_cast<U>(c) + difference);
}
/// A divisor of zero: all ones, and for the remainder the dividend, as the chips have it.
template <class T>
WARPLOOM_PTX T div_int(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - static_cast<unsigned_of<T>>(a));
  return static_cast<T>(a / b);
}
template <class T>
WARPLOOM_PTX T rem_int(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
}
template <class T>
WARPLOOM_PTX T abs_int(T a) {
  return a < 0 ? static_cast<T>(0 - static_cast<unsigned_of<T>>(a)) : a;
}
template <class T>
WARPLOOM_PTX T min_int(T a, T b) {
  return a < b ? a : b;
}
template <class T>
WARPLOOM_PTX T max_int(T a, T b) {
  return a > b ? a : b;
}
WARPLOOM_PTX s32 relu(s32 a) { return a < 0 ? 0 : a; }
WARPLOOM_PTX u32 carry_of(u64 sum) { return static_cast<u32>(sum >> 32); }
WARPLOOM_PTX u32 carry_of(u128 sum) { return static_cast<u32>(sum >> 64); }

/// An operation on each 16-bit half.
template <class T, class F>
WARPLOOM_PTX u32 each_half(u32 a, u32 b, F f) {
  const auto low = static_cast<u16>(f(static_cast<T>(a), static_cast<T>(b)));
  const auto high = static_cast<u16>(f(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  return low | static_cast<u32>(high) << 16;
}
template <class T>
WARPLOOM_PTX u32 add_x2(u32 a, u32 b) {
  return each_half<T>(a, b, [](T x, T y) __attribute__((always_inline)) { return x + y; });
}
template <class T>
WARPLOOM_PTX u32 min_x2(u32 a, u32 b) {
  return each_half<T>(a, b, [](T x, T y) __attribute__((always_inline)) { return min_int(x, y); });
}
template <class T>
WARPLOOM_PTX u32 max_x2(u32 a, u32 b) {
  return each_half<T>(a, b, [](T x, T y) __attribute__((always_inline)) { return max_int(x, y); });
}
WARPLOOM_PTX u32 relu_x2(u32 a) {
  return ((a & 0x8000u) != 0 ? 0 : a & 0xffffu) | ((a & 0x80000000u) != 0 ? 0 : a & 0xffff0000u);
}

// ---- dot products of bytes

template <class A, class B>
WARPLOOM_PTX u32 dp4a(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 4; ++i)
    c += static_cast<u32>(static_cast<s32>(static_cast<A>(a >> 8 * i)) * static_cast<s32>(static_cast<B>(b >> 8 * i)));
  return c;
}
/// Two halves of `a` with the lower or the upper two bytes of `b`.
template <class A, class B, bool high>
WARPLOOM_PTX u32 dp2a(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 2; ++i)
    c += static_cast<u32>(static_cast<s32>(static_cast<A>(a >> 16 * i)) *
                          static_cast<s32>(static_cast<B>(b >> (8 * i + (high ? 16 : 0)))));
  return c;
}

// ---- bits

/// The function of three bits with this truth table.
template <u32 table>
WARPLOOM_PTX u32 lop3(u32 a, u32 b, u32 c) {
  u32 r = 0;
  if constexpr ((table & 1) != 0) r |= ~a & ~b & ~c;
  if constexpr ((table & 2) != 0) r |= ~a & ~b & c;
  if constexpr ((table & 4) != 0) r |= ~a & b & ~c;
  if constexpr ((table & 8) != 0) r |= ~a & b & c;
  if constexpr ((table & 16) != 0) r |= a & ~b & ~c;
  if constexpr ((table & 32) != 0) r |= a & ~b & c;
  if constexpr ((table & 64) != 0) r |= a & b & ~c;
  if constexpr ((table & 128) != 0) r |= a & b & c;
  return r;
}
WARPLOOM_PTX u32 prmt(u32 a, u32 b, u32 selector) {
  const u64 bytes = u64{b} << 32 | a;
  u32 r = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 nibble = selector >> 4 * i & 15;
    u32 byte = static_cast<u32>(bytes >> 8 * (nibble & 7)) & 255;
    if ((nibble & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    r |= byte << 8 * i;
  }
  return r;
}
enum class Permute { f4e, b4e, rc8, ecl, ecr, rc16 };
template <Permute mode>
WARPLOOM_PTX u32 prmt_mode(u32 a, u32 b, u32 c) {
  const u64 bytes = u64{b} << 32 | a;
  const u32 k = c & 3;
  u32 r = 0;
  for (u32 i = 0; i < 4; ++i) {
    u32 from = 0;
    switch (mode) {
      case Permute::f4e: from = k + i; break;
      case Permute::b4e: from = (8 + k - i) & 7; break;
      case Permute::rc8: from = k; break;
      case Permute::ecl: from = i > k ? i : k; break;
      case Permute::ecr: from = i < k ? i : k; break;
      case Permute::rc16: from = (k & 1) * 2 + (i & 1); break;
    }
    r |= (static_cast<u32>(bytes >> 8 * from) & 255) << 8 * i;
  }
  return r;
}
template <class T>
WARPLOOM_PTX T bfe(T a, u32 position, u32 length) {
  using U = unsigned_of<T>;
  position &= 255;
  length &= 255;
  if (length == 0) return 0;
  const u32 have = position >= width<T> ? 0 : (width<T> - position < length ? width<T> - position : length);
  const U ones = have >= width<T> ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << have) - 1);
  U v = have == 0 ? U{0} : static_cast<U>(static_cast<U>(static_cast<U>(a) >> position) & ones);
  if constexpr (std::is_signed_v<T>) {
    const u32 top = position + length - 1 < width<T> - 1 ? position + length - 1 : width<T> - 1;
    if ((static_cast<U>(a) >> top & 1) != 0) v = static_cast<U>(v | static_cast<U>(~ones));
  }
  return static_cast<T>(v);
}
template <class T>
WARPLOOM_PTX T bfi(T field, T into, u32 position, u32 length) {
  position &= 255;
  length &= 255;
  if (position >= width<T> || length == 0) return into;
  const T ones = length >= width<T> ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
  return static_cast<T>((into & ~(ones << position)) | (field & ones) << position);
}
/// The highest bit that differs from the sign, or its distance from the top; all ones where there is none.
template <class T, bool shift_amount>
WARPLOOM_PTX u32 bfind(T a) {
  using U = unsigned_of<T>;
  auto v = static_cast<U>(a);
  if (std::is_signed_v<T> && a < 0) v = static_cast<U>(~v);
  if (v == 0) return ~0u;
  const u32 top = width<T> - 1 - static_cast<u32>(std::countl_zero(v));
  return shift_amount ? width<T> - 1 - top : top;
}
WARPLOOM_PTX u32 brev(u32 x) {
  x = __builtin_bswap32(x);
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  return (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
}
WARPLOOM_PTX u64 brev(u64 x) { return u64{brev(static_cast<u32>(x))} << 32 | brev(static_cast<u32>(x >> 32)); }
template <bool clamp>
WARPLOOM_PTX u32 bmsk(u32 position, u32 length) {
  if (!clamp) {
    position &= 31;
    length &= 31;
  }
  const u64 ones = length >= 32 ? 0xffffffffull : (1ull << length) - 1;
  return position >= 32 ? 0 : static_cast<u32>(ones << position);
}
/// Of `n` bits, sign- or zero-extended.
template <class T, bool clamp>
WARPLOOM_PTX T szext(T a, u32 n) {
  if (!clamp) n &= 31;
  if (n == 0) return 0;
  if (n >= 32) return a;
  return static_cast<T>(shr(static_cast<T>(static_cast<u32>(a) << (32 - n)), 32 - n));
}
/// The n-th set bit of `mask` from `base` on, upward for n > 0 and downward for n < 0; n = 0: whether `base` is set.
WARPLOOM_PTX u32 fns(u32 mask, u32 base, s32 n) {
  if (base > 31) return ~0u;
  if (n == 0) return (mask >> base & 1) != 0 ? base : ~0u;
  s32 at = static_cast<s32>(base), left = n < 0 ? -n : n;
  for (; at >= 0 && at < 32; at += n < 0 ? -1 : 1)
    if ((mask >> at & 1) != 0 && --left == 0) return static_cast<u32>(at);
  return ~0u;
}

}  // namespace warploom::ptx::rt
