// f32 and f64 of translated PTX. Every NaN that comes out of f32 arithmetic is 0x7fffffff, as on the chips; .ftz
// flushes subnormal operands and results to zeros of their sign; .sat clamps to [0, 1], a NaN to +0. Part of
// runtime.hpp.
#pragma once

#include "warploom/loom/special_functions.hpp"
#include "warploom/ptx/integers.hpp"

namespace warploom::ptx::rt {

WARPLOOM_PTX f32 F(u32 x) { return std::bit_cast<f32>(x); }
WARPLOOM_PTX u32 U(f32 x) { return std::bit_cast<u32>(x); }
WARPLOOM_PTX f64 D(u64 x) { return std::bit_cast<f64>(x); }
WARPLOOM_PTX u64 U(f64 x) { return std::bit_cast<u64>(x); }

/// .rn, .rz, .rm, .rp
enum class Round : u8 { nearest, zero, minus, plus };
enum class Directed : u8 { add, multiply, fma, divide, root };

#pragma GCC visibility push(default)
/// Rounded to zero, down or up.
f32 directed_f32(Directed operation, Round round, f32 a, f32 b, f32 c) noexcept;
f64 directed_f64(Directed operation, Round round, f64 a, f64 b, f64 c) noexcept;
f32 directed_narrow(Round round, f64 a) noexcept;
f64 directed_wide(Round round, u64 magnitude, bool negative) noexcept;
f32 directed_single(Round round, u64 magnitude, bool negative) noexcept;
f32 lg2_approx(f32 a) noexcept;
f32 sin_approx(f32 a) noexcept;
f32 cos_approx(f32 a) noexcept;
f32 tanh_approx(f32 a) noexcept;
f32 sqrt_approx(f32 a) noexcept;
f32 rsqrt_approx(f32 a) noexcept;
f32 div_full(f32 a, f32 b) noexcept;
f32 ex2_subnormal(f32 a) noexcept;
f32 rcp_approx(f32 a) noexcept;
f64 rcp_approx_f64(f64 a) noexcept;
f64 rsqrt_approx_f64(f64 a) noexcept;
#pragma GCC visibility pop

WARPLOOM_PTX f32 canonical(f32 x) { return x == x ? x : F(0x7fffffffu); }
WARPLOOM_PTX f64 canonical(f64 x) { return x == x ? x : D(0xfff8000000000000ull); }
WARPLOOM_PTX f32 flush(f32 x) { return (U(x) & 0x7f800000u) == 0 ? F(U(x) & 0x80000000u) : x; }
template <bool ftz>
WARPLOOM_PTX f32 flushed(f32 x) {
  return ftz ? flush(x) : x;
}
template <bool sat>
WARPLOOM_PTX f32 clamped(f32 x) {
  if constexpr (!sat) return x;
  return x > 0 ? (x > 1 ? 1.0f : x) : 0.0f;  // a NaN is not above 0
}
template <bool sat>
WARPLOOM_PTX f64 clamped(f64 x) {
  if constexpr (!sat) return x;
  return x > 0 ? (x > 1 ? 1.0 : x) : 0.0;
}

template <Round round = Round::nearest, bool ftz = false, bool sat = false>
WARPLOOM_PTX f32 add_f32(f32 a, f32 b) {
  a = flushed<ftz>(a);
  b = flushed<ftz>(b);
  const f32 r = round == Round::nearest ? a + b : directed_f32(Directed::add, round, a, b, 0);
  return clamped<sat>(flushed<ftz>(canonical(r)));
}
template <Round round = Round::nearest, bool ftz = false, bool sat = false>
WARPLOOM_PTX f32 sub_f32(f32 a, f32 b) {
  a = flushed<ftz>(a);
  b = flushed<ftz>(b);
  const f32 r = round == Round::nearest ? a - b : directed_f32(Directed::add, round, a, -b, 0);
  return clamped<sat>(flushed<ftz>(canonical(r)));
}
template <Round round = Round::nearest, bool ftz = false, bool sat = false>
WARPLOOM_PTX f32 mul_f32(f32 a, f32 b) {
  a = flushed<ftz>(a);
  b = flushed<ftz>(b);
  const f32 r = round == Round::nearest ? a * b : directed_f32(Directed::multiply, round, a, b, 0);
  return clamped<sat>(flushed<ftz>(canonical(r)));
}
template <Round round = Round::nearest, bool ftz = false, bool sat = false>
WARPLOOM_PTX f32 fma_f32(f32 a, f32 b, f32 c) {
  a = flushed<ftz>(a);
  b = flushed<ftz>(b);
  c = flushed<ftz>(c);
  const f32 r = round == Round::nearest ? __builtin_fmaf(a, b, c) : directed_f32(Directed::fma, round, a, b, c);
  return clamped<sat>(flushed<ftz>(canonical(r)));
}
template <Round round = Round::nearest, bool ftz = false>
WARPLOOM_PTX f32 div_f32(f32 a, f32 b) {
  a = flushed<ftz>(a);
  b = flushed<ftz>(b);
  const f32 r = round == Round::nearest ? a / b : directed_f32(Directed::divide, round, a, b, 0);
  return flushed<ftz>(canonical(r));
}
template <Round round = Round::nearest, bool ftz = false>
WARPLOOM_PTX f32 rcp_f32(f32 a) {
  return div_f32<round, ftz>(1.0f, a);
}
template <Round round = Round::nearest, bool ftz = false>
WARPLOOM_PTX f32 sqrt_f32(f32 a) {
  a = flushed<ftz>(a);
  const f32 r = round == Round::nearest ? __builtin_sqrtf(a) : directed_f32(Directed::root, round, a, 0, 0);
  return canonical(r);
}
template <Round round = Round::nearest>
WARPLOOM_PTX f64 add_f64(f64 a, f64 b) {
  return canonical(round == Round::nearest ? a + b : directed_f64(Directed::add, round, a, b, 0));
}
template <Round round = Round::nearest>
WARPLOOM_PTX f64 sub_f64(f64 a, f64 b) {
  return canonical(round == Round::nearest ? a - b : directed_f64(Directed::add, round, a, -b, 0));
}
template <Round round = Round::nearest>
WARPLOOM_PTX f64 mul_f64(f64 a, f64 b) {
  return canonical(round == Round::nearest ? a * b : directed_f64(Directed::multiply, round, a, b, 0));
}
template <Round round = Round::nearest>
WARPLOOM_PTX f64 fma_f64(f64 a, f64 b, f64 c) {
  return canonical(round == Round::nearest ? __builtin_fma(a, b, c) : directed_f64(Directed::fma, round, a, b, c));
}
template <Round round = Round::nearest>
WARPLOOM_PTX f64 div_f64(f64 a, f64 b) {
  return canonical(round == Round::nearest ? a / b : directed_f64(Directed::divide, round, a, b, 0));
}
template <Round round = Round::nearest>
WARPLOOM_PTX f64 rcp_f64(f64 a) {
  return div_f64<round>(1.0, a);
}
template <Round round = Round::nearest>
WARPLOOM_PTX f64 sqrt_f64(f64 a) {
  return canonical(round == Round::nearest ? __builtin_sqrt(a) : directed_f64(Directed::root, round, a, 0, 0));
}

// ---- min, max: of a number and a NaN the number, of two zeros +0 is the larger

template <bool ftz = false, bool nan = false, bool xorsign = false>
WARPLOOM_PTX f32 max_f32(f32 a, f32 b) {
  a = flushed<ftz>(a);
  b = flushed<ftz>(b);
  const u32 sign = (U(a) ^ U(b)) & 0x80000000u;
  if constexpr (xorsign) {
    a = F(U(a) & 0x7fffffffu);
    b = F(U(b) & 0x7fffffffu);
  }
  f32 r;
  if (a != a)
    r = nan ? canonical(a) : canonical(b);
  else if (b != b)
    r = nan ? canonical(b) : a;
  else
    r = a > b ? a : a < b ? b : F(U(a) & U(b));
  return xorsign && r == r ? F(U(r) | sign) : r;
}
template <bool ftz = false, bool nan = false, bool xorsign = false>
WARPLOOM_PTX f32 min_f32(f32 a, f32 b) {
  a = flushed<ftz>(a);
  b = flushed<ftz>(b);
  const u32 sign = (U(a) ^ U(b)) & 0x80000000u;
  if constexpr (xorsign) {
    a = F(U(a) & 0x7fffffffu);
    b = F(U(b) & 0x7fffffffu);
  }
  f32 r;
  if (a != a)
    r = nan ? canonical(a) : canonical(b);
  else if (b != b)
    r = nan ? canonical(b) : a;
  else
    r = a < b ? a : a > b ? b : F(U(a) | U(b));
  return xorsign && r == r ? F(U(r) | sign) : r;
}
WARPLOOM_PTX f64 max_f64(f64 a, f64 b) {
  if (a != a) return canonical(b);
  if (b != b || a > b) return a;
  return a < b ? b : D(U(a) & U(b));
}
WARPLOOM_PTX f64 min_f64(f64 a, f64 b) {
  if (a != a) return canonical(b);
  if (b != b || a < b) return a;
  return a > b ? b : D(U(a) | U(b));
}
template <bool ftz>
WARPLOOM_PTX f32 abs_f32(f32 a) {
  return F(U(flushed<ftz>(a)) & 0x7fffffffu);
}
template <bool ftz>
WARPLOOM_PTX f32 neg_f32(f32 a) {
  return F(U(flushed<ftz>(a)) ^ 0x80000000u);
}
WARPLOOM_PTX f32 copysign_f32(f32 sign, f32 a) { return F((U(a) & 0x7fffffffu) | (U(sign) & 0x80000000u)); }
WARPLOOM_PTX f64 copysign_f64(f64 sign, f64 a) { return D((U(a) & ~(1ull << 63)) | (U(sign) & 1ull << 63)); }

// ---- approximations

template <bool ftz>
WARPLOOM_PTX f32 ex2_f32(f32 a) {
  return ftz ? ::warploom::loom::exp2_approx(a) : ex2_subnormal(a);
}
template <bool ftz>
WARPLOOM_PTX f32 rcp_approx_f32(f32 a) {
  return ftz ? ::warploom::loom::reciprocal_approx(a) : rcp_approx(a);
}
template <bool ftz>
WARPLOOM_PTX f32 lg2_f32(f32 a) {
  return lg2_approx(flushed<ftz>(a));
}
template <bool ftz>
WARPLOOM_PTX f32 sin_f32(f32 a) {
  return flushed<ftz>(sin_approx(flushed<ftz>(a)));
}
template <bool ftz>
WARPLOOM_PTX f32 cos_f32(f32 a) {
  return flushed<ftz>(cos_approx(flushed<ftz>(a)));
}
template <bool ftz>
WARPLOOM_PTX f32 sqrt_approx_f32(f32 a) {
  return sqrt_approx(flushed<ftz>(a));
}
template <bool ftz>
WARPLOOM_PTX f32 rsqrt_f32(f32 a) {
  return rsqrt_approx(flushed<ftz>(a));
}
template <bool ftz>
WARPLOOM_PTX f32 div_approx_f32(f32 a, f32 b) {
  return mul_f32<Round::nearest, ftz>(flushed<ftz>(a), rcp_approx_f32<ftz>(flushed<ftz>(b)));
}
template <bool ftz>
WARPLOOM_PTX f32 div_full_f32(f32 a, f32 b) {
  return flushed<ftz>(div_full(flushed<ftz>(a), flushed<ftz>(b)));
}

// ---- comparisons, classes

template <bool ftz>
WARPLOOM_PTX f32 compared(f32 a) {
  return flushed<ftz>(a);
}
WARPLOOM_PTX bool is_finite(f32 a) { return (U(a) & 0x7f800000u) != 0x7f800000u; }
WARPLOOM_PTX bool is_finite(f64 a) { return (U(a) >> 52 & 0x7ff) != 0x7ff; }
WARPLOOM_PTX bool is_infinite(f32 a) { return (U(a) & 0x7fffffffu) == 0x7f800000u; }
WARPLOOM_PTX bool is_infinite(f64 a) { return (U(a) & ~(1ull << 63)) == 0x7ffull << 52; }
WARPLOOM_PTX bool is_number(f32 a) { return a == a; }
WARPLOOM_PTX bool is_number(f64 a) { return a == a; }
WARPLOOM_PTX bool is_notanumber(f32 a) { return a != a; }
WARPLOOM_PTX bool is_notanumber(f64 a) { return a != a; }
WARPLOOM_PTX bool is_normal(f32 a) { return is_finite(a) && (U(a) & 0x7f800000u) != 0; }
WARPLOOM_PTX bool is_normal(f64 a) { return is_finite(a) && (U(a) >> 52 & 0x7ff) != 0; }
WARPLOOM_PTX bool is_subnormal(f32 a) { return (U(a) & 0x7f800000u) == 0; }
WARPLOOM_PTX bool is_subnormal(f64 a) { return (U(a) >> 52 & 0x7ff) == 0; }

// ---- two f32 in a 64-bit register

template <class Op>
WARPLOOM_PTX u64 both(u64 a, u64 b, Op op) {
  return U(op(F(static_cast<u32>(a)), F(static_cast<u32>(b)))) |
         u64{U(op(F(static_cast<u32>(a >> 32)), F(static_cast<u32>(b >> 32))))} << 32;
}
template <Round round, bool ftz>
WARPLOOM_PTX u64 add_f32x2(u64 a, u64 b) {
  return both(a, b, [](f32 x, f32 y) __attribute__((always_inline)) { return add_f32<round, ftz>(x, y); });
}
template <Round round, bool ftz>
WARPLOOM_PTX u64 sub_f32x2(u64 a, u64 b) {
  return both(a, b, [](f32 x, f32 y) __attribute__((always_inline)) { return sub_f32<round, ftz>(x, y); });
}
template <Round round, bool ftz>
WARPLOOM_PTX u64 mul_f32x2(u64 a, u64 b) {
  return both(a, b, [](f32 x, f32 y) __attribute__((always_inline)) { return mul_f32<round, ftz>(x, y); });
}
template <Round round, bool ftz>
WARPLOOM_PTX u64 fma_f32x2(u64 a, u64 b, u64 c) {
  return U(fma_f32<round, ftz>(F(static_cast<u32>(a)), F(static_cast<u32>(b)), F(static_cast<u32>(c)))) |
         u64{U(fma_f32<round, ftz>(F(static_cast<u32>(a >> 32)), F(static_cast<u32>(b >> 32)),
                                   F(static_cast<u32>(c >> 32))))}
             << 32;
}

}  // namespace warploom::ptx::rt
