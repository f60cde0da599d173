// What Hopper's tensor core computes, in plain C++ and one element at a time (hardware.md §4.17): all products of an
// instruction and the incoming D are aligned to the largest exponent, truncated, added exactly, and the sum is cut.
#pragma once

#include <cstdint>

#include "warploom/types/wgmma_types.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// A number as its sign, its exponent and its significand as an integer; or what is none.
struct ExactNumber {
  bool negative = false, infinite = false, nan = false;
  int exponent = 0;
  uint32_t significand = 0;  ///< 0: the number is zero
};

/// How many bits a type has for exponent and mantissa; codes are right-aligned.
struct ExactLayout {
  int exponent_bits, mantissa_bits;
  bool infinities;

  static ExactLayout of(WgmmaType type) {
    switch (type) {
      case WgmmaType::bf16: return {8, 7, true};
      case WgmmaType::f16: return {5, 10, true};
      case WgmmaType::tf32: return {8, 10, true};  // without the 13 bits that nobody reads
      case WgmmaType::e5m2: return {5, 2, true};
      default: return {4, 3, false};
    }
  }
  static ExactLayout of(WgmmaResult result) {
    return result == WgmmaResult::f16 ? ExactLayout{5, 10, true} : ExactLayout{8, 23, true};
  }
  uint32_t last_field() const { return (1u << exponent_bits) - 1; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }

  ExactNumber read(uint32_t code) const {
    const uint32_t mantissa = code & ((1u << mantissa_bits) - 1), field = code >> mantissa_bits & last_field();
    ExactNumber number;
    number.negative = (code >> (exponent_bits + mantissa_bits) & 1) != 0;
    number.infinite = infinities && field == last_field() && mantissa == 0;
    number.nan = field == last_field() && (infinities ? mantissa != 0 : mantissa == (1u << mantissa_bits) - 1);
    number.exponent = static_cast<int>(field == 0 ? 1 : field) - bias();
    number.significand = number.infinite || number.nan ? 0 : mantissa | (field == 0 ? 0 : 1u << mantissa_bits);
    return number;
  }
};

/// D of one instruction for one element: `a` and `b` are codes, `k` of them each.
class ExactModel {
 public:
  ExactModel(WgmmaType a, WgmmaType b, WgmmaResult d, WgmmaNegate negate, WgmmaOverflow overflow)
      : a_(a), b_(b), d_(d), negate_((negate == WgmmaNegate::a) != (negate == WgmmaNegate::b)), overflow_(overflow) {}

  uint32_t dot(const uint32_t* a, const uint32_t* b, uint32_t k, bool accumulate, uint32_t d) const {
    if (is_integer(a_)) return integers(a, b, k, accumulate ? d : 0);
    const ExactLayout a_layout = ExactLayout::of(a_), b_layout = ExactLayout::of(b_), d_layout = ExactLayout::of(d_);
    const ExactNumber in = d_layout.read(accumulate ? d : 0);
    const int fraction = is_fp8(a_) ? 13 : 25;
    int top = -133;
    bool nan = in.nan, plus = in.infinite && !in.negative, minus = in.infinite && in.negative;
    ExactNumber x[32], y[32];
    for (uint32_t i = 0; i < k; ++i) {
      x[i] = a_layout.read(a[i]);
      y[i] = b_layout.read(b[i]);
      const bool zero_x = x[i].significand == 0 && !x[i].infinite, zero_y = y[i].significand == 0 && !y[i].infinite;
      nan |= x[i].nan || y[i].nan || (x[i].infinite && zero_y) || (y[i].infinite && zero_x);
      if (x[i].infinite || y[i].infinite) ((x[i].negative ^ y[i].negative ^ negate_) ? minus : plus) = true;
      if (x[i].significand != 0 && y[i].significand != 0 && x[i].exponent + y[i].exponent > top)
        top = x[i].exponent + y[i].exponent;
    }
    if (nan || (plus && minus)) return d_ == WgmmaResult::f16 ? 0x7fff : 0x7fffffff;
    if (plus || minus) return d_layout.last_field() << d_layout.mantissa_bits | sign(minus);
    if (in.significand != 0 && in.exponent > top) top = in.exponent;
    int64_t sum = aligned(in.significand, fraction - d_layout.mantissa_bits, top - in.exponent, in.negative);
    for (uint32_t i = 0; i < k; ++i)
      sum += aligned(uint64_t{x[i].significand} * y[i].significand,
                     fraction - a_layout.mantissa_bits - b_layout.mantissa_bits, top - x[i].exponent - y[i].exponent,
                     x[i].negative ^ y[i].negative ^ negate_);
    return cut(sum, top - fraction, d_layout);
  }

 private:
  uint32_t sign(bool negative) const { return negative ? (d_ == WgmmaResult::f16 ? 0x8000u : 0x80000000u) : 0; }

  uint32_t integers(const uint32_t* a, const uint32_t* b, uint32_t k, uint32_t d) const {
    const auto value = [](WgmmaType type, uint32_t code) {
      return type == WgmmaType::s8 && code >= 128 ? static_cast<int64_t>(code) - 256 : static_cast<int64_t>(code);
    };
    int64_t sum = static_cast<int32_t>(d);
    for (uint32_t i = 0; i < k; ++i) sum += value(a_, a[i]) * value(b_, b[i]);
    if (overflow_ == WgmmaOverflow::clamp) {
      if (sum > INT32_MAX) sum = INT32_MAX;
      if (sum < INT32_MIN) sum = INT32_MIN;
    }
    return static_cast<uint32_t>(sum);
  }

  /// A term in units of the sum, truncated toward zero.
  static int64_t aligned(uint64_t significand, int left, int right, bool negative) {
    if (significand == 0) return 0;
    const int shift = left - right;
    const uint64_t kept = shift >= 0 ? significand << shift : shift > -64 ? significand >> -shift : 0;
    return negative ? -static_cast<int64_t>(kept) : static_cast<int64_t>(kept);
  }

  /// sum * 2^exponent in the format of D: truncated to f32 (of fp8 to 13 bits of mantissa), rounded to the nearest f16.
  uint32_t cut(int64_t sum, int exponent, const ExactLayout& layout) const {
    if (sum == 0) return 0;
    const bool negative = sum < 0;
    uint64_t magnitude = static_cast<uint64_t>(negative ? -sum : sum);
    int leading = 0;
    while (magnitude >> leading > 1) ++leading;
    int field = leading + exponent + layout.bias();
    if (field < 1) field = 1;  // subnormal: the unit of the least normal numbers
    const int drop = field - layout.bias() - layout.mantissa_bits - exponent;
    if (drop <= 0) {
      magnitude <<= -drop;
    } else {
      const uint64_t rest = drop < 64 ? magnitude & ((uint64_t{1} << drop) - 1) : magnitude;
      const uint64_t half = drop <= 64 ? uint64_t{1} << (drop - 1) : ~uint64_t{0};
      magnitude = drop < 64 ? magnitude >> drop : 0;
      if (d_ == WgmmaResult::f16 && (rest > half || (rest == half && magnitude % 2 == 1))) ++magnitude;
    }
    // A leading one counts as one in the exponent field; so does what rounding carries.
    uint64_t bits = magnitude + (static_cast<uint64_t>(field - 1) << layout.mantissa_bits);
    const uint64_t infinity = static_cast<uint64_t>(layout.last_field()) << layout.mantissa_bits;
    if (bits > infinity) bits = infinity;
    if (is_fp8(a_) && d_ == WgmmaResult::f32) bits &= ~uint64_t{0x3ff};
    return bits == 0 ? 0 : static_cast<uint32_t>(bits) | sign(negative);
  }

  WgmmaType a_, b_;
  WgmmaResult d_;
  bool negate_;
  WgmmaOverflow overflow_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
