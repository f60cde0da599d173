// Conversions against the definition of the formats (hardware.md §7): a code's value from its fields, and a number's
// code as the nearest of all values, by comparing distances. Every code in one direction; in the other every place
// where the answer changes, from both sides. The suite in `Full` takes every f32 there is.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "warploom/arch/convert.hpp"
#include "warploom/types/convert_narrow.hpp"

namespace warploom {
namespace {

constexpr Overflow saturate = Overflow::saturate, special = Overflow::special;

/// s1 eE mM; `codes` finite magnitudes, 0 to codes - 1; what comes after them is for each format to say.
struct Format {
  const char* name;
  int exponent, mantissa, bias;
  uint32_t codes;

  double value(uint32_t code) const {
    const double m = code % (1u << mantissa);
    const int e = static_cast<int>(code >> mantissa);
    const double step = std::ldexp(1.0, -mantissa);
    return e == 0 ? std::ldexp(m * step, 1 - bias) : std::ldexp(1 + m * step, e - bias);
  }
  uint32_t sign() const { return 1u << (exponent + mantissa); }
};
constexpr Format e4m3_f{"e4m3", 4, 3, 7, 0x7f}, e5m2_f{"e5m2", 5, 2, 15, 0x7c}, e2m3_f{"e2m3", 2, 3, 1, 0x20},
    e3m2_f{"e3m2", 3, 2, 3, 0x20}, e2m1_f{"e2m1", 2, 1, 1, 8}, f16_f{"f16", 5, 10, 15, 0x7c00},
    bf16_f{"bf16", 8, 7, 127, 0x7f80}, tf32_f{"tf32", 8, 10, 127, 0x3fc00};

enum class Way { even, away, zero };

/// Codes of ascending magnitudes: answers when asked in ascending order. `codes` stands for overflow.
class Nearest {
 public:
  Nearest(const Format& format, Way way) : format_(format), way_(way) { step(); }
  uint32_t operator()(double magnitude) {
    while (code_ < format_.codes && beyond(magnitude)) {
      ++code_;
      step();
    }
    return code_;
  }

 private:
  void step() {
    const double low = format_.value(code_), high = format_.value(code_ + 1);  // one past the largest, too
    limit_ = way_ == Way::zero ? high : (low + high) / 2;
  }
  bool beyond(double magnitude) const {
    if (magnitude != limit_) return magnitude > limit_;
    return way_ == Way::even ? code_ % 2 == 1 : true;
  }
  const Format& format_;
  Way way_;
  uint32_t code_ = 0;
  double limit_ = 0;
};

/// Every value, every middle of two neighbours, and the f32 on either side of each; and the ends. Ascending.
std::vector<float> edges(const Format& format) {
  std::vector<float> list{0, std::numeric_limits<float>::denorm_min(), 0x1p-140f, 0x1p-126f, 0x1p-127f};
  const auto around = [&](double x) {
    if (x > static_cast<double>(std::numeric_limits<float>::max())) return;
    const auto f = static_cast<float>(x);
    EXPECT_EQ(static_cast<double>(f), x);
    for (const float g : {std::nextafter(f, -1.0f), f, std::nextafter(f, INFINITY)})
      if (g >= 0 && std::isfinite(g)) list.push_back(g);
  };
  for (uint32_t code = 0; code < format.codes; ++code) {
    around(format.value(code));
    if (format.mantissa < 22) around((format.value(code) + format.value(code + 1)) / 2);
  }
  if (format.exponent < 8) around(format.value(format.codes));
  list.push_back(std::numeric_limits<float>::max());
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const float f = std::bit_cast<float>(static_cast<uint32_t>(random()) & 0x7fffffff);
    if (std::isfinite(f)) list.push_back(f);
  }
  std::sort(list.begin(), list.end());
  return list;
}

const float not_numbers[] = {std::bit_cast<float>(0x7fc00000u), std::bit_cast<float>(0xffc00000u),
                             std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0xffffffffu)};

/// `top`: what overflow and infinities become; `nan`: what NaN becomes, sign lost.
template <class Convert>
void expect_codes(const Format& format, Way way, uint32_t top, uint32_t nan, Convert&& convert) {
  SCOPED_TRACE(format.name);
  Nearest nearest(format, way);
  for (const float x : edges(format)) {
    const uint32_t code = nearest(static_cast<double>(x)), want = code >= format.codes ? top : code;
    ASSERT_EQ(convert(x), want) << std::hexfloat << x;
    ASSERT_EQ(convert(-x), want | format.sign()) << std::hexfloat << -x;  // -0 keeps its sign, too
  }
  for (const float x : not_numbers) ASSERT_EQ(convert(x), nan);
}

TEST(ConvertFormula, EveryCodeOfEveryFormat) {
  const auto every = [](const Format& format, auto&& widen, uint32_t first_nan, bool infinity) {
    SCOPED_TRACE(format.name);
    for (uint32_t code = 0; code < 2 * format.sign(); ++code) {
      const uint32_t magnitude = code % format.sign();
      const float got = widen(code);
      if (magnitude >= first_nan) {
        ASSERT_TRUE(std::isnan(got)) << code;
        continue;
      }
      const bool endless = infinity && magnitude == format.codes;
      const double want = (code >= format.sign() ? -1 : 1) * (endless ? INFINITY : format.value(magnitude));
      ASSERT_EQ(static_cast<double>(got), want) << code;
      ASSERT_EQ(std::signbit(got), std::signbit(want)) << code;
    }
  };
  constexpr uint32_t none = ~0u;
  every(e4m3_f, [](uint32_t c) { return to_float(e4m3{static_cast<uint8_t>(c)}); }, 0x7f, false);
  every(e5m2_f, [](uint32_t c) { return to_float(e5m2{static_cast<uint8_t>(c)}); }, 0x7d, true);
  every(e2m3_f, [](uint32_t c) { return to_float(e2m3{static_cast<uint8_t>(c)}); }, none, false);
  every(e3m2_f, [](uint32_t c) { return to_float(e3m2{static_cast<uint8_t>(c)}); }, none, false);
  every(e2m1_f, [](uint32_t c) { return to_float(e2m1{static_cast<uint8_t>(c)}); }, none, false);
  every(f16_f, [](uint32_t c) { return to_float(f16{static_cast<uint16_t>(c)}); }, 0x7c01, true);
  every(bf16_f, [](uint32_t c) { return to_float(bf16{static_cast<uint16_t>(c)}); }, 0x7f81, true);
  // Scale factors: no sign.
  for (uint32_t code = 0; code < 256; ++code) {
    const float power = to_float(ue8m0{static_cast<uint8_t>(code)}),
                small = to_float(ue4m3{static_cast<uint8_t>(code)});
    if (code == 0xff)
      EXPECT_TRUE(std::isnan(power));
    else
      EXPECT_EQ(static_cast<double>(power), std::ldexp(1.0, static_cast<int>(code) - 127)) << code;
    if (code % 128 == 0x7f)
      EXPECT_TRUE(std::isnan(small));
    else
      EXPECT_EQ(static_cast<double>(small), e4m3_f.value(code % 128)) << code;
  }
  for (uint32_t code = 0; code < 8; ++code)  // the list of §7
    EXPECT_EQ(to_float(e2m1{static_cast<uint8_t>(code)}),
              (std::array{0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f}[code]));
}

/// The pairs that kernels unpack: two codes of a byte or of a half word, to two f16 (ue8m0: bf16). Exact.
TEST(ConvertFormula, PairsWidenExactly) {
  const auto every = [](const Format& format, auto&& unpack, uint32_t bits_between, uint32_t first_special) {
    SCOPED_TRACE(format.name);
    for (uint32_t low = 0; low < 2 * format.sign(); ++low)
      for (const uint32_t high : {1u, low, 2 * format.sign() - 3}) {
        const uint32_t pair = unpack(static_cast<uint16_t>(low | high << bits_between));
        for (const auto& [code, half] : {std::pair{low, pair & 0xffff}, {high, pair >> 16}}) {
          if (code % format.sign() >= first_special) continue;  // infinities and NaN: the golden tests
          ASSERT_EQ(half >> 15, code / format.sign()) << code;
          ASSERT_EQ(f16_f.value(half & 0x7fff), format.value(code % format.sign())) << code;
        }
      }
  };
  every(e4m3_f, arch::unpack<e4m3>, 8, 0x7f);
  every(e5m2_f, arch::unpack<e5m2>, 8, 0x7c);
  every(e2m3_f, arch::unpack<e2m3>, 8, ~0u);
  every(e3m2_f, arch::unpack<e3m2>, 8, ~0u);
  every(e2m1_f, arch::unpack<e2m1>, 4, ~0u);
  for (uint32_t code = 0; code < 255; ++code) {
    const uint32_t pair = arch::unpack_ue8m0(static_cast<uint16_t>(code | (254 - code) << 8));
    EXPECT_EQ(bf16_f.value(pair & 0xffff), std::ldexp(1.0, static_cast<int>(code) - 127));
    EXPECT_EQ(bf16_f.value(pair >> 16), std::ldexp(1.0, 127 - static_cast<int>(code)));
  }
  EXPECT_EQ(arch::unpack_ue8m0(0xff00), 0x7fff0040u);
}

TEST(ConvertFormula, NarrowTypesRoundToTheNearestValue) {
  expect_codes(e4m3_f, Way::even, 0x7e, 0x7f, [](float x) { return uint32_t{convert_to<e4m3>(x).bits}; });
  expect_codes(e5m2_f, Way::even, 0x7b, 0x7f, [](float x) { return uint32_t{convert_to<e5m2>(x).bits}; });
  expect_codes(e4m3_f, Way::even, 0x7f, 0x7f, [](float x) { return uint32_t{convert_to<e4m3>(x, special).bits}; });
  expect_codes(e5m2_f, Way::even, 0x7c, 0x7f, [](float x) { return uint32_t{convert_to<e5m2>(x, special).bits}; });
  expect_codes(e2m3_f, Way::even, 0x1f, 0x1f, [](float x) { return uint32_t{convert_to<e2m3>(x).bits}; });
  expect_codes(e3m2_f, Way::even, 0x1f, 0x1f, [](float x) { return uint32_t{convert_to<e3m2>(x).bits}; });
  expect_codes(e2m1_f, Way::even, 0x7, 0x7, [](float x) { return uint32_t{convert_to<e2m1>(x).bits}; });
  for (const float x : {INFINITY, -INFINITY}) {
    const uint32_t sign = x < 0 ? 1 : 0;
    EXPECT_EQ(convert_to<e4m3>(x).bits, 0x7e | sign << 7);
    EXPECT_EQ(convert_to<e5m2>(x).bits, 0x7b | sign << 7);
    EXPECT_EQ(convert_to<e4m3>(x, special).bits, 0x7f | sign << 7);
    EXPECT_EQ(convert_to<e5m2>(x, special).bits, 0x7c | sign << 7);
    EXPECT_EQ(convert_to<e2m3>(x).bits, 0x1f | sign << 5);
    EXPECT_EQ(convert_to<e3m2>(x).bits, 0x1f | sign << 5);
    EXPECT_EQ(convert_to<e2m1>(x).bits, 0x7 | sign << 3);
  }
  // The numbers that §7.1 names.
  EXPECT_EQ(convert_to<e4m3>(464.0f, special).bits, 0x7e);
  EXPECT_EQ(convert_to<e4m3>(464.1f, special).bits, 0x7f);
  EXPECT_EQ(convert_to<e4m3>(464.1f).bits, 0x7e);
}

/// In pairs: the first operand of the instruction, our second argument, is the upper half. relu: no sign, no -0.
TEST(ConvertFormula, PairsAndRelu) {
  Nearest low4(e4m3_f, Way::even), low5(e5m2_f, Way::even), low1(e2m1_f, Way::even);
  for (const float x : edges(e4m3_f)) {
    const auto clamp = [](uint32_t code, uint32_t top) { return std::min(code, top); };
    const uint32_t c4 = clamp(low4(static_cast<double>(x)), 0x7e), c5 = clamp(low5(static_cast<double>(x)), 0x7b),
                   c1 = clamp(low1(static_cast<double>(x)), 7);
    ASSERT_EQ((arch::pack<e4m3>(x, -x)), c4 | (c4 | 0x80) << 8);
    ASSERT_EQ((arch::pack<e5m2>(-x, x)), (c5 | 0x80) | c5 << 8);
    ASSERT_EQ((arch::pack<e2m1>(-x, x)), (c1 | 8) | c1 << 4);
    ASSERT_EQ((arch::pack<e4m3, true>(x, -x)), c4);
    ASSERT_EQ((arch::pack<e5m2, true>(-x, x)), c5 << 8);
  }
  for (const float x : not_numbers) {
    EXPECT_EQ((arch::pack<e4m3, true>(x, 0)), 0x7f);
    EXPECT_EQ((arch::pack_f16<Rounding::nearest_even, special, true>(x, -1)), 0x7fffu);
    EXPECT_EQ((arch::pack_bf16<Rounding::nearest_even, special, true>(-0.0f, x)), 0x7fff0000u);
  }
}

TEST(ConvertFormula, HalvesInEveryRounding) {
  constexpr auto even = Rounding::nearest_even, cut = Rounding::toward_zero;
  const auto f16_of = [](Rounding r, Overflow o) { return [=](float x) { return uint32_t{to_f16(x, r, o).bits}; }; };
  const auto bf16_of = [](Rounding r, Overflow o) { return [=](float x) { return uint32_t{to_bf16(x, r, o).bits}; }; };
  expect_codes(f16_f, Way::even, 0x7c00, 0x7fff, f16_of(even, special));
  expect_codes(f16_f, Way::even, 0x7bff, 0x7fff, f16_of(even, saturate));
  expect_codes(f16_f, Way::zero, 0x7bff, 0x7fff, f16_of(cut, special));
  expect_codes(bf16_f, Way::even, 0x7f80, 0x7fff, bf16_of(even, special));
  expect_codes(bf16_f, Way::even, 0x7f7f, 0x7fff, bf16_of(even, saturate));
  expect_codes(bf16_f, Way::zero, 0x7f7f, 0x7fff, bf16_of(cut, special));
  EXPECT_EQ(to_f16(INFINITY, cut, special).bits, 0x7c00);
  EXPECT_EQ(to_f16(-INFINITY, even, saturate).bits, 0xfbff);
  EXPECT_EQ(to_bf16(-INFINITY, cut, special).bits, 0xff80);
}

TEST(ConvertFormula, Tf32InEveryRounding) {
  const auto of = [](Rounding r) {
    return [=](float x) {
      const uint32_t word = to_tf32(x, r);
      EXPECT_EQ(word & 0x1fff, 0u);
      return word >> 13;
    };
  };
  expect_codes(tf32_f, Way::even, 0x3fc00, 0x3ffff, of(Rounding::nearest_even));
  expect_codes(tf32_f, Way::zero, 0x3fbff, 0x3ffff, of(Rounding::toward_zero));
  Nearest nearest(tf32_f, Way::away);
  for (const float x : edges(tf32_f)) {
    const uint32_t code = nearest(static_cast<double>(x));
    ASSERT_EQ(to_tf32(x, Rounding::nearest_away), code << 13);
    ASSERT_EQ(to_tf32(-x, Rounding::nearest_away), code << 13 | 0x80000000u);
  }
  EXPECT_EQ(to_tf32(std::bit_cast<float>(0x7f800001u), Rounding::nearest_away), 0x7f800000u);  // NaN to infinity
}

/// Powers of two: the exponent of the number, or of the next power.
uint32_t scale_of(double magnitude, bool up, uint32_t top) {
  int code = 0;
  while (code <= 254 && (up ? std::ldexp(1.0, code - 127) < magnitude : std::ldexp(1.0, code - 126) <= magnitude))
    ++code;
  return code > 254 ? top : static_cast<uint32_t>(code);
}

TEST(ConvertFormula, ScalesDownAndUp) {
  std::vector<float> list = edges(bf16_f);
  for (int e = -149; e < 128; ++e)
    for (const float f : {std::ldexp(1.0f, e), std::nextafter(std::ldexp(1.0f, e), 0.0f),
                          std::nextafter(std::ldexp(1.0f, e), INFINITY)})
      list.push_back(f);
  for (size_t i = 0; i < list.size(); i += 1 + (i < list.size() - 900 ? 6 : 0))
    for (const float x : {list[i], -list[i]})
      for (const bool up : {false, true})
        for (const Overflow overflow : {saturate, special})
          ASSERT_EQ(to_ue8m0(x, up ? ScaleRounding::up : ScaleRounding::toward_zero, overflow).bits,
                    scale_of(std::fabs(static_cast<double>(x)), up, overflow == saturate ? 0xfe : 0xff))
              << std::hexfloat << x << (up ? " up" : " down");
  for (const bool up : {false, true}) {
    const ScaleRounding rounding = up ? ScaleRounding::up : ScaleRounding::toward_zero;
    EXPECT_EQ(to_ue8m0(INFINITY, rounding, saturate).bits, 0xfe);
    EXPECT_EQ(to_ue8m0(-INFINITY, rounding, special).bits, 0xff);
    for (const float x : not_numbers) EXPECT_EQ(to_ue8m0(x, rounding, saturate).bits, 0xff);
  }
}

/// All magnitudes of f32 in ascending order, all five narrow types and both scales.
TEST(ConvertFormulaFull, EveryFloat) {
  Nearest n43(e4m3_f, Way::even), n52(e5m2_f, Way::even), n23(e2m3_f, Way::even), n32(e3m2_f, Way::even),
      n21(e2m1_f, Way::even);
  uint32_t down = 0, up = 0;
  for (uint32_t word = 0; word < 0x7f800000; ++word) {
    const auto x = std::bit_cast<float>(word);
    const auto magnitude = static_cast<double>(x);
    bool right = true;
    const auto expect = [&](uint32_t got, uint32_t code, uint32_t top) { right &= got == std::min(code, top); };
    expect(convert_to<e4m3>(x).bits, n43(magnitude), 0x7e);
    expect(convert_to<e5m2>(x).bits, n52(magnitude), 0x7b);
    expect(convert_to<e2m3>(x).bits, n23(magnitude), 0x1f);
    expect(convert_to<e3m2>(x).bits, n32(magnitude), 0x1f);
    expect(convert_to<e2m1>(x).bits, n21(magnitude), 0x7);
    while (down < 254 && std::ldexp(1.0, static_cast<int>(down) - 126) <= magnitude) ++down;
    while (up < 255 && std::ldexp(1.0, static_cast<int>(up) - 127) < magnitude) ++up;
    expect(to_ue8m0(x, ScaleRounding::toward_zero, saturate).bits, down, 0xfe);
    expect(to_ue8m0(x, ScaleRounding::up, saturate).bits, up, 0xfe);
    if (!right) FAIL() << "the code of " << std::hexfloat << x;
  }
}

}  // namespace
}  // namespace warploom
