// f16 and bf16 of translated PTX, alone and in pairs: 16-bit words. Sums and products are exact in f64, or rounded to
// odd there, so that the one rounding to 16 bits is the instruction's. Part of runtime.hpp.
#pragma once

#include "warploom/ptx/floats.hpp"
#include "warploom/types/convert_narrow.hpp"

namespace warploom::ptx::rt {

#pragma GCC visibility push(default)
u16 narrow_f16(f32 value, Round round, bool saturate, bool relu) noexcept;
u16 narrow_bf16(f32 value, Round round, bool saturate, bool relu) noexcept;
#pragma GCC visibility pop

WARPLOOM_PTX f32 f16_to_f32(u16 x) {
#ifdef __F16C__
  if ((x & 0x7c00u) != 0x7c00u || (x & 0x3ffu) == 0) {
    using Eight [[gnu::vector_size(16)]] = s16;
    using Four [[gnu::vector_size(16)]] = f32;
    const Eight halves = {static_cast<s16>(x)};
    const Four floats = __builtin_ia32_vcvtph2ps(halves);
    return floats[0];
  }
  return F(0x7fffffffu);
#else
  const u32 sign = (x & 0x8000u) << 16, rest = x & 0x7fffu;
  if (rest >= 0x7c00u) return rest == 0x7c00u ? F(sign | 0x7f800000u) : F(0x7fffffffu);
  // The exponent field is f32's less 112; 2^112 moves it, subnormals included.
  return F(sign | U(F(rest << 13) * 0x1p112f));
#endif
}
WARPLOOM_PTX f32 bf16_to_f32(u16 x) { return F(static_cast<u32>(x) << 16); }

/// An f16, of an f32 that is exact or rounded to odd. Every NaN is 0x7fff.
WARPLOOM_PTX u16 f32_to_f16(f32 value) {
  if (value != value) return 0x7fff;
  const u32 word = U(value), sign = word >> 16 & 0x8000u, magnitude = word & 0x7fffffffu;
  if (magnitude >= 0x477ff000u) return static_cast<u16>(sign | 0x7c00u);  // 65520 and more
  if (magnitude < 0x38800000u) {                                          // subnormal: the sum's last place is 2^-24
    const f32 shifted = F(magnitude) + 0.5f;
    return static_cast<u16>(sign | (U(shifted) - 0x3f000000u));
  }
  return static_cast<u16>(sign | ((magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13));
}
WARPLOOM_PTX u16 f32_to_bf16(f32 value) {
  if (value != value) return 0x7fff;
  const u32 word = U(value);
  return static_cast<u16>((word + 0x7fffu + (word >> 16 & 1)) >> 16);
}

/// a + b in f64, rounded to odd: its last bit is set where bits are lost, so that a later rounding sees them.
WARPLOOM_PTX f64 add_to_odd(f64 a, f64 b) {
  const f64 sum = a + b;
  const f64 part = sum - a;
  const f64 lost = (a - (sum - part)) + (b - part);
  if (lost == 0 || !is_finite(sum) || (U(sum) & 1) != 0) return sum;
  return D((lost > 0) == (sum > 0) ? U(sum) + 1 : U(sum) - 1);
}
WARPLOOM_PTX f32 to_odd_f32(f64 a) {
  const auto near = static_cast<f32>(a);
  if (static_cast<f64>(near) == a || a != a || (U(near) & 1) != 0) return near;
  const bool above = near > 0 || (near == 0 && a > 0) ? static_cast<f64>(near) < a : static_cast<f64>(near) > a;
  return F(near == 0 ? (a > 0 ? 1u : 0x80000001u) : is_infinite(near) || !above ? U(near) - 1 : U(near) + 1);
}

struct half {
  static WARPLOOM_PTX f32 wide(u16 x) { return f16_to_f32(x); }
  static WARPLOOM_PTX u16 narrow(f32 x) { return f32_to_f16(x); }
  static constexpr u16 exponent = 0x7c00, one = 0x3c00;
};
struct brain {
  static WARPLOOM_PTX f32 wide(u16 x) { return bf16_to_f32(x); }
  static WARPLOOM_PTX u16 narrow(f32 x) { return f32_to_bf16(x); }
  static constexpr u16 exponent = 0x7f80, one = 0x3f80;
};
template <class T, bool ftz>
WARPLOOM_PTX u16 flushed_half(u16 x) {
  return ftz && (x & T::exponent) == 0 ? static_cast<u16>(x & 0x8000u) : x;
}
template <class T, bool sat, bool relu>
WARPLOOM_PTX u16 limited_half(u16 x) {
  if constexpr (!sat && !relu) return x;
  if ((x & 0x7fffu) > T::exponent) return sat ? u16{0} : x;
  if ((x & 0x8000u) != 0) return 0;
  return sat && x > T::one ? T::one : x;
}

template <class T, bool ftz = false, bool sat = false>
WARPLOOM_PTX u16 fma_half(u16 a, u16 b, u16 c) {
  const f64 product = static_cast<f64>(T::wide(flushed_half<T, ftz>(a))) * T::wide(flushed_half<T, ftz>(b));
  const f32 sum = to_odd_f32(add_to_odd(product, T::wide(flushed_half<T, ftz>(c))));
  return limited_half<T, sat, false>(flushed_half<T, ftz>(T::narrow(sum)));
}
template <class T, bool ftz = false, bool sat = false>
WARPLOOM_PTX u16 fma_relu_half(u16 a, u16 b, u16 c) {
  return limited_half<T, false, true>(fma_half<T, ftz, sat>(a, b, c));
}
template <class T, bool ftz = false, bool sat = false>
WARPLOOM_PTX u16 add_half(u16 a, u16 b) {
  const f64 x = T::wide(flushed_half<T, ftz>(a)), y = T::wide(flushed_half<T, ftz>(b));
  return limited_half<T, sat, false>(flushed_half<T, ftz>(T::narrow(to_odd_f32(add_to_odd(x, y)))));
}
template <class T, bool ftz = false, bool sat = false>
WARPLOOM_PTX u16 sub_half(u16 a, u16 b) {
  const f64 x = T::wide(flushed_half<T, ftz>(a)), y = T::wide(flushed_half<T, ftz>(b));
  return limited_half<T, sat, false>(flushed_half<T, ftz>(T::narrow(to_odd_f32(add_to_odd(x, -y)))));
}
template <class T, bool ftz = false, bool sat = false>
WARPLOOM_PTX u16 mul_half(u16 a, u16 b) {
  const f64 product = static_cast<f64>(T::wide(flushed_half<T, ftz>(a))) * T::wide(flushed_half<T, ftz>(b));
  return limited_half<T, sat, false>(flushed_half<T, ftz>(T::narrow(to_odd_f32(product))));
}
/// .xorsign: the sign is that of the operands' bits, of NaNs too.
template <class T, bool ftz, bool nan, bool xorsign, bool larger>
WARPLOOM_PTX u16 extreme_half(u16 a, u16 b) {
  a = flushed_half<T, ftz>(a);
  b = flushed_half<T, ftz>(b);
  constexpr u16 magnitude = xorsign ? 0x7fff : 0xffff;
  const f32 x = T::wide(static_cast<u16>(a & magnitude)), y = T::wide(static_cast<u16>(b & magnitude));
  const u16 r = T::narrow(larger ? max_f32<false, nan>(x, y) : min_f32<false, nan>(x, y));
  return xorsign && r <= T::exponent ? static_cast<u16>(r | ((a ^ b) & 0x8000u)) : r;
}
template <class T, bool ftz, bool nan, bool xorsign>
WARPLOOM_PTX u16 max_half(u16 a, u16 b) {
  return extreme_half<T, ftz, nan, xorsign, true>(a, b);
}
template <class T, bool ftz, bool nan, bool xorsign>
WARPLOOM_PTX u16 min_half(u16 a, u16 b) {
  return extreme_half<T, ftz, nan, xorsign, false>(a, b);
}
template <class T, bool ftz>
WARPLOOM_PTX u16 abs_half(u16 a) {
  return static_cast<u16>(flushed_half<T, ftz>(a) & 0x7fffu);
}
template <class T, bool ftz>
WARPLOOM_PTX u16 neg_half(u16 a) {
  return static_cast<u16>(flushed_half<T, ftz>(a) ^ 0x8000u);
}
template <class T, bool ftz>
WARPLOOM_PTX u16 ex2_half(u16 a) {
  return flushed_half<T, ftz>(T::narrow(ex2_subnormal(T::wide(flushed_half<T, ftz>(a)))));
}
template <class T>
WARPLOOM_PTX u16 tanh_half(u16 a) {
  return T::narrow(tanh_approx(T::wide(a)));
}

/// The same operation on both halves of each register: `pairs<mul_half<half, false, false>>(a, b)`.
template <auto operation, class... Registers>
WARPLOOM_PTX u32 pairs(Registers... registers) {
  return operation(static_cast<u16>(registers)...) | static_cast<u32>(operation(static_cast<u16>(registers >> 16)...))
                                                         << 16;
}

}  // namespace warploom::ptx::rt
