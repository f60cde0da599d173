// Operands in, D out; what is rare (infinities, NaN, rounding to f16, groups of 4-bit products) element by element.
#include "loom/units/exact_multiply.hpp"

#include <algorithm>
#include <bit>

#include "loom/units/exact_planes.hpp"

namespace warploom::loom {

namespace {

using Planes = ExactMultiplier::Planes;

bool integer(ExactType type) { return type == ExactType::s8 || type == ExactType::u8; }

/// Elements of e2m1 in halves.
int32_t e2m1_halves(uint32_t code) {
  constexpr int32_t values[] = {0, 1, 2, 3, 4, 6, 8, 12};
  return (code & 8) != 0 ? -values[code & 7] : values[code & 7];
}

int32_t integer_value(ExactType type, uint32_t code) {
  if (type == ExactType::s8) return static_cast<int8_t>(code & 0xff);
  return static_cast<int32_t>(code & 0xff);
}

struct Class {
  bool nan = false, infinite = false, zero = false, negative = false;
};

Class classify(const ExactFormat& format, uint32_t code) {
  code >>= format.ignored;
  const uint32_t mantissa = code & ((1u << format.mantissa_bits) - 1);
  const uint32_t field = (1u << format.exponent_bits) - 1, exponent = code >> format.mantissa_bits & field;
  Class c;
  c.negative = (code >> (format.mantissa_bits + format.exponent_bits) & 1) != 0;
  c.zero = mantissa == 0 && exponent == 0;
  if (exponent == field && format.specials == ExactFormat::Specials::ieee) (mantissa == 0 ? c.infinite : c.nan) = true;
  if (exponent == field && format.specials == ExactFormat::Specials::nan_only)
    c.nan = mantissa == (1u << format.mantissa_bits) - 1;
  return c;
}

/// Which rows or columns hold something that is not finite.
void find_specials(Planes& p) {
  const ExactFormat a = exact_format(p.form.a_type), b = exact_format(p.form.b_type);
  const uint32_t blocks = p.form.k / p.form.scale_block;
  auto special = [](const ExactFormat& format, uint32_t code) {
    const Class c = classify(format, code);
    return c.nan || c.infinite;
  };
  for (uint32_t row = 0; row < p.rows; ++row) {
    p.a_special[row] = false;
    for (uint32_t k = 0; k < p.form.k; ++k) p.a_special[row] |= special(a, p.a_codes[row * p.form.k + k]);
    for (uint32_t i = 0; p.form.scale != ExactScale::none && i < blocks; ++i)
      p.a_special[row] |= decode_exact_scale(p.form.scale, p.a_scales[row * blocks + i]).nan;
  }
  for (uint32_t column = 0; column < p.columns; ++column) {
    p.b_special[column] = false;
    for (uint32_t k = 0; k < p.form.k; ++k) p.b_special[column] |= special(b, p.b_codes[k * exact_b_pitch + column]);
    for (uint32_t i = 0; p.form.scale != ExactScale::none && i < blocks; ++i)
      p.b_special[column] |= decode_exact_scale(p.form.scale, p.b_scales[i * exact_b_pitch + column]).nan;
  }
}

/// Scale exponents count for every product (mxf8f6f4). Answers whether a scale is NaN.
bool add_scale_exponents(Planes& p) {
  const uint32_t block = p.form.scale_block, blocks = p.form.k / block;
  bool nan = false;
  for (uint32_t row = 0; row < p.rows; ++row)
    for (uint32_t i = 0; i < blocks; ++i) {
      const ExactScaleValue scale = decode_exact_scale(p.form.scale, p.a_scales[row * blocks + i]);
      nan |= scale.nan;
      for (uint32_t k = i * block; k < (i + 1) * block; ++k) p.a_exponent[row * p.form.k + k] += scale.exponent;
    }
  for (uint32_t i = 0; i < blocks; ++i)
    for (uint32_t column = 0; column < p.columns; ++column) {
      const ExactScaleValue scale = decode_exact_scale(p.form.scale, p.b_scales[i * exact_b_pitch + column]);
      nan |= scale.nan;
      for (uint32_t k = i * block; k < (i + 1) * block; ++k) p.b_exponent[k * exact_b_pitch + column] += scale.exponent;
    }
  return nan;
}

bool scales_have_nan(const Planes& p) {
  const uint32_t blocks = p.form.k / p.form.scale_block;
  auto nan = [&](uint8_t code) { return decode_exact_scale(p.form.scale, code).nan; };
  bool found = false;
  for (uint32_t i = 0; i < p.rows * blocks; ++i) found |= nan(p.a_scales[i]);
  for (uint32_t i = 0; i < blocks; ++i)
    for (uint32_t column = 0; column < p.columns; ++column) found |= nan(p.b_scales[i * exact_b_pitch + column]);
  return found;
}

/// |term| * 2^(right - left), truncated.
uint64_t align(uint64_t magnitude, int left, int right) { return right > 63 ? 0 : magnitude << left >> right; }

/// One element of a form whose products are summed in groups: each group's sum, times its scales, is a term.
uint32_t group_sum(const Planes& p, uint32_t row, uint32_t column, uint32_t d, int d_exponent) {
  const ExactUnit& unit = p.form.unit;
  const uint32_t group = static_cast<uint32_t>(unit.group), blocks = p.form.k / p.form.scale_block;
  constexpr uint32_t most = exact_max_k / 16;
  int64_t significand[most];
  int exponent[most];
  const uint32_t groups = p.form.k / group;
  const int32_t d_field = static_cast<int32_t>(d >> 23 & 0xff);
  const uint32_t d_significand = (d & 0x7fffff) | (d_field != 0 ? 0x800000 : 0);
  const int d_at = std::max(d_field, 1) - 127 + d_exponent;
  int top = unit.floor;
  if (d_significand != 0) top = std::max(top, d_at);
  for (uint32_t i = 0; i < groups; ++i) {
    int32_t dot = 0;
    for (uint32_t k = i * group; k < (i + 1) * group; ++k)
      dot += p.a_magnitude[row * p.form.k + k] * p.b_magnitude[k * exact_b_pitch + column];
    const uint32_t block = i * group / p.form.scale_block;
    const ExactScaleValue a = decode_exact_scale(p.form.scale, p.a_scales[row * blocks + block]);
    const ExactScaleValue b = decode_exact_scale(p.form.scale, p.b_scales[block * exact_b_pitch + column]);
    significand[i] = static_cast<int64_t>(dot) * a.significand * b.significand;  // in units of 2^-8
    exponent[i] = a.exponent + b.exponent;
    if (significand[i] != 0) top = std::max(top, exponent[i]);
  }
  int64_t sum = 0;
  for (uint32_t i = 0; i < groups; ++i) {
    if (significand[i] == 0) continue;
    const auto magnitude = static_cast<uint64_t>(significand[i] < 0 ? -significand[i] : significand[i]);
    const auto term = static_cast<int64_t>(align(magnitude, unit.fraction - 8, top - exponent[i]));
    sum += significand[i] < 0 ? -term : term;
  }
  if (d_significand != 0) {
    const auto term = static_cast<int64_t>(align(d_significand, unit.fraction - 23, top - d_at));
    sum += d >> 31 != 0 ? -term : term;
  }
  return exact_round(p.form.d_type, unit, sum < 0, static_cast<uint64_t>(sum < 0 ? -sum : sum), top - unit.fraction);
}

void multiply_groups(const Planes& p, const ExactTile& tile) {
  for (uint32_t r = 0; r < tile.rows; ++r)
    for (uint32_t c = 0; c < tile.columns; ++c) {
      uint32_t& d = tile.d[r * tile.d_pitch + c];
      const uint32_t row = tile.first_row + r, column = tile.first_column + c, in = tile.accumulate ? d : 0;
      const bool special =
          exact_special_d(p.form.d_type, in) || (p.special && (p.a_special[row] || p.b_special[column]));
      d = special ? exact_special(p, row, column, in) : group_sum(p, row, column, in, tile.d_exponent);
    }
}

}  // namespace

ExactFormat exact_format(ExactType type) {
  using Specials = ExactFormat::Specials;
  switch (type) {
    case ExactType::f16: return {5, 10, 15, 0, Specials::ieee};
    case ExactType::bf16: return {8, 7, 127, 0, Specials::ieee};
    case ExactType::tf32: return {8, 10, 127, 13, Specials::ieee};
    case ExactType::e4m3: return {4, 3, 7, 0, Specials::nan_only};
    case ExactType::e5m2: return {5, 2, 15, 0, Specials::ieee};
    case ExactType::e2m3: return {2, 3, 1, 0, Specials::none};
    case ExactType::e3m2: return {3, 2, 3, 0, Specials::none};
    case ExactType::e2m1: return {2, 1, 1, 0, Specials::none};
    case ExactType::s8:
    case ExactType::u8: break;
  }
  return {};
}

ExactScaleValue decode_exact_scale(ExactScale type, uint8_t code) {
  if (type == ExactScale::ue8m0) return {code - 127, 8, code == 0xff};
  const int field = code >> 3 & 15, mantissa = code & 7;  // the top bit is not looked at
  return {std::max(field, 1) - 7, mantissa + (field != 0 ? 8 : 0), (code & 0x7f) == 0x7f};
}

uint32_t exact_special(const Planes& p, uint32_t row, uint32_t column, uint32_t d) {
  const bool half = p.form.d_type == ExactResult::f16;
  bool nan = false, plus = false, minus = false;
  if (exact_special_d(p.form.d_type, d)) {
    nan = (half ? d & 0x3ff : d & 0x7fffff) != 0;
    ((half ? d >> 15 & 1 : d >> 31) != 0 ? minus : plus) = true;
  }
  const ExactFormat a_format = exact_format(p.form.a_type), b_format = exact_format(p.form.b_type);
  for (uint32_t k = 0; k < p.form.k; ++k) {
    const Class a = classify(a_format, p.a_codes[row * p.form.k + k]);
    const Class b = classify(b_format, p.b_codes[k * exact_b_pitch + column]);
    nan |= a.nan || b.nan || (a.infinite && b.zero) || (a.zero && b.infinite);
    if (a.infinite || b.infinite)
      ((a.negative != b.negative) != (p.form.negate_a != p.form.negate_b) ? minus : plus) = true;
  }
  if (p.form.scale != ExactScale::none) {
    const uint32_t blocks = p.form.k / p.form.scale_block;
    for (uint32_t i = 0; i < blocks; ++i)
      nan |= decode_exact_scale(p.form.scale, p.a_scales[row * blocks + i]).nan ||
             decode_exact_scale(p.form.scale, p.b_scales[i * exact_b_pitch + column]).nan;
  }
  if (nan || (plus && minus)) return half ? canonical_nan_f16 : canonical_nan_f32;
  if (half) return minus ? 0xfc00 : 0x7c00;
  return minus ? 0xff800000 : 0x7f800000;
}

uint32_t exact_round(ExactResult type, const ExactUnit& unit, bool negative, uint64_t magnitude, int exponent) {
  if (magnitude == 0) return 0;
  const int leading = 63 - std::countl_zero(magnitude);
  const int mantissa = type == ExactResult::f16 ? 10 : 23, bias = type == ExactResult::f16 ? 15 : 127;
  const int largest = 2 * bias + 1;  // exponent field of infinities
  // The unit of the result's last place; subnormal results share the least normal exponent's.
  const int at = std::max(leading + exponent, 1 - bias);
  const int drop = at - mantissa - exponent;  // bits of the magnitude below that unit
  uint64_t bits = drop <= 0 ? magnitude << -drop : drop > 63 ? 0 : magnitude >> drop;
  if (type == ExactResult::f16 && drop > 0 && drop <= 64) {
    const uint64_t rest = drop == 64 ? magnitude : magnitude & ((uint64_t{1} << drop) - 1);
    const uint64_t half = uint64_t{1} << (drop - 1);
    if (rest > half || (rest == half && (bits & 1) != 0)) ++bits;  // a carry moves on into the exponent
  }
  // `bits` holds the leading one of a normal number, which counts as one in the exponent field.
  bits += static_cast<uint64_t>(at + bias - 1) << mantissa;
  if (bits >> mantissa >= static_cast<uint64_t>(largest)) bits = static_cast<uint64_t>(largest) << mantissa;
  if (type == ExactResult::f32) bits &= ~((uint64_t{1} << (23 - unit.mantissa)) - 1);
  if (bits == 0) return 0;
  return static_cast<uint32_t>(bits) | static_cast<uint32_t>(negative) << (type == ExactResult::f16 ? 15 : 31);
}

ExactMultiplier::ExactMultiplier(ExactIsa isa) : planes_(std::make_unique<Planes>()), isa_(isa) {}
ExactMultiplier::~ExactMultiplier() = default;

uint32_t* ExactMultiplier::a() { return planes_->a_codes; }
uint32_t* ExactMultiplier::b() { return planes_->b_codes; }
uint8_t* ExactMultiplier::a_scales() { return planes_->a_scales; }
uint8_t* ExactMultiplier::b_scales() { return planes_->b_scales; }

void ExactMultiplier::decode(const ExactForm& form, uint32_t rows, uint32_t columns) {
  Planes& p = *planes_;
  p.form = form;
  p.rows = rows;
  p.columns = columns;
  p.special = false;
  const size_t a_count = size_t{rows} * form.k, padded = (size_t{columns} + 15) / 16 * 16;
  if (integer(form.a_type) || form.unit.group != 0) {
    const bool whole = integer(form.a_type);
    for (size_t i = 0; i < a_count; ++i) {
      p.a_magnitude[i] = whole ? integer_value(form.a_type, p.a_codes[i]) : e2m1_halves(p.a_codes[i]);
      if (form.negate_a != form.negate_b) p.a_magnitude[i] = -p.a_magnitude[i];
    }
    for (size_t k = 0; k < form.k; ++k)
      for (size_t i = k * exact_b_pitch; i < k * exact_b_pitch + columns; ++i)
        p.b_magnitude[i] = whole ? integer_value(form.b_type, p.b_codes[i]) : e2m1_halves(p.b_codes[i]);
    if (form.scale != ExactScale::none) p.special = scales_have_nan(p);
    if (p.special) find_specials(p);
    return;
  }
  const ExactKernels kernels = exact_kernels(isa_);
  const ExactFormat a = exact_format(form.a_type), b = exact_format(form.b_type);
  const int shift = form.unit.fraction - a.mantissa_bits - b.mantissa_bits;
  p.special = kernels.decode(a, p.a_codes, a_count, shift, form.negate_a, {p.a_exponent, p.a_magnitude, p.a_sign});
  for (size_t k = 0; k < form.k; ++k) {
    const size_t at = k * exact_b_pitch;
    std::fill(p.b_codes + at + columns, p.b_codes + at + padded, 0u);
    p.special |= kernels.decode(b, p.b_codes + at, padded, 0, form.negate_b,
                                {p.b_exponent + at, p.b_magnitude + at, p.b_sign + at});
  }
  if (form.scale != ExactScale::none) p.special |= add_scale_exponents(p);
  if (p.special) find_specials(p);
}

void ExactMultiplier::multiply(const ExactTile& tile) const {
  if (integer(planes_->form.a_type)) return exact_kernels(isa_).integers(*planes_, tile);
  if (planes_->form.unit.group != 0) return multiply_groups(*planes_, tile);
  exact_kernels(isa_).multiply(*planes_, tile);
}

}  // namespace warploom::loom
