// The tensor cores' arithmetic to the last bit: every dot product recorded on an H200, and the rules of hardware.md
// §4.17 stated once more in doubles.
#include "loom/units/exact_multiply.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "support/golden.hpp"

namespace warploom::loom {
namespace {

using test::json;

const std::map<std::string, ExactType> types{
    {"f16", ExactType::f16},   {"bf16", ExactType::bf16}, {"tf32", ExactType::tf32}, {"e4m3", ExactType::e4m3},
    {"e5m2", ExactType::e5m2}, {"s8", ExactType::s8},     {"u8", ExactType::u8}};
const std::map<std::string, ExactResult> results{
    {"f32", ExactResult::f32}, {"f16", ExactResult::f16}, {"s32", ExactResult::s32}};

std::vector<ExactIsa> isas() {
  std::vector<ExactIsa> list;
  for (const ExactIsa isa : {ExactIsa::portable, ExactIsa::avx2, ExactIsa::avx512})
    if (exact_isa_available(isa)) list.push_back(isa);
  return list;
}

size_t bytes_of(ExactType type) {
  if (type == ExactType::tf32) return 4;
  return type == ExactType::f16 || type == ExactType::bf16 ? 2 : 1;
}

uint32_t little_endian(const uint8_t* at, size_t bytes) {
  uint32_t value = 0;
  std::memcpy(&value, at, bytes);
  return value;
}

/// Every recorded product, instruction by instruction.
TEST(ExactMultiply, AsOnH200) {
  for (const ExactIsa isa : isas()) {
    ExactMultiplier exact(isa);
    std::map<std::string, int> products;
    for (const char* file : {"h200_wgmma_f32", "h200_wgmma_f32_more", "h200_wgmma_f16", "h200_wgmma_s32"}) {
      const std::vector<uint8_t> data = test::read_bytes(std::string(file) + ".bin");
      for (const json& row : test::read_json_lines(std::string(file) + ".jsonl")) {
        ExactForm form;
        form.a_type = types.at(row["a"]);
        form.b_type = types.at(row["b"]);
        form.d_type = results.at(row["d"]);
        form.unit = wgmma_unit(form.a_type);
        form.k = row["k"];
        form.negate_a = row["negate_a"] == 1;
        form.saturate = row["satfinite"] == 1;
        const uint32_t chain = row["chain"], extent = form.k * chain;
        const size_t a_bytes = row["a_bytes"], b_bytes = row["b_bytes"], c_bytes = row["c_bytes"];
        const size_t d_size = c_bytes / 512, size = bytes_of(form.a_type);
        for (size_t t = 0; t < row["tiles"]; ++t) {
          const uint8_t* a = data.data() + row["offset"].get<size_t>() + t * (a_bytes + b_bytes + 2 * c_bytes);
          const uint8_t *b = a + a_bytes, *c = b + b_bytes, *want = c + c_bytes;
          std::vector<uint32_t> d(512);
          for (size_t i = 0; i < 512; ++i) d[i] = little_endian(c + i * d_size, d_size);
          for (uint32_t step = 0; step < chain; ++step) {
            for (uint32_t k = 0; k < form.k; ++k) {
              for (uint32_t r = 0; r < 64; ++r)
                exact.a()[r * form.k + k] = little_endian(a + (r * extent + step * form.k + k) * size, size);
              for (uint32_t col = 0; col < 8; ++col)
                exact.b()[k * exact_b_pitch + col] = little_endian(b + (col * extent + step * form.k + k) * size, size);
            }
            exact.decode(form, 64, 8);
            exact.multiply(
                {.rows = 64, .columns = 8, .d = d.data(), .d_pitch = 8, .accumulate = row["scale_d"] == 1 || step > 0});
          }
          for (size_t i = 0; i < 512; ++i)
            ASSERT_EQ(d[i], little_endian(want + i * d_size, d_size))
                << row["name"] << " chain " << chain << " " << row["profiles"][t] << " element " << i;
          products[row["d"]] += 512;
        }
      }
    }
    EXPECT_EQ(products, (std::map<std::string, int>{{"f16", 41984}, {"f32", 73728}, {"s32", 22528}}));
  }
}

// ---- the rules once more

struct Format {
  int exponent_bits, mantissa_bits, bias;
  bool infinities, nan;
};
const std::map<ExactType, Format> formats{
    {ExactType::f16, {5, 10, 15, true, true}},   {ExactType::bf16, {8, 7, 127, true, true}},
    {ExactType::tf32, {8, 10, 127, true, true}}, {ExactType::e4m3, {4, 3, 7, false, true}},
    {ExactType::e5m2, {5, 2, 15, true, true}},   {ExactType::e2m3, {2, 3, 1, false, false}},
    {ExactType::e3m2, {3, 2, 3, false, false}},  {ExactType::e2m1, {2, 1, 1, false, false}}};

int code_bits(ExactType type) { return 1 + formats.at(type).exponent_bits + formats.at(type).mantissa_bits; }

/// The value of a code, from the definition of the format.
double value_of(ExactType type, uint32_t code) {
  const Format f = formats.at(type);
  if (type == ExactType::tf32) code >>= 13;
  const uint32_t mantissa = code % (1u << f.mantissa_bits),
                 field = code >> f.mantissa_bits & ((1u << f.exponent_bits) - 1);
  const double sign = code >> (f.mantissa_bits + f.exponent_bits) & 1 ? -1 : 1;
  const bool last = field == (1u << f.exponent_bits) - 1;
  if (last && f.infinities) return mantissa == 0 ? sign * INFINITY : NAN;
  if (last && f.nan && mantissa == (1u << f.mantissa_bits) - 1) return NAN;
  if (field == 0) return sign * std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  return sign * std::ldexp(1 + std::ldexp(mantissa, -f.mantissa_bits), static_cast<int>(field) - f.bias);
}
/// Exponent of a finite number other than zero in a format with this least exponent.
int exponent_of(double value, int least) { return std::max(std::ilogb(value), least); }
int least_exponent(ExactType type) { return 1 - formats.at(type).bias; }

struct Term {
  double significand;  ///< signed
  int exponent;
};

/// Steps 2 to 4 of §4.17 for finite terms.
uint32_t fused_sum(const std::vector<Term>& terms, int fraction, int mantissa, bool half) {
  int top = -133;
  for (const Term& term : terms)
    if (term.significand != 0) top = std::max(top, term.exponent);
  double sum = 0;  // of integers below 2^53
  for (const Term& term : terms)
    if (term.significand != 0) sum += std::trunc(std::ldexp(term.significand, term.exponent - top + fraction));
  if (sum == 0) return 0;
  const double value = std::ldexp(sum, top - fraction);
  if (half) {
    const int unit = std::max(std::ilogb(value), -14) - 10;
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(std::fabs(value), -unit)), unit);
    const uint32_t sign = value < 0 ? 0x8000 : 0;
    if (rounded == 0) return 0;
    if (rounded >= 65536) return sign | 0x7c00;
    const int e = std::max(std::ilogb(rounded), -14);
    const auto m = static_cast<uint32_t>(std::ldexp(rounded, 10 - e));
    return sign | (m >= 1024 ? static_cast<uint32_t>(e + 15) << 10 | (m - 1024) : m);
  }
  if (std::fabs(value) >= 0x1p128) return value < 0 ? 0xff800000 : 0x7f800000;
  const int unit = std::max(std::ilogb(value), -126) - 23;
  const double kept = std::ldexp(std::trunc(std::ldexp(value, -unit)), unit);
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(kept)) & ~((1u << (23 - mantissa)) - 1);
  return bits == 0x80000000 ? 0 : bits;
}

/// What the operands or D make of a sum that is not finite; 0 where all are.
uint32_t special_sum(const std::vector<double>& factors_a, const std::vector<double>& factors_b, double d, bool half) {
  double sum = std::isfinite(d) ? 0 : d;
  for (size_t i = 0; i < factors_a.size(); ++i) {
    const double product = factors_a[i] * factors_b[i];  // Inf * 0 is NaN in IEEE arithmetic, too
    if (!std::isfinite(factors_a[i]) || !std::isfinite(factors_b[i])) sum += product;
  }
  if (std::isnan(sum)) return half ? 0x7fff : 0x7fffffff;
  if (std::isinf(sum)) return half ? (sum < 0 ? 0xfc00 : 0x7c00) : (sum < 0 ? 0xff800000 : 0x7f800000);
  return 0;
}

double d_value(ExactResult type, uint32_t bits) {
  if (type == ExactResult::f16) return value_of(ExactType::f16, bits);
  return static_cast<double>(std::bit_cast<float>(bits));
}

/// Random codes: everything, or exponents around the middle so that terms meet; tiny: with products below 2^-126.
uint32_t random_code(std::mt19937& random, ExactType type, bool anything, bool tiny = false) {
  const uint32_t low = type == ExactType::tf32 ? random() & 0x1fff : 0;
  const int bits = code_bits(type);
  uint32_t code = random() & ((1u << bits) - 1);
  const Format f = formats.at(type);
  if (!anything && f.exponent_bits > 4) {
    const uint32_t middle = tiny && f.bias == 127 ? 127 - 72 : static_cast<uint32_t>(f.bias);
    const uint32_t field = middle - 6 + random() % 12;
    code = (code & ~(((1u << f.exponent_bits) - 1) << f.mantissa_bits)) | field << f.mantissa_bits;
  }
  return type == ExactType::tf32 ? code << 13 | low : code;
}

struct Kind {
  ExactType a, b;
  ExactResult d;
  ExactUnit unit;
  uint32_t k;
  ExactScale scale = ExactScale::none;
  uint32_t block = 32;
};

std::vector<Kind> kinds() {
  using T = ExactType;
  std::vector<Kind> list;
  const ExactUnit narrow{.fraction = 13, .mantissa = 13}, wide{.fraction = 25, .mantissa = 23};
  for (const ExactResult d : {ExactResult::f32, ExactResult::f16}) {
    list.push_back({T::f16, T::f16, d, wide, 16});
    for (const T a : {T::e4m3, T::e5m2})
      for (const T b : {T::e4m3, T::e5m2}) list.push_back({a, b, d, narrow, 32});
    for (const T a : {T::e4m3, T::e5m2, T::e2m3, T::e3m2, T::e2m1})
      for (const T b : {T::e4m3, T::e5m2, T::e2m3, T::e3m2, T::e2m1}) list.push_back({a, b, d, wide, 32});
  }
  list.push_back({T::bf16, T::bf16, ExactResult::f32, wide, 16});
  list.push_back({T::tf32, T::tf32, ExactResult::f32, wide, 8});
  for (const T a : {T::e4m3, T::e5m2, T::e2m3, T::e3m2, T::e2m1})
    list.push_back({a, T::e4m3, ExactResult::f32, wide, 32, ExactScale::ue8m0, 32});
  const ExactUnit fp4{.fraction = 35, .mantissa = 23, .floor = -133, .group = 16};
  list.push_back({T::e2m1, T::e2m1, ExactResult::f32, fp4, 64, ExactScale::ue8m0, 32});
  list.push_back({T::e2m1, T::e2m1, ExactResult::f32, fp4, 64, ExactScale::ue8m0, 16});
  list.push_back({T::e2m1, T::e2m1, ExactResult::f32, fp4, 64, ExactScale::ue4m3, 16});
  return list;
}

struct ScaleValue {
  double significand;
  int exponent;
};
ScaleValue scale_value(ExactScale type, uint8_t code) {
  if (type == ExactScale::ue8m0) return {code == 0xff ? NAN : 1.0, code - 127};
  if ((code & 0x7f) == 0x7f) return {NAN, 0};
  const int field = code >> 3 & 15, mantissa = code & 7;
  return field == 0 ? ScaleValue{mantissa / 8.0, -6} : ScaleValue{1 + mantissa / 8.0, field - 7};
}

/// Random operations of every kind, all instruction sets.
TEST(ExactMultiply, FollowsTheRules) {
  std::mt19937 random(1);
  std::vector<std::unique_ptr<ExactMultiplier>> exact;
  for (const ExactIsa isa : isas()) exact.push_back(std::make_unique<ExactMultiplier>(isa));
  size_t finite = 0, infinite = 0;
  for (const Kind& kind : kinds())
    for (int round = 0; round < 8; ++round) {
      const bool anything = round % 2 == 0, accumulate = round % 3 != 0, half = kind.d == ExactResult::f16;
      const bool negate_a = round == 5 || round == 6, negate_b = round == 6 || round == 7;
      const uint32_t rows = 8, columns = 24, pitch = 31, blocks = kind.k / kind.block;
      const int d_exponent = round == 4 ? -5 : 0;
      const bool tiny = round == 3;
      std::vector<uint32_t> a(rows * kind.k), b(kind.k * columns), d(rows * pitch);
      std::vector<uint8_t> a_scales(rows * blocks), b_scales(blocks * columns);
      for (uint32_t& code : a) code = random_code(random, kind.a, anything, tiny);
      for (uint32_t& code : b) code = random_code(random, kind.b, anything, tiny);
      // NaN would be everywhere: mostly finite numbers, in most columns.
      auto calm = [&](ExactType type, std::vector<uint32_t>& codes) {
        for (uint32_t& code : codes)
          while (random() % 512 != 0 && !std::isfinite(value_of(type, code)))
            code = random_code(random, type, anything, tiny);
      };
      calm(kind.a, a);
      calm(kind.b, b);
      for (uint8_t& code : a_scales) code = static_cast<uint8_t>(anything ? random() : 100 + random() % 20);
      for (uint8_t& code : b_scales) code = static_cast<uint8_t>(anything ? random() : 60 + random() % 20);
      for (uint32_t& word : d) {
        const float calmly = std::ldexp(static_cast<float>(static_cast<int>(random() % 4001) - 2000), -8);
        word = half ? random() & 0xffff : anything ? static_cast<uint32_t>(random()) : std::bit_cast<uint32_t>(calmly);
        if (random() % 8 == 0 || (tiny && random() % 2 == 0)) word = 0;
        if (tiny && !half) word &= 0x807fffff;
      }

      std::vector<uint32_t> want(d);
      for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t c = 0; c < columns; ++c) {
          std::vector<Term> terms;
          std::vector<double> factors_a, factors_b;
          double group = 0;
          for (uint32_t k = 0; k < kind.k; ++k) {
            double x = value_of(kind.a, a[r * kind.k + k]) * (negate_a ? -1 : 1);
            const double y = value_of(kind.b, b[k * columns + c]) * (negate_b ? -1 : 1);
            ScaleValue sa{1, 0}, sb{1, 0};
            if (kind.scale != ExactScale::none) {
              sa = scale_value(kind.scale, a_scales[r * blocks + k / kind.block]);
              sb = scale_value(kind.scale, b_scales[k / kind.block * columns + c]);
            }
            if (std::isnan(sa.significand) || std::isnan(sb.significand)) x = NAN;
            factors_a.push_back(x);
            factors_b.push_back(y);
            if (!std::isfinite(x) || !std::isfinite(y)) continue;
            if (kind.unit.group != 0) {
              group += x * y;
              if (k % 16 == 15) {
                terms.push_back({group * sa.significand * sb.significand, sa.exponent + sb.exponent});
                group = 0;
              }
              continue;
            }
            if (x == 0 || y == 0) continue;
            const int ea = exponent_of(x, least_exponent(kind.a)), eb = exponent_of(y, least_exponent(kind.b));
            terms.push_back({std::ldexp(x, -ea) * std::ldexp(y, -eb), ea + eb + sa.exponent + sb.exponent});
          }
          const double in = accumulate ? d_value(kind.d, d[r * pitch + c]) : 0;
          if (in != 0 && std::isfinite(in)) {
            const int e = exponent_of(in, half ? -14 : -126);
            terms.push_back({std::ldexp(in, -e), e + d_exponent});
          }
          uint32_t& out = want[r * pitch + c];
          const uint32_t special = special_sum(factors_a, factors_b, in, half);
          out = special != 0 ? special : fused_sum(terms, kind.unit.fraction, kind.unit.mantissa, half);
          ++(special != 0 ? infinite : finite);
        }

      for (const auto& one : exact) {
        std::copy(a.begin(), a.end(), one->a());
        std::copy(a_scales.begin(), a_scales.end(), one->a_scales());
        for (uint32_t k = 0; k < kind.k; ++k)
          for (uint32_t c = 0; c < columns; ++c) one->b()[k * exact_b_pitch + c] = b[k * columns + c];
        for (uint32_t i = 0; i < blocks; ++i)
          for (uint32_t c = 0; c < columns; ++c) one->b_scales()[i * exact_b_pitch + c] = b_scales[i * columns + c];
        one->decode({.a_type = kind.a,
                     .b_type = kind.b,
                     .d_type = kind.d,
                     .unit = kind.unit,
                     .k = kind.k,
                     .negate_a = negate_a,
                     .negate_b = negate_b,
                     .scale = kind.scale,
                     .scale_block = kind.block},
                    rows, columns);
        std::vector<uint32_t> got(d);
        // In two parts, as an accumulator whose columns lie apart is.
        one->multiply({.rows = rows,
                       .columns = 8,
                       .d = got.data(),
                       .d_pitch = pitch,
                       .accumulate = accumulate,
                       .d_exponent = d_exponent});
        for (const uint32_t first : {0u, 4u})
          one->multiply({.first_row = first,
                         .rows = 4,
                         .first_column = 8,
                         .columns = columns - 8,
                         .d = got.data() + first * pitch + 8,
                         .d_pitch = pitch,
                         .accumulate = accumulate,
                         .d_exponent = d_exponent});
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_EQ(got[i], want[i]) << "kind " << &kind - kinds().data() << " a " << static_cast<int>(kind.a) << " b "
                                     << static_cast<int>(kind.b) << " round " << round << " at " << i;
      }
    }
  EXPECT_GT(finite, 60000u);
  EXPECT_GT(infinite, 500u);
}

// ---- edges, written down by hand

/// One dot product of bf16 values given as f32, wgmma's way.
uint32_t dot(std::vector<std::pair<float, float>> factors, float c, ExactResult d_type = ExactResult::f32,
             ExactType type = ExactType::bf16) {
  ExactMultiplier exact;
  std::fill_n(exact.a(), 64 * 32, 0u);
  std::fill_n(exact.b(), 32 * exact_b_pitch, 0u);
  auto code = [&](float value) {
    uint32_t best = 0;
    for (uint32_t i = 0; i < 1u << code_bits(type); ++i)
      if (std::bit_cast<uint32_t>(static_cast<float>(value_of(type, i))) == std::bit_cast<uint32_t>(value)) best = i;
    return best;
  };
  for (size_t k = 0; k < factors.size(); ++k) {
    exact.a()[k] = code(factors[k].first);
    exact.b()[k * exact_b_pitch] = code(factors[k].second);
  }
  const uint32_t k = type == ExactType::e4m3 || type == ExactType::e5m2 ? 32 : 16;
  exact.decode({.a_type = type, .b_type = type, .d_type = d_type, .unit = wgmma_unit(type), .k = k}, 4, 8);
  std::array<uint32_t, 32> d{};
  d[0] = std::bit_cast<uint32_t>(c);
  if (d_type == ExactResult::f16)
    for (uint32_t i = 0; i < 0x10000; ++i)
      if (value_of(ExactType::f16, i) == static_cast<double>(c)) d[0] = i;
  exact.multiply({.rows = 4, .columns = 8, .d = d.data(), .d_pitch = 8, .accumulate = true});
  return d[0];
}

TEST(ExactMultiply, KeepsTwentyFiveBitsBelowTheLargestTerm) {
  EXPECT_EQ(dot({{1, 1}, {0x1p-12f, 0x1p-13f}, {-1, 1}}, 0), 0x33000000u);    // 2^-25 survives beside 1
  EXPECT_EQ(dot({{1, 1}, {0x1p-13f, 0x1p-13f}, {-1, 1}}, 0), 0u);             // 2^-26 does not
  EXPECT_EQ(dot({{1, 1}, {0x1p-13f, 0x1.8p-12f}, {-1, 1}}, 0), 0x33000000u);  // 1.5 * 2^-25 is cut, not rounded
  EXPECT_EQ(dot({{1, 1}, {-0x1p-13f, 0x1.8p-12f}, {-1, 1}}, 0), 0xb3000000u);
  // 1.5 * 1.5 = 2.25 keeps the exponent 0 of its factors: 2^-25 beside it survives, though 2.25 >= 2.
  EXPECT_EQ(dot({{1.5f, 1.5f}, {0x1p-12f, 0x1p-13f}, {-1.5f, 1.5f}}, 0), 0x33000000u);
}

TEST(ExactMultiply, EightBitTypesKeepThirteenBits) {
  const auto e4m3 = ExactType::e4m3;
  EXPECT_EQ(dot({{1, 1}, {0x1p-6f, 0x1p-6f}, {0x1p-6f, 0x1p-6f}, {-1, 1}}, 0, ExactResult::f32, e4m3), 0x3a000000u);
  EXPECT_EQ(dot({{16, 16}, {0x1p-3f, 0x1p-3f}, {-16, 16}}, 0, ExactResult::f32, e4m3), 0u);  // 2^-6 beside 2^8
  EXPECT_EQ(dot({{16, 16}, {0x1p-3f, 0x1p-2f}, {-16, 16}}, 0, ExactResult::f32, e4m3), 0x3d000000u);
  EXPECT_EQ(dot({{1, 1}}, 0x1p-13f, ExactResult::f32, e4m3), 0x3f800400u);
  EXPECT_EQ(dot({{1, 1}}, 0x1.8p-13f, ExactResult::f32, e4m3), 0x3f800400u);
  EXPECT_EQ(dot({{1, 1}}, 0x1p-14f, ExactResult::f32, e4m3), 0x3f800000u);
}

TEST(ExactMultiply, TermsAlignToAtLeastTwoToTheMinus133) {
  // 2^-133-25 = 2^-158 is the unit: 2^-75 * 2^-75 = 2^-150 is seen but below the result's last place.
  EXPECT_EQ(dot({{0x1p-75f, 0x1p-75f}, {0x1p-75f, 0x1p-75f}}, 0), 1u);  // two halves of 2^-149
  EXPECT_EQ(dot({{0x1p-75f, 0x1p-75f}}, 0), 0u);
  // 15 * 33 + 17 = 512 units of 2^-158 are 2^-149; a coarser unit would lose the odd ones.
  std::vector<std::pair<float, float>> many(16, {0x1.08p-76f, 0x1p-77f});
  many[0] = {0x1.1p-77f, 0x1p-77f};
  EXPECT_EQ(dot(many, 0), 1u);
  // 15 * 32.5 + 24.5 = 512, too; but halves are cut: a finer unit would keep them.
  many.assign(16, {0x1.04p-76f, 0x1p-77f});
  many[0] = {0x1.88p-77f, 0x1p-77f};
  EXPECT_EQ(dot(many, 0), 0u);
}

TEST(ExactMultiply, ZerosAreOutOfTheRunning) {
  // With 0 * 2^100 counted, everything else would be lost.
  EXPECT_EQ(dot({{0, 0x1p100f}, {0x1p-20f, 0x1p-20f}}, 0), std::bit_cast<uint32_t>(0x1p-40f));
  EXPECT_EQ(dot({}, -0.0f), 0u);
  EXPECT_EQ(dot({{-1, 0}, {-0.0f, 1}}, -0.0f), 0u);
  EXPECT_EQ(dot({{1, 1}, {-1, 1}}, -0.0f), 0u);
  EXPECT_EQ(dot({{-0x1p-75f, 0x1p-75f}}, 0), 0u);  // a negative sum that truncates to zero
}

TEST(ExactMultiply, WhatIsNotFinite) {
  const float inf = INFINITY;
  EXPECT_EQ(dot({{inf, 1}}, 5), 0x7f800000u);
  EXPECT_EQ(dot({{inf, -2}}, 5), 0xff800000u);
  EXPECT_EQ(dot({{inf, 1}, {inf, -1}}, 5), 0x7fffffffu);
  EXPECT_EQ(dot({{inf, 0}}, 5), 0x7fffffffu);
  EXPECT_EQ(dot({{inf, 1}}, -inf), 0x7fffffffu);
  EXPECT_EQ(dot({{1, 1}}, -inf), 0xff800000u);
  EXPECT_EQ(dot({{1, 1}}, -std::numeric_limits<float>::quiet_NaN()), 0x7fffffffu);
  EXPECT_EQ(dot({{0x1p64f, 0x1p64f}}, 0), 0x7f800000u);  // overflow, in spite of truncation
  EXPECT_EQ(dot({{-0x1p64f, 0x1p64f}}, 0), 0xff800000u);
  EXPECT_EQ(dot({{0x1p64f, 0x1p64f}, {-0x1p64f, 0x1p63f}}, 0), 0x7f000000u);  // only the sum counts
  EXPECT_EQ(dot({{inf, 1}}, 0, ExactResult::f16, ExactType::f16), 0x7c00u);
  EXPECT_EQ(dot({{inf, 1}, {-inf, 1}}, 0, ExactResult::f16, ExactType::f16), 0x7fffu);
  EXPECT_EQ(dot({{256, 255}, {-240, 1}}, 0, ExactResult::f16, ExactType::f16), 0x7bf0u);
  EXPECT_EQ(dot({{256, 256}, {-16, 1}}, 0, ExactResult::f16, ExactType::f16), 0x7c00u);  // the tie above 65504
  EXPECT_EQ(dot({{256, 256}, {-17, 1}}, 0, ExactResult::f16, ExactType::f16), 0x7bffu);
}

TEST(ExactMultiply, HalfResultsRoundToNearestEven) {
  const auto f16 = ExactType::f16;
  auto half = [&](std::vector<std::pair<float, float>> factors) {
    return dot(std::move(factors), 0, ExactResult::f16, f16);
  };
  EXPECT_EQ(half({{1, 1}, {0x1p-11f, 1}}), 0x3c00u);  // ties: to even
  EXPECT_EQ(half({{1, 1}, {0x1p-10f, 1}, {0x1p-11f, 1}}), 0x3c02u);
  EXPECT_EQ(half({{1, 1}, {0x1p-11f, 1}, {0x1p-12f, 0x1p-12f}}), 0x3c01u);  // above a tie
  EXPECT_EQ(half({{0x1p-13f, 0x1p-12f}}), 0u);                              // half of the least subnormal number
  EXPECT_EQ(half({{0x1p-13f, 0x1.8p-12f}}), 1u);
  EXPECT_EQ(half({{-0x1p-13f, 0x1p-12f}}), 0u);  // and never -0
}

TEST(ExactMultiply, IntegersWrapOrSaturateOnce) {
  for (const ExactIsa isa : isas())
    for (const bool saturate : {false, true}) {
      ExactMultiplier exact(isa);
      std::fill_n(exact.a(), 4 * 32, 0u);
      std::fill_n(exact.b(), 32 * exact_b_pitch, 0u);
      // 2 * (-128 * 255) + 127 * 255: the clamp applies to the sum, not on the way.
      exact.a()[0] = exact.a()[1] = 0x80;
      exact.a()[2] = 0x7f;
      for (uint32_t k = 0; k < 3; ++k) exact.b()[k * exact_b_pitch] = 0xff;
      exact.decode(
          {.a_type = ExactType::s8, .b_type = ExactType::u8, .d_type = ExactResult::s32, .k = 32, .saturate = saturate},
          4, 8);
      const int64_t sum = -2 * 128 * 255 + 127 * 255;
      for (const int64_t in : {int64_t{INT32_MIN}, INT32_MIN - sum - 1, INT32_MIN - sum, int64_t{7}}) {
        std::array<uint32_t, 32> d{};
        d[0] = static_cast<uint32_t>(in);
        exact.multiply({.rows = 4, .columns = 8, .d = d.data(), .d_pitch = 8, .accumulate = true});
        const int64_t want = saturate ? std::max<int64_t>(in + sum, INT32_MIN) : in + sum;
        EXPECT_EQ(d[0], static_cast<uint32_t>(want)) << in;
      }
    }
}

}  // namespace
}  // namespace warploom::loom
