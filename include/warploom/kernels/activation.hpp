// Activation functions of an epilogue, in fp32, with the same bits on both machines: fused multiply-adds, minima and
// one shift, no approximate instruction of the GPU and no library function of the host.
//
//   value = activate<Activation::silu>(value);     // 22 instructions; gelu_tanh 28, gelu 35, relu 1
//   value = activate(params.activation, value);
//
// All but relu have one shape: f(x) = relu(x) - |x| P(|x|), where P, from 1/2 at 0 down to 0, is the part of |x| that a
// negative x keeps and a positive one loses. P falls like an exponential, which is computed as a power of two; |x| is
// cut off where that power becomes 0, so that infinities do no harm. A NaN comes through relu(x). Where the result is
// larger than 1e-30 it is off by less than 4.25 units in the last place, by more than 2 for fewer than 2 of 100 inputs
// (tests/kernels/activation_test.cpp). The constants come from tools/activation_fit.py.
#pragma once

#include "warploom/arch/math.hpp"
#include "warploom/types/epilogue.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

namespace detail {

// Added to a number below 2^22, it leaves the nearest integer plus 127 in the low bits: an exponent field.
inline constexpr float exponent_magic = 12582912.0f + 127.0f;
inline constexpr float log2_e = 1.44269502f, log2_e_rest = 1.92596303e-8f;
// What scaled_exp2 multiplies the power with: its constant term is then 1 (tools/activation_fit.py).
inline constexpr float exp2_scale = 0.99999994f;

/// 2^n, n = marked - exponent_magic; 0 for n = -127
WARPLOOM_FN float power_of_two(float marked) noexcept { return arch::as_float(arch::as_bits(marked) << 23); }

/// exp2_scale * 2^(n + f), |f| <= 0.508: off by 9.4e-8 and its rounding
WARPLOOM_FN float scaled_exp2(float marked, float f) noexcept {
  float power = arch::fma(f, 0x1.5c08eap-10f, 0x1.3d0c42p-7f);
  power = arch::fma(power, f, 0x1.c6b6dap-5f);
  power = arch::fma(power, f, 0x1.ebf92cp-3f);
  power = arch::fma(power, f, 0x1.62e428p-1f);
  power = arch::fma(power, f, 1.0f);
  return arch::multiply(power, power_of_two(marked));
}

/// relu(x) - a q / (exp2_scale + q), 0 <= q <= exp2_scale: x times a sigmoid. The cubic for 1 / (1 + q) is off by
/// e <= 0.0018, and 1 + e + e^2 makes up for that but for e^3. The denominator is never formed, and so
/// never rounded.
WARPLOOM_FN float times_sigmoid(float x, float a, float q) noexcept {
  float r = arch::fma(q, -0x1.c65286p-3f, 0x1.54bde4p-1f);
  r = arch::fma(r, q, -0x1.e2b7aep-1f);
  r = arch::fma(r, q, 0x1.ff1cd6p-1f);
  float e = arch::fma(r, -exp2_scale, 1.0f);
  e = arch::fma(-q, r, e);
  r = arch::fma(r, arch::fma(e, e, e), r);
  return arch::fma(-a, arch::multiply(q, r), arch::maximum_or_nan(x, 0.0f));
}

}  // namespace detail

WARPLOOM_FN float relu(float x) noexcept { return arch::maximum_or_nan(x, 0.0f); }

/// x / (1 + e^-x)
WARPLOOM_FN float silu(float x) noexcept {
  const float a = arch::minimum(arch::absolute(x), 88.0f);
  const float marked = arch::fma(a, -detail::log2_e, detail::exponent_magic);
  const float n = arch::subtract(marked, detail::exponent_magic);
  float f = arch::fma(a, -detail::log2_e, -n);
  f = arch::fma(a, -detail::log2_e_rest, f);
  return detail::times_sigmoid(x, a, detail::scaled_exp2(marked, f));
}

/// x / (1 + 2^-t(x)), t(x) = 2 sqrt(2/pi) log2(e) (x + 0.044715 x^3). The exponent needs more bits than a float has:
/// a^2 is cut into a multiple of 1/32 and a rest, and the constants so that `slope`, that of the multiple, is exact.
WARPLOOM_FN float gelu_tanh(float x) noexcept {
  constexpr float linear = 2.30220794678f, linear_rest = 2.5136697e-7f;  // a multiple of 2^-20
  constexpr float cubic = 0.102935791016f, cubic_rest = 7.44856425e-6f;  // a multiple of 2^-15
  constexpr float thirty_seconds = 393216.0f;                            // whose last bit is 1/32
  const float a = arch::minimum(arch::absolute(x), 10.03f);
  const float square = arch::subtract(arch::fma(a, a, thirty_seconds), thirty_seconds);
  const float square_rest = arch::fma(a, a, -square);
  const float slope = arch::fma(square, -cubic, -linear);
  float slope_rest = arch::fma(square_rest, -(cubic + cubic_rest), -linear_rest);
  slope_rest = arch::fma(square, -cubic_rest, slope_rest);
  const float marked = arch::fma(a, slope, detail::exponent_magic);
  const float n = arch::subtract(marked, detail::exponent_magic);
  float f = arch::fma(a, slope, -n);
  f = arch::fma(a, slope_rest, f);
  return detail::times_sigmoid(x, a, detail::scaled_exp2(marked, f));
}

/// x Phi(x), with Phi(-a) = e^(-a^2/2) c D(a) / (a D(a) + N(a)), c = 1 / sqrt(2 pi). The quotient c / (a + N/D) is
/// written so that the roundings of D cancel, and N counts for little where a is large.
WARPLOOM_FN float gelu(float x) noexcept {
  constexpr float half_log2_e = 0.5f * detail::log2_e, half_log2_e_rest = 0.5f * detail::log2_e_rest;
  const float a = arch::minimum(arch::absolute(x), 13.27f);
  const float square = arch::multiply(a, a);
  const float square_rest = arch::fma(a, a, -square);
  const float marked = arch::fma(square, -half_log2_e, detail::exponent_magic);
  const float n = arch::subtract(marked, detail::exponent_magic);
  float f = arch::fma(square, -half_log2_e, -n);
  f = arch::fma(square, -half_log2_e_rest, f);
  f = arch::fma(square_rest, -half_log2_e, f);
  float power = arch::fma(f, 0x1.00c772p-14f, 0x1.18461ap-11f);  // c 2^f, off by 4.7e-9 and its rounding
  power = arch::fma(power, f, 0x1.f6f3cep-9f);
  power = arch::fma(power, f, 0x1.6ac8d6p-6f);
  power = arch::fma(power, f, 0x1.888bdap-4f);
  power = arch::fma(power, f, 0x1.1b2990p-2f);
  power = arch::fma(power, f, 0x1.988454p-2f);
  power = arch::multiply(power, detail::power_of_two(marked));

  float top = arch::fma(a, 0x1.2f0f80p-7f, 0x1.68fc00p-4f);  // D
  top = arch::fma(top, a, 0x1.8c23dcp-2f);
  top = arch::fma(top, a, 0x1.ceeb6ep-1f);
  top = arch::fma(top, a, 1.0f);
  float bottom = arch::fma(a, 0x1.621a9cp-20f, 0x1.2d4386p-7f);  // N
  bottom = arch::fma(bottom, a, 0x1.6d09f6p-4f);
  bottom = arch::fma(bottom, a, 0x1.6e9caep-2f);
  bottom = arch::fma(bottom, a, 0x1.988454p-1f);
  bottom = arch::fma(a, top, bottom);

  // 1 / bottom: the integer is off by up to 5 %, one step leaves 1.3e-4; the quotient, its remainder added, 1.7e-8.
  float r = arch::as_float(0x7ef311c7u - arch::as_bits(bottom));
  const float e = arch::fma(-bottom, r, 1.0f);
  r = arch::fma(r, arch::fma(e, e, e), r);
  top = arch::multiply(top, power);
  float tail = arch::multiply(top, r);
  tail = arch::fma(arch::fma(-bottom, tail, top), r, tail);
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
