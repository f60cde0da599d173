// Floats of the model: formats, exact values, one rounding.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "ptx/module.hpp"

namespace warploom::ptx::model {

struct Format {
  int exponent_bits, mantissa_bits;
  int total() const { return 1 + exponent_bits + mantissa_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint64_t sign() const { return uint64_t{1} << (total() - 1); }
  uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  uint64_t nan() const { return total() == 64 ? 0xfff8000000000000ull : sign() - 1; }
};
inline constexpr Format f16_format{5, 10}, bf16_format{8, 7}, f32_format{8, 23}, f64_format{11, 52};

inline Format format_of(Type type) {
  switch (type) {
    case Type::f16:
    case Type::f16x2: return f16_format;
    case Type::bf16:
    case Type::bf16x2: return bf16_format;
    case Type::f64: return f64_format;
    default: return f32_format;
  }
}

inline long double decode(uint64_t bits, const Format& f) {
  const uint64_t field = (bits & ~f.sign() & f.infinity()) >> f.mantissa_bits;
  const uint64_t mantissa = bits & ((uint64_t{1} << f.mantissa_bits) - 1);
  const bool negative = (bits & f.sign()) != 0;
  long double value = 0;
  if (field == f.infinity() >> f.mantissa_bits)
    value = mantissa == 0 ? static_cast<long double>(INFINITY) : static_cast<long double>(NAN);
  else if (field == 0)
    value = std::ldexp(static_cast<long double>(mantissa), 1 - f.bias() - f.mantissa_bits);
  else
    value = std::ldexp(static_cast<long double>(mantissa | uint64_t{1} << f.mantissa_bits),
                       static_cast<int>(field) - f.bias() - f.mantissa_bits);
  return negative ? -value : value;
}

/// mode: 'n', 'z', 'm', 'p'
inline uint64_t encode(long double value, const Format& f, char mode) {
  if (std::isnan(value)) return f.nan();
  const bool negative = std::signbit(value);
  const uint64_t sign = negative ? f.sign() : 0;
  long double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | f.infinity();
  if (magnitude == 0) return sign;
  int exponent = std::ilogb(magnitude);
  if (exponent < 1 - f.bias()) exponent = 1 - f.bias();
  const long double units = std::ldexp(magnitude, f.mantissa_bits - exponent);
  const long double below = std::floor(units), rest = units - below;
  auto kept = static_cast<uint64_t>(below);
  const bool up = (mode == 'p' && !negative) || (mode == 'm' && negative);
  if (mode == 'n' ? rest > 0.5L || (rest == 0.5L && (kept & 1) != 0) : up && rest > 0) ++kept;
  const uint64_t one = uint64_t{1} << f.mantissa_bits;
  const uint64_t code =
      kept < one ? kept : (static_cast<uint64_t>(exponent + f.bias()) << f.mantissa_bits) + (kept - one);
  if (code >= f.infinity()) return sign | (mode == 'n' || up ? f.infinity() : f.infinity() - 1);
  return sign | code;
}

/// Where long double has lost something, its last bit becomes odd, which no later rounding takes for a tie.
inline long double with_rest(long double value, long double rest) {
  if (rest == 0 || std::isnan(rest) || std::isinf(value)) return value;
  if (value == 0) return rest;
  uint8_t lowest = 0;
  std::memcpy(&lowest, &value, 1);
  if ((lowest & 1) != 0) return value;
  const auto infinity = static_cast<long double>(INFINITY);
  return std::nextafter(value, rest > 0 ? infinity : -infinity);
}
/// Of two zeros, or of numbers that cancel, the sign is the rounding's.
inline long double exact_sum(long double a, long double b, char mode) {
  const long double sum = a + b;
  if (std::isnan(sum) || std::isinf(sum)) return sum;
  if (sum == 0) return std::signbit(a) == std::signbit(b) ? sum : mode == 'm' ? -0.0L : 0.0L;
  const long double part = sum - a;
  return with_rest(sum, (a - (sum - part)) + (b - part));
}
inline long double exact_product(long double a, long double b) {
  const long double product = a * b;
  return std::isinf(product) ? product : with_rest(product, std::fma(a, b, -product));
}
inline long double exact_quotient(long double a, long double b) {
  const long double quotient = a / b;
  if (std::isnan(quotient) || std::isinf(quotient) || quotient == 0 || std::isinf(b)) return quotient;
  const long double rest = std::fma(-quotient, b, a);
  return with_rest(quotient, b > 0 ? rest : -rest);
}
inline long double exact_root(long double a) {
  const long double root = std::sqrt(a);
  if (std::isnan(root) || std::isinf(root) || root == 0) return root;
  return with_rest(root, std::fma(-root, root, a));
}

inline uint64_t flushed(uint64_t bits, const Format& f) { return (bits & f.infinity()) == 0 ? bits & f.sign() : bits; }

}  // namespace warploom::ptx::model
