// Arithmetic of the loom, bit for bit as PTX says, and its conversions as an H200 made them.
#include "warploom/arch/math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "support/golden.hpp"

namespace warploom {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr uint32_t nan_bits = 0x7fffffffu;
const float some_nan = arch::as_float(0xffc12345u);

TEST(Math, PacksAsOnH200) {
  const std::vector<uint8_t> bytes = test::read_bytes("h200_cvt.bin");
  const auto column = [&](const char* name) -> const uint8_t* {
    for (const test::json& row : test::read_json_lines("h200_cvt.jsonl"))
      if (row["column"] == name) return bytes.data() + row["offset"].get<size_t>();
    ADD_FAILURE() << "no column " << name;
    return bytes.data();
  };
  const uint8_t *inputs = column("input_f32"), *half = column("f16_rn"), *small = column("e4m3_satfinite"),
                *brain = column("bf16_rn");
  const auto word = [](const uint8_t* at, size_t index, size_t size) {
    uint32_t value = 0;
    std::memcpy(&value, at + index * size, size);
    return value;
  };
  for (size_t i = 0; i < 65536; ++i) {
    const size_t j = (i * 40'503 + 7) % 65536;  // another one, for the upper half
    const float low = arch::as_float(word(inputs, i, 4)), high = arch::as_float(word(inputs, j, 4));
    ASSERT_EQ(arch::pack_f16(low, high), word(half, i, 2) | word(half, j, 2) << 16) << i;
    ASSERT_EQ(arch::pack_bf16(low, high), word(brain, i, 2) | word(brain, j, 2) << 16) << i;
    ASSERT_EQ(arch::pack_e4m3(low, high), small[i] | small[j] << 8) << i;
  }
}

TEST(Math, HalfToFloat) {
  int rows = 0;
  for (const auto& row : test::read_csv("codes_to_f32.csv")) {
    if (row[2] != "f16" || row[4] == "nan") continue;
    ++rows;
    const float value = arch::to_float(f16{static_cast<uint16_t>(test::number(row[3]))});
    EXPECT_EQ(arch::as_bits(value), test::number(row[4])) << row[3];
  }
  EXPECT_GT(rows, 500);
  EXPECT_EQ(arch::as_bits(arch::to_float(f16{0x7e01})), nan_bits);
  EXPECT_EQ(arch::to_float(f16{0x0001}), 0x1p-24f);
  EXPECT_EQ(arch::to_float(f16{0xfc00}), -infinity);
}

TEST(Math, Reciprocal) {
  EXPECT_EQ(arch::reciprocal(1.0f), 1.0f);
  EXPECT_EQ(arch::reciprocal(3.0f), 0x1.555556p-2f);
  EXPECT_EQ(arch::reciprocal(0x1p-126f), 0x1p126f);
  EXPECT_EQ(arch::reciprocal(0x1.fffffep125f), 0x1.000002p-126f);
  EXPECT_EQ(arch::as_bits(arch::reciprocal(0x1.00001p126f)), 0u);  // subnormal: flushed
  EXPECT_EQ(arch::as_bits(arch::reciprocal(std::numeric_limits<float>::max())), 0u);
}

/// The GPU's Newton step, from every float within one unit of the quotient's last place, that PTX allows rcp.approx.
TEST(Math, ReciprocalStepRoundsCorrectly) {
  int steps = 0;
  for (uint32_t mantissa = 0; mantissa < 1u << 23; ++mantissa) {
    const float a = arch::as_float(0x3f800000u + mantissa), nearest = arch::reciprocal(a);
    const double quotient = 1.0 / static_cast<double>(a);
    for (const uint32_t other : {~0u, 0u, 1u}) {
      const float approximate = arch::as_float(arch::as_bits(nearest) + other);
      if (std::fabs(static_cast<double>(approximate) - quotient) > (mantissa == 0 ? 0x1p-23 : 0x1p-24)) continue;
      ++steps;
      const float e = arch::fma(-a, approximate, 1.0f), result = arch::fma(approximate, e, approximate);
      // The one exception: from the lower neighbour of 1 / (2 - 2^-23) the step ends on a tie. rcp.rn.f32 compiles to
      // the same step, and is exact by its definition: rcp.approx has the upper one there.
      if (mantissa == 0x7fffff && approximate == 0.5f)
        ASSERT_EQ(result, 0.5f);
      else
        ASSERT_EQ(result, nearest) << mantissa << " from " << approximate;
    }
  }
  EXPECT_EQ(steps, (2 << 23) + 1);
}

/// From 1 to 2, all mantissas: the hashes are those of what an H200 returned (tools/special_functions.cu), not of what
/// the loom computed. Other exponents: arch_check.
TEST(Math, SpecialFunctionsAreTheGpus) {
  auto hash = [](auto&& function) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < 1u << 23; ++i)
      sum = (sum ^ arch::as_bits(function(arch::as_float(0x3f800000u + i)))) * 0x100000001b3u;
    return sum;
  };
  EXPECT_EQ(hash([](float x) { return arch::exp2_approx(x); }), 0x3f0f3852f2fa7edbu);
  EXPECT_EQ(hash([](float x) { return arch::reciprocal_approx(x); }), 0xfa72a6c698274964u);
}

TEST(Math, SpecialFunctionsAtTheEdges) {
  EXPECT_EQ(arch::exp2_approx(0.0f), 1.0f);
  EXPECT_EQ(arch::exp2_approx(-0x1p-40f), 1.0f);
  EXPECT_EQ(arch::exp2_approx(-3.0f), 0.125f);
  EXPECT_EQ(arch::exp2_approx(-126.0f), 0x1p-126f);
  EXPECT_EQ(arch::as_bits(arch::exp2_approx(-126.5f)), 0u);  // subnormal: flushed
  EXPECT_EQ(arch::exp2_approx(128.0f), infinity);
  EXPECT_EQ(arch::exp2_approx(infinity), infinity);
  EXPECT_EQ(arch::as_bits(arch::exp2_approx(-infinity)), 0u);
  EXPECT_EQ(arch::as_bits(arch::exp2_approx(some_nan)), nan_bits);
  EXPECT_EQ(arch::reciprocal_approx(1.0f), 1.0f);
  EXPECT_EQ(arch::reciprocal_approx(-4.0f), -0.25f);
  EXPECT_EQ(arch::reciprocal_approx(0.0f), infinity);
  EXPECT_EQ(arch::reciprocal_approx(-0x1p-127f), -infinity);  // a subnormal number counts as zero
  EXPECT_EQ(arch::reciprocal_approx(0x1p126f), 0x1p-126f);
  EXPECT_EQ(arch::as_bits(arch::reciprocal_approx(-0x1.8p126f)), 0x80000000u);
  EXPECT_EQ(arch::as_bits(arch::reciprocal_approx(-infinity)), 0x80000000u);
  EXPECT_EQ(arch::as_bits(arch::reciprocal_approx(some_nan)), nan_bits);
}

TEST(Math, NanIsTheGpus) {
  EXPECT_EQ(arch::as_bits(arch::fma(some_nan, 1, 1)), nan_bits);
  EXPECT_EQ(arch::as_bits(arch::multiply(infinity, 0)), nan_bits);
  EXPECT_EQ(arch::as_bits(arch::add(infinity, -infinity)), nan_bits);
  EXPECT_EQ(arch::as_bits(arch::subtract(1, some_nan)), nan_bits);
}

TEST(Math, AddsAndSubtracts) {
  EXPECT_EQ(arch::add(1, 0x1p-24f), 1.0f);  // a tie goes to the even neighbour
  EXPECT_EQ(arch::add(1, 0x1.8p-24f), 1 + 0x1p-23f);
  EXPECT_EQ(arch::subtract(1, 0x1p-24f), 1 - 0x1p-24f);
  EXPECT_EQ(arch::subtract(0x1p-126f, 0x1.8p-126f), -0x1p-127f);  // subnormals stay
}

TEST(Math, MaximumAndMinimum) {
  EXPECT_EQ(arch::maximum(-2, 3), 3.0f);
  EXPECT_EQ(arch::minimum(-2, 3), -2.0f);
  for (const bool exchanged : {false, true}) {
    const auto larger = [&](float a, float b) { return exchanged ? arch::maximum(b, a) : arch::maximum(a, b); };
    const auto smaller = [&](float a, float b) { return exchanged ? arch::minimum(b, a) : arch::minimum(a, b); };
    const auto strict = [&](float a, float b) {
      return exchanged ? arch::maximum_or_nan(b, a) : arch::maximum_or_nan(a, b);
    };
    EXPECT_EQ(arch::as_bits(larger(0.0f, -0.0f)), 0u);
    EXPECT_EQ(arch::as_bits(strict(0.0f, -0.0f)), 0u);
    EXPECT_EQ(arch::as_bits(smaller(0.0f, -0.0f)), 0x80000000u);
    EXPECT_EQ(larger(some_nan, -5), -5.0f);
    EXPECT_EQ(smaller(some_nan, -5), -5.0f);
    EXPECT_EQ(arch::as_bits(strict(some_nan, -5)), nan_bits);
    EXPECT_EQ(larger(-infinity, infinity), infinity);
    EXPECT_EQ(smaller(-infinity, infinity), -infinity);
  }
  EXPECT_EQ(arch::as_bits(arch::maximum(some_nan, some_nan)), nan_bits);
  EXPECT_EQ(arch::as_bits(arch::minimum(some_nan, some_nan)), nan_bits);
  EXPECT_EQ(arch::as_bits(arch::maximum(-0.0f, -0.0f)), 0x80000000u);
}

TEST(Math, Absolute) {
  EXPECT_EQ(arch::absolute(-2.5f), 2.5f);
  EXPECT_EQ(arch::as_bits(arch::absolute(-0.0f)), 0u);
  EXPECT_EQ(arch::absolute(-infinity), infinity);
}

}  // namespace
}  // namespace warploom
