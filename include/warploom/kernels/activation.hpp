// Activation functions of an epilogue, in fp32, with the same bits on both machines: fused multiply-adds, minima,
// integers, and two functions of the GPU's special function unit, whose bits the loom knows; no library function of the
// host.
//
//   value = activate<Activation::silu>(value);         // 16 instructions; gelu_tanh 23, gelu 33, relu 1
//   value = activate(params.activation, value);
//   value = narrow::silu(value);                       // 6; gelu_tanh 8, gelu 16: for a result of 16 bits or fewer
//
// Those of fp32: silu and gelu_tanh are x / (1 + q), q a power of two; x is cut off from below where the reciprocal
// becomes 0, and for the exponent also from above, so that infinities do no harm. gelu is relu(x) - |x| P(|x|), where
// P, from 1/2 at 0 down to 0, is the part of |x| that a negative x keeps and a positive one loses. A NaN comes through
// the maximum with x. Where the result is larger than 1e-30 it is off by less than 4.25 units in the last place, by
// more than 2 for fewer than 2 of 100 inputs (tests/kernels/activation_test.cpp). The constants come from
// tools/activation_fit.py.
#pragma once

#include "warploom/arch/math.hpp"
#include "warploom/types/epilogue.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

namespace detail {

// log2(e) less 4.16 units of its last place: what e^-x then lacks for every power of two in it is 2.000 units of the
// last place, which one_plus_power puts there. A second float for the rest of log2(e) would cost an instruction.
inline constexpr float log2_e_less = 0x1.71546ep+0f;
// Added to a number below 2^22, it leaves the nearest integer n in the low bits: 0x4b400552 + n.
inline constexpr float integer_magic = 12582912.0f + 1362.0f;

/// 1 + 2^((n + f) log2(e) / log2_e_less), n = marked - integer_magic in [-127, 127], |f| <= 0.508; the power is off by
/// 8.7e-8 and its rounding. (0x4b400552 + n) (2^23 + 2), modulo 2^32, is (n + 127) 2^23 + 2 n + 2724: the float
/// 2^n (1 + (2 n + 2724) 2^-23). The fit of `power` takes 2724 2^-23 back.
WARPLOOM_FN float one_plus_power(float marked, float f) noexcept {
  float power = arch::fma(f, 0x1.5c276ep-10f, 0x1.3cfc18p-7f);
  power = arch::fma(power, f, 0x1.c69090p-5f);
  power = arch::fma(power, f, 0x1.ebd034p-3f);
  power = arch::fma(power, f, 0x1.62c6b4p-1f);
  power = arch::fma(power, f, 0x1.ffd576p-1f);
  return arch::fma(power, arch::as_float(arch::as_bits(marked) * 0x800002u), 1.0f);
}

/// 1 + e^-x, |x| <= 88
WARPLOOM_FN float silu_divisor(float x) noexcept {
  const float marked = arch::fma(x, -log2_e_less, integer_magic);
  const float n = arch::subtract(marked, integer_magic);
  return one_plus_power(marked, arch::fma(x, -log2_e_less, -n));
}

/// 1 + 2^-t(x), t(x) = 2 sqrt(2/pi) log2(e) (x + 0.044715 x^3), here with log2_e_less, |x| <= 10.03. The exponent needs
/// more bits than a float has: x^2 is cut into a multiple of 1/32 and a rest, and the constants so that `slope`, that
/// of the multiple, is exact.
WARPLOOM_FN float gelu_tanh_divisor(float x) noexcept {
  constexpr float linear = 2.3022069931f, linear_rest = 4.13385351e-07f;  // a multiple of 2^-20
  constexpr float cubic = 0.102935791016f, cubic_rest = 7.41316535e-06f;  // a multiple of 2^-15
  constexpr float thirty_seconds = 393216.0f;                             // whose last bit is 1/32
  const float square = arch::subtract(arch::fma(x, x, thirty_seconds), thirty_seconds);
  const float square_rest = arch::fma(x, x, -square);
  const float slope = arch::fma(square, -cubic, -linear);
  float slope_rest = arch::fma(square_rest, -(cubic + cubic_rest), -linear_rest);
  slope_rest = arch::fma(square, -cubic_rest, slope_rest);
  const float marked = arch::fma(x, slope, integer_magic);
  const float n = arch::subtract(marked, integer_magic);
  float f = arch::fma(x, slope, -n);
  f = arch::fma(x, slope_rest, f);
  return one_plus_power(marked, f);
}

}  // namespace detail

/// The same functions for results that are rounded to 16 bits or fewer: off by less than 2e-6 of the result where that
/// is larger than 1e-6, by less than 1e-5 down to 1e-30. The exponent of e is a single float here.
namespace narrow {

inline constexpr float log2_e = 0x1.715476p+0f;

/// x / (1 + e^-x); the cut is there for an infinity only
WARPLOOM_FN float silu(float x) noexcept {
  const float least = arch::maximum_or_nan(x, -128.0f);
  const float power = arch::exp2_approx(arch::multiply(least, -log2_e));
  return arch::multiply(least, arch::reciprocal_approx(arch::add(power, 1.0f)));
}

/// x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2
WARPLOOM_FN float gelu_tanh(float x) noexcept {
  constexpr float linear = -2.30220819f, cubic = -0.102943240f;  // 2 sqrt(2/pi) log2(e), and 0.044715 times that
  const float least = arch::maximum_or_nan(x, -16.0f);           // below, the power is infinite and the reciprocal 0
  const float slope = arch::fma(arch::multiply(least, least), cubic, linear);
  const float power = arch::exp2_approx(arch::multiply(least, slope));
  return arch::multiply(least, arch::reciprocal_approx(arch::add(power, 1.0f)));
}

/// x Phi(x) = relu(x) - a Phi(-a), a = |x|, with Phi(-a) = e^(-a^2/2) times a polynomial in r = 1 / (1 + 0.36 a)
WARPLOOM_FN float gelu(float x) noexcept {
  const float a = arch::minimum(arch::absolute(x), 14.0f);  // beyond, the power is 0
  const float power = arch::exp2_approx(arch::multiply(arch::multiply(a, a), -0.5f * log2_e));
  const float r = arch::reciprocal_approx(arch::fma(a, 0.36f, 1.0f));
  float tail = arch::fma(r, 0x1.8657a4p-5f, -0x1.74504ap-3f);
  tail = arch::fma(tail, r, 0x1.784094p-3f);
  tail = arch::fma(tail, r, 0x1.93c488p-6f);
  tail = arch::fma(tail, r, 0x1.1f92eap-3f);
  tail = arch::fma(tail, r, 0x1.22168ap-3f);
  tail = arch::fma(tail, r, 0x1.2657d2p-3f);
  tail = arch::multiply(tail, arch::multiply(power, r));
  return arch::fma(-a, tail, arch::maximum_or_nan(x, 0.0f));
}

}  // namespace narrow

WARPLOOM_FN float relu(float x) noexcept { return arch::maximum_or_nan(x, 0.0f); }

/// x / (1 + e^-x); the reciprocal is 0 below -87.34
WARPLOOM_FN float silu(float x) noexcept {
  const float least = arch::maximum_or_nan(x, -88.0f);
  return arch::multiply(least, arch::reciprocal(detail::silu_divisor(arch::minimum(least, 88.0f))));
}

/// x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2; the reciprocal is 0 below -10.01
WARPLOOM_FN float gelu_tanh(float x) noexcept {
  const float least = arch::maximum_or_nan(x, -10.03f);
  return arch::multiply(least, arch::reciprocal(detail::gelu_tanh_divisor(arch::minimum(least, 10.03f))));
}

/// x Phi(x), with Phi(-a) = e^(-a^2/2) c D(a) / (a D(a) + N(a)), c = 1 / sqrt(2 pi): the quotient c / (a + N/D) is
/// written so that the roundings of D cancel, and N counts for little where a is large. The power of two 2^-n in it is
/// added to the exponent of the denominator, which at the cut is beyond 2^126: its reciprocal is 0.
WARPLOOM_FN float gelu(float x) noexcept {
  constexpr float integer_magic = 12582912.0f;  // leaves n, of which 9 bits stay
  constexpr float half_log2_e = 0.5f * 1.44269502f, half_log2_e_rest = 0.5f * 1.92596303e-8f;
  const float a = arch::minimum(arch::absolute(x), 12.6f);
  const float square = arch::multiply(a, a);
  const float square_rest = arch::fma(a, a, -square);
  const float marked = arch::fma(square, half_log2_e, integer_magic);
  const float n = arch::subtract(marked, integer_magic);
  float f = arch::fma(square, -half_log2_e, n);
  f = arch::fma(square, -half_log2_e_rest, f);
  f = arch::fma(square_rest, -half_log2_e, f);
  float power = arch::fma(f, 0x1.00c772p-14f, 0x1.18461ap-11f);  // c 2^f, off by 4.7e-9 and its rounding
  power = arch::fma(power, f, 0x1.f6f3cep-9f);
  power = arch::fma(power, f, 0x1.6ac8d6p-6f);
  power = arch::fma(power, f, 0x1.888bdap-4f);
  power = arch::fma(power, f, 0x1.1b2990p-2f);
  power = arch::fma(power, f, 0x1.988454p-2f);

  float top = arch::fma(a, 0x1.2f0f80p-7f, 0x1.68fc00p-4f);  // D
  top = arch::fma(top, a, 0x1.8c23dcp-2f);
  top = arch::fma(top, a, 0x1.ceeb6ep-1f);
  top = arch::fma(top, a, 1.0f);
  float bottom = arch::fma(a, 0x1.621a9cp-20f, 0x1.2d4386p-7f);  // N
  bottom = arch::fma(bottom, a, 0x1.6d09f6p-4f);
  bottom = arch::fma(bottom, a, 0x1.6e9caep-2f);
  bottom = arch::fma(bottom, a, 0x1.988454p-1f);
  bottom = arch::fma(a, top, bottom);
  bottom = arch::as_float(arch::as_bits(bottom) + (arch::as_bits(marked) << 23));

  const float r = arch::reciprocal(bottom);
  top = arch::multiply(top, power);
  float tail = arch::multiply(top, r);
  tail = arch::fma(arch::fma(-bottom, tail, top), r, tail);  // the remainder of the quotient
  return arch::fma(-a, tail, arch::maximum_or_nan(x, 0.0f));
}

template <Activation kind>
WARPLOOM_FN float activate(float x) noexcept {
  if constexpr (kind == Activation::relu) {
    return relu(x);
  } else if constexpr (kind == Activation::gelu) {
    return gelu(x);
  } else if constexpr (kind == Activation::gelu_tanh) {
    return gelu_tanh(x);
  } else if constexpr (kind == Activation::silu) {
    return silu(x);
  } else {
    return x;
  }
}

/// The same with a function known at run time only. The switch belongs around the loop over elements, not into it.
WARPLOOM_FN float activate(Activation kind, float x) noexcept {
  switch (kind) {
    case Activation::none: break;
    case Activation::relu: return relu(x);
    case Activation::gelu: return gelu(x);
    case Activation::gelu_tanh: return gelu_tanh(x);
    case Activation::silu: return silu(x);
  }
  return x;
}

}  // namespace warploom::inline WARPLOOM_MACHINE
