// Directed roundings of translated PTX: the host's own, switched for one operation. Compiled so that no operation moves
// across a switch.
#include <cfenv>
#include <cmath>

#include "warploom/ptx/halves.hpp"
#include "warploom/types/convert_narrow.hpp"

namespace warploom::ptx::rt {
namespace {

int mode_of(Round round) {
  switch (round) {
    case Round::zero: return FE_TOWARDZERO;
    case Round::minus: return FE_DOWNWARD;
    case Round::plus: return FE_UPWARD;
    default: return FE_TONEAREST;
  }
}

/// The host's rounding, until the end of the scope.
class Rounded {
 public:
  explicit Rounded(Round round) : before_(std::fegetround()) { std::fesetround(mode_of(round)); }
  ~Rounded() { std::fesetround(before_); }
  Rounded(const Rounded&) = delete;
  Rounded& operator=(const Rounded&) = delete;

 private:
  int before_;
};

template <class T>
T directed(Directed operation, Round round, T a, T b, T c) {
  // Volatile: neither computed before nor moved behind.
  const volatile T x = a, y = b, z = c;
  volatile T result = 0;
  const Rounded rounded(round);
  switch (operation) {
    case Directed::add: result = x + y; break;
    case Directed::multiply: result = x * y; break;
    case Directed::fma: result = std::fma(x, y, z); break;
    case Directed::divide: result = x / y; break;
    case Directed::root: result = std::sqrt(x); break;
  }
  return result;
}

template <class T>
T from_integer(Round round, u64 magnitude, bool negative) {
  // Toward minus infinity a negative number's magnitude goes up.
  if (negative && round == Round::minus)
    round = Round::plus;
  else if (negative && round == Round::plus)
    round = Round::minus;
  const volatile u64 value = magnitude;
  volatile T result = 0;
  const Rounded rounded(round);
  result = static_cast<T>(value);
  return negative ? -result : result;
}

/// Cuts a magnitude to 16 bits and goes one up where the rounding says so and something is lost.
template <class Narrow, class Wide>
u16 narrow(f32 value, Round round, bool saturate, bool relu, u16 largest, Narrow nearest, Wide wide) {
  if (value != value) return 0x7fff;
  if (relu && (U(value) >> 31) != 0) return 0;
  u16 code = nearest(value);
  if (round != Round::nearest && !is_infinite(value)) {
    const auto magnitude = [&](u16 x) { return wide(static_cast<u16>(x & 0x7fff)); };
    const f32 exact = F(U(value) & 0x7fffffffu);
    const u16 sign = code & 0x8000;
    code = static_cast<u16>(code & 0x7fff);
    if (magnitude(code) > exact) --code;  // toward zero
    const bool up = (round == Round::plus && sign == 0) || (round == Round::minus && sign != 0);
    if (up && magnitude(code) < exact) ++code;
    code = static_cast<u16>(code | sign);
  }
  if (saturate && (code & 0x7fff) > largest) code = static_cast<u16>((code & 0x8000) | largest);
  return code;
}

}  // namespace

f32 directed_f32(Directed operation, Round round, f32 a, f32 b, f32 c) noexcept {
  return directed(operation, round, a, b, c);
}
f64 directed_f64(Directed operation, Round round, f64 a, f64 b, f64 c) noexcept {
  return directed(operation, round, a, b, c);
}
f32 directed_narrow(Round round, f64 a) noexcept {
  const volatile f64 value = a;
  volatile f32 result = 0;
  const Rounded rounded(round);
  result = static_cast<f32>(value);
  return result;
}
f64 directed_wide(Round round, u64 magnitude, bool negative) noexcept {
  return from_integer<f64>(round, magnitude, negative);
}
f32 directed_single(Round round, u64 magnitude, bool negative) noexcept {
  return from_integer<f32>(round, magnitude, negative);
}
u16 narrow_f16(f32 value, Round round, bool saturate, bool relu) noexcept {
  return narrow(value, round, saturate, relu, 0x7bff, f32_to_f16, f16_to_f32);
}
u16 narrow_bf16(f32 value, Round round, bool saturate, bool relu) noexcept {
  return narrow(value, round, saturate, relu, 0x7f7f, f32_to_bf16, bf16_to_f32);
}

}  // namespace warploom::ptx::rt
