// The special functions of translated PTX beside ex2 and rcp (loom/special_functions.cpp): computed in f64 and rounded
// once, within the errors that PTX allows.
#include <cmath>

#include "warploom/ptx/floats.hpp"

namespace warploom::ptx::rt {

f32 lg2_approx(f32 a) noexcept { return canonical(static_cast<f32>(std::log2(static_cast<f64>(a)))); }
f32 sin_approx(f32 a) noexcept { return canonical(static_cast<f32>(std::sin(static_cast<f64>(a)))); }
f32 cos_approx(f32 a) noexcept { return canonical(static_cast<f32>(std::cos(static_cast<f64>(a)))); }
f32 tanh_approx(f32 a) noexcept { return canonical(static_cast<f32>(std::tanh(static_cast<f64>(a)))); }
f32 sqrt_approx(f32 a) noexcept { return canonical(std::sqrt(a)); }
f32 rsqrt_approx(f32 a) noexcept { return canonical(static_cast<f32>(1.0 / std::sqrt(static_cast<f64>(a)))); }
f32 div_full(f32 a, f32 b) noexcept { return canonical(static_cast<f32>(static_cast<f64>(a) / static_cast<f64>(b))); }

/// Without .ftz: subnormal results are kept. The larger ones are those of the unit.
f32 ex2_subnormal(f32 a) noexcept {
  if (a < -126.0f) return static_cast<f32>(std::exp2(static_cast<f64>(a)));
  return ::warploom::loom::exp2_approx(a);
}
f32 rcp_approx(f32 a) noexcept {
  const f32 magnitude = F(U(a) & 0x7fffffffu);
  if (magnitude > 0x1p126f || magnitude < 0x1p-126f) return canonical(1.0f / a);
  return ::warploom::loom::reciprocal_approx(a);
}
/// The upper half of the result alone: what lies below is zero.
f64 rcp_approx_f64(f64 a) noexcept {
  const f64 flushed = (U(a) >> 52 & 0x7ff) == 0 ? std::copysign(0.0, a) : a;
  const f64 r = canonical(1.0 / flushed);
  return D(U(r) & 0xffffffff00000000ull);
}
f64 rsqrt_approx_f64(f64 a) noexcept {
  const f64 r = canonical(1.0 / std::sqrt(a));
  return D(U(r) & 0xffffffff00000000ull);
}

}  // namespace warploom::ptx::rt
