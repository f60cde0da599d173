// `cvt` of translated PTX. Part of runtime.hpp.
#pragma once

#include "warploom/arch/convert.hpp"
#include "warploom/ptx/halves.hpp"

namespace warploom::ptx::rt {

using ::warploom::e2m1;
using ::warploom::e2m3;
using ::warploom::e3m2;
using ::warploom::e4m3;
using ::warploom::e5m2;
using ::warploom::Overflow;
using ::warploom::Rounding;
using ::warploom::ScaleRounding;
namespace arch = ::warploom::arch;

/// Integer to integer, clamped to what the target holds.
template <class T, class S>
WARPLOOM_PTX T cvt_sat(S a) {
  if constexpr (std::is_signed_v<S>) {
    if (a < 0 && !std::is_signed_v<T>) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (s64{a} < s64{std::numeric_limits<T>::min()}) return std::numeric_limits<T>::min();
    }
    if (a >= 0 && static_cast<u64>(a) > static_cast<u64>(std::numeric_limits<T>::max()))
      return std::numeric_limits<T>::max();
  } else {
    if (u64{a} > static_cast<u64>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(a);
}

/// To an integer, as a float: .rni, .rzi, .rmi, .rpi
template <Round round>
WARPLOOM_PTX f32 whole(f32 a) {
  return round == Round::nearest ? __builtin_rintf(a)
         : round == Round::zero  ? __builtin_truncf(a)
         : round == Round::minus ? __builtin_floorf(a)
                                 : __builtin_ceilf(a);
}
template <Round round>
WARPLOOM_PTX f64 whole(f64 a) {
  return round == Round::nearest ? __builtin_rint(a)
         : round == Round::zero  ? __builtin_trunc(a)
         : round == Round::minus ? __builtin_floor(a)
                                 : __builtin_ceil(a);
}
template <Round round, bool ftz, bool sat>
WARPLOOM_PTX f32 round_f32(f32 a) {
  return clamped<sat>(canonical(whole<round>(flushed<ftz>(a))));
}
template <Round round, bool sat>
WARPLOOM_PTX f64 round_f64(f64 a) {
  return clamped<sat>(canonical(whole<round>(a)));
}
/// Beyond the range, the nearest that is in it. A NaN: 0, and for integers of 64 bits, or of f64, the top bit alone
/// (of 32 bits) as well.
template <class T, Round round, bool ftz, class S>
WARPLOOM_PTX T float_to_int(S a) {
  constexpr bool wide_source = std::is_same_v<S, f64>;
  if (a != a) {
    if (sizeof(T) == 8) return static_cast<T>(1ull << 63);
    if (wide_source && sizeof(T) == 4) return static_cast<T>(1u << 31);
    return 0;
  }
  if constexpr (!wide_source) a = flushed<ftz>(a);
  const S r = whole<round>(a);
  if (r <= static_cast<S>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (r >= static_cast<S>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(r);
}
template <class T>
WARPLOOM_PTX u64 magnitude_of(T a) {
  return a < 0 ? 0 - static_cast<u64>(static_cast<s64>(a)) : static_cast<u64>(a);
}
template <Round round, bool sat, class S>
WARPLOOM_PTX f32 int_to_f32(S a) {
  if constexpr (round == Round::nearest)
    return clamped<sat>(static_cast<f32>(a));
  else
    return clamped<sat>(directed_single(round, magnitude_of(a), a < 0));
}
template <Round round, bool sat, class S>
WARPLOOM_PTX f64 int_to_f64(S a) {
  if constexpr (round == Round::nearest)
    return clamped<sat>(static_cast<f64>(a));
  else
    return clamped<sat>(directed_wide(round, magnitude_of(a), a < 0));
}
/// An integer as f32 rounded to odd: what the conversion to 16 bits then rounds.
template <class S>
WARPLOOM_PTX f32 int_to_odd(S a) {
  const f32 down = directed_single(Round::zero, magnitude_of(a), a < 0);
  const f32 up = directed_single(a < 0 ? Round::minus : Round::plus, magnitude_of(a), a < 0);
  return down == up ? down : F(U(down) | 1);
}
template <class T, Round round, class S>
WARPLOOM_PTX u16 int_to_half(S a) {
  const f32 wide = int_to_odd(a);
  if constexpr (round == Round::nearest) return T::narrow(wide);
  return std::is_same_v<T, half> ? narrow_f16(wide, round, false, false) : narrow_bf16(wide, round, false, false);
}

template <Round round, bool ftz, bool sat>
WARPLOOM_PTX f32 f64_to_f32(f64 a) {
  const f32 r = round == Round::nearest ? static_cast<f32>(a) : directed_narrow(round, a);
  return clamped<sat>(flushed<ftz>(canonical(r)));
}
template <bool ftz, bool sat>
WARPLOOM_PTX f64 f32_to_f64(f32 a) {
  return clamped<sat>(canonical(static_cast<f64>(flushed<ftz>(a))));
}
template <bool ftz, bool sat>
WARPLOOM_PTX f32 f16_to_float(u16 a) {
  (void)ftz;  // no f16 is a subnormal f32
  return clamped<sat>(f16_to_f32(a));
}
template <bool ftz, bool sat>
WARPLOOM_PTX f32 bf16_to_float(u16 a) {
  return clamped<sat>(flushed<ftz>(bf16_to_f32(a)));
}
template <Round round, bool ftz, bool relu, bool finite, bool sat>
WARPLOOM_PTX u16 f32_to_half(f32 a) {
  a = flushed<ftz>(a);
  if constexpr (sat) a = clamped<true>(a);
  if constexpr (round == Round::nearest && !relu && !finite) return f32_to_f16(a);
  return narrow_f16(a, round, finite, relu);
}
template <Round round, bool relu, bool finite>
WARPLOOM_PTX u16 f32_to_brain(f32 a) {
  if constexpr (round == Round::nearest && !relu && !finite) return f32_to_bf16(a);
  return narrow_bf16(a, round, finite, relu);
}
template <class T, Round round>
WARPLOOM_PTX u16 round_half(u16 a) {
  return T::narrow(whole<round>(T::wide(a)));
}

template <Round round, bool relu, bool finite>
WARPLOOM_PTX u32 tf32_of(f32 a) {
  constexpr Rounding rounding = round == Round::nearest ? Rounding::nearest_even : Rounding::toward_zero;
  if (relu && !is_notanumber(a) && (U(a) >> 31) != 0) a = 0;
  u32 r = arch::to_tf32<rounding>(a);
  if (finite && (r & 0x7fffffffu) == 0x7f800000u) r = (r & 0x80000000u) | 0x7f7fe000u;
  return r;
}

// ---- narrower than 16 bits

template <class T, bool relu>
WARPLOOM_PTX u32 halves_of(u16 codes) {
  const u32 r = arch::unpack<T>(codes);
  return relu ? limited_half<half, false, true>(static_cast<u16>(r)) |
                    static_cast<u32>(limited_half<half, false, true>(static_cast<u16>(r >> 16))) << 16
              : r;
}
template <Round round, bool finite>
WARPLOOM_PTX u16 scales_of(f32 low, f32 high) {
  return arch::pack_ue8m0 < round == Round::plus ? ScaleRounding::up : ScaleRounding::toward_zero,
         finite ? Overflow::saturate : Overflow::special > (low, high);
}
template <Round round, bool finite>
WARPLOOM_PTX u16 scales_of_brains(u32 brains) {
  return arch::pack_ue8m0_bf16 < round == Round::plus ? ScaleRounding::up : ScaleRounding::toward_zero,
         finite ? Overflow::saturate : Overflow::special > (brains);
}
/// cvt.pack: two integers, clamped to `bits` each; what was in `c` moves up.
template <u32 bits, bool is_signed>
WARPLOOM_PTX u32 pack_clamped(s32 a, s32 b, u32 c) {
  constexpr s32 least = is_signed ? -(1 << (bits - 1)) : 0;
  constexpr s32 most = is_signed ? (1 << (bits - 1)) - 1 : static_cast<s32>((1u << bits) - 1);
  constexpr u32 mask = (1u << bits) - 1;
  const auto limited = [](s32 x) __attribute__((always_inline)) {
    return static_cast<u32>(x < least ? least : x > most ? most : x) & mask;
  };
  const u32 low = limited(b) | limited(a) << bits;
  return bits == 16 ? low : low | c << 2 * bits;
}

}  // namespace warploom::ptx::rt
