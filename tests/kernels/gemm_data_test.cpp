// Made-up GEMMs and their check, against the definition written out: what is right passes, what is not does not.
#include "warploom/kernels/gemm_data.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/gemm_values.hpp"

namespace warploom {
namespace {

double element(const OperandRef& ref, int64_t matrix, int64_t row, int64_t k) {
  const int64_t at = matrix * ref.batch_stride + (ref.major == Major::k ? row * ref.stride + k : k * ref.stride + row);
  return decode_value(ref.type, static_cast<const std::byte*>(ref.data) + at * size_of(ref.type));
}

/// The definition, element by element.
void solve(const GemmProblem& p) {
  auto* d = static_cast<std::byte*>(p.d.data);
  const auto* c = static_cast<const std::byte*>(p.c.data);
  const auto* bias = static_cast<const std::byte*>(p.bias.data);
  for (int64_t z = 0; z < p.batch; ++z)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          double product = element(p.a, z, i, k) * element(p.b, z, j, k);
          if (p.scaling != Scaling::none) {
            product *= p.a_scales.data[k / 128 * p.a_scales.stride + i];
            product *= p.scaling == Scaling::a_rows_b_rows ? p.b_scales.data[k / 128 * p.b_scales.stride + j]
                                                           : p.b_scales.data[j / 128 * ((p.k + 127) / 128) + k / 128];
          }
          sum += product;
        }
        double y = p.alpha * sum;
        if (p.beta != 0.0f)
          y += p.beta * static_cast<double>(decode_value(
                            p.c.type, c + (z * p.c.batch_stride + i * p.c.stride + j) * size_of(p.c.type)));
        if (p.bias.along != BiasAlong::none)
          y += decode_value(p.bias.type, bias + (p.bias.along == BiasAlong::n ? j : i) * size_of(p.bias.type));
        switch (p.activation) {
          case Activation::none: break;
          case Activation::relu: y = std::max(y, 0.0); break;
          case Activation::gelu: y = y * 0.5 * std::erfc(-y / std::sqrt(2.0)); break;
          case Activation::gelu_tanh:
            // y (1 + tanh(u)) / 2, without the difference of two numbers that are nearly the same
            y = y / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (y + 0.044715 * y * y * y)));
            break;
          case Activation::silu: y = y / (1 + std::exp(-y)); break;
        }
        store_bits(p.d.type, d + (z * p.d.batch_stride + i * p.d.stride + j) * size_of(p.d.type),
                   encode_value(p.d.type, static_cast<float>(y)));
      }
}

std::vector<GemmDataSpec> specs() {
  std::vector<GemmDataSpec> list;
  for (DType d : {DType::bf16, DType::f16, DType::f32, DType::e4m3}) {
    list.push_back({.m = 13, .n = 21, .k = 70, .d = d, .beta = 0.5f});
    list.push_back({.m = 13,
                    .n = 21,
                    .k = 70,
                    .batch = 3,
                    .a = DType::f16,
                    .b = DType::f16,
                    .d = d,
                    .a_major = Major::mn,
                    .bias = BiasAlong::m,
                    .padding = 1});
    list.push_back({.m = 20,
                    .n = 40,
                    .k = 33,
                    .d = d,
                    .b_major = Major::mn,
                    .bias = BiasAlong::n,
                    .bias_type = DType::bf16,
                    .alpha = 0.25f,
                    .odd_output = true});
    list.push_back({.m = 20,
                    .n = 48,
                    .k = 200,
                    .a = DType::e4m3,
                    .b = DType::e4m3,
                    .d = d,
                    .scaling = Scaling::a_rows_b_blocks,
                    .beta = 1.0f});
    list.push_back({.m = 9,
                    .n = 136,
                    .k = 300,
                    .a = DType::e4m3,
                    .b = DType::e4m3,
                    .d = d,
                    .scaling = Scaling::a_rows_b_rows,
                    .padding = 2});
    list.push_back(
        {.m = 30, .n = 31, .k = 100, .batch = 2, .a = DType::e5m2, .b = DType::e4m3, .d = d, .shared_a = true});
  }
  for (Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
    list.push_back(
        {.m = 30, .n = 31, .k = 40, .activation = activation, .alpha = 0.1f, .beta = -1.0f, .in_place = true});
  list.push_back({.m = 5, .n = 6, .k = 0, .bias = BiasAlong::n, .beta = 1.0f});
  return list;
}

TEST(GemmData, TheDefinitionPasses) {
  for (Fill fill : {Fill::normal, Fill::uniform, Fill::integer})
    for (GemmDataSpec spec : specs()) {
      spec.fill = fill;
      SCOPED_TRACE(testing::Message() << spec.m << "x" << spec.n << "x" << spec.k << " " << name_of(spec.a) << " to "
                                      << name_of(spec.d) << " fill " << static_cast<int>(fill));
      GemmData data(spec);
      const GemmProblem p = data.problem();
      solve(p);
      const GemmData::Accuracy accuracy = data.compare();
      EXPECT_EQ(accuracy.rounding_mismatches, 0);
      EXPECT_TRUE(accuracy.padding_untouched);
      EXPECT_EQ(accuracy.elements, int64_t{spec.m} * spec.n * spec.batch);
      EXPECT_TRUE(data.acceptable(accuracy)) << accuracy.text();
    }
}

TEST(GemmData, OneWrongElementIsSeen) {
  for (GemmDataSpec spec : specs()) {
    spec.fill = Fill::integer;
    GemmData data(spec);
    const GemmProblem p = data.problem();
    solve(p);
    auto* d = static_cast<std::byte*>(p.d.data);
    const int64_t at = (p.batch - 1) * p.d.batch_stride + (p.m - 1) * p.d.stride + p.n - 1;
    std::byte* last = d + at * size_of(p.d.type);
    store_bits(p.d.type, last, encode_value(p.d.type, decode_value(p.d.type, last) / 2 + 9.0f));
    const GemmData::Accuracy accuracy = data.compare();
    EXPECT_EQ(accuracy.rounding_mismatches, 1);
    if (spec.activation == Activation::none) {
      EXPECT_FALSE(data.acceptable(accuracy));
    }
  }
}

TEST(GemmData, WhatNobodyWroteAndWhatNobodyMayWriteIsSeen) {
  for (const GemmDataSpec& spec : specs()) {
    if (spec.in_place) continue;
    GemmData data(spec);
    EXPECT_FALSE(data.acceptable(data.compare())) << "D is NaN";
    const GemmProblem p = data.problem();
    solve(p);
    EXPECT_TRUE(data.compare().padding_untouched);
    auto* d = static_cast<std::byte*>(p.d.data);
    const int64_t behind = (p.batch - 1) * p.d.batch_stride + (p.m - 1) * p.d.stride + p.n;
    store_bits(p.d.type, d + behind * size_of(p.d.type), 0);
    EXPECT_FALSE(data.compare().padding_untouched);
    EXPECT_FALSE(data.acceptable(data.compare()));
  }
}

constexpr int few_rows = 3, many_rows = 60;

std::byte* element_of_d(const GemmProblem& p, int64_t i, int64_t j) {
  return static_cast<std::byte*>(p.d.data) + (i * p.d.stride + j) * size_of(p.d.type);
}

TEST(GemmData, ANanThatTheAnswerHasIsRight) {
  for (int m : {few_rows, many_rows})
    for (DType d : {DType::bf16, DType::f16, DType::f32, DType::e4m3}) {
      SCOPED_TRACE(testing::Message() << m << " rows of " << name_of(d));
      constexpr int n = 20, k = 16;
      std::vector<uint16_t> a(static_cast<size_t>(m) * k), b(n * k);
      for (size_t i = 0; i < a.size(); ++i)
        a[i] = static_cast<uint16_t>(encode_value(DType::bf16, 0.25f * (static_cast<float>(i % 7) - 2)));
      for (size_t i = 0; i < b.size(); ++i)
        b[i] = static_cast<uint16_t>(encode_value(DType::bf16, 0.5f * (static_cast<float>(i % 5) - 1)));
      a[k + 3] = static_cast<uint16_t>(nan_bits(DType::bf16));  // row 1
      GemmData data({.m = m, .n = n, .k = k, .d = d}, {.a = a.data(), .b = b.data()});
      const GemmProblem p = data.problem();
      solve(p);
      ASSERT_TRUE(std::isnan(decode_value(d, element_of_d(p, 1, 4))));
      const GemmData::Accuracy right = data.compare();
      EXPECT_TRUE(data.acceptable(right)) << right.text();
      EXPECT_EQ(right.rounding_mismatches, 0);
      EXPECT_TRUE(std::isfinite(right.max_abs_error));
      EXPECT_TRUE(std::isfinite(right.diff));

      const uint32_t nan = load_bits(d, element_of_d(p, 1, 4)), number = load_bits(d, element_of_d(p, 0, 4));
      store_bits(d, element_of_d(p, 1, 4), number);
      EXPECT_FALSE(data.acceptable(data.compare())) << "a number where the answer is NaN";
      EXPECT_EQ(data.compare().max_abs_error, INFINITY);
      store_bits(d, element_of_d(p, 1, 4), nan);
      store_bits(d, element_of_d(p, 0, 4), nan);
      EXPECT_FALSE(data.acceptable(data.compare())) << "NaN where the answer is a number";
      EXPECT_EQ(data.compare().max_abs_error, INFINITY);
    }
}

TEST(GemmData, OfMinusInfinityAnActivationMakesZero) {
  for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
    SCOPED_TRACE(static_cast<int>(activation));
    constexpr int m = few_rows, n = 20, k = 16;
    const std::vector<uint16_t> b(n * k, static_cast<uint16_t>(encode_value(DType::bf16, 1.0f)));
    const std::vector<uint16_t> a(static_cast<size_t>(m) * k, b[0]);
    std::vector<uint16_t> c(static_cast<size_t>(m) * n, 0);
    for (int j = 0; j < n; ++j) c[n + j] = static_cast<uint16_t>(encode_value(DType::bf16, -INFINITY));  // row 1
    GemmData data({.m = m, .n = n, .k = k, .activation = activation, .beta = 1.0f},
                  {.a = a.data(), .b = b.data(), .c = c.data()});
    const GemmProblem p = data.problem();
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        store_bits(DType::bf16, element_of_d(p, i, j), i == 1 ? 0 : encode_value(DType::bf16, k));
    EXPECT_TRUE(data.acceptable(data.compare()));
    store_bits(DType::bf16, element_of_d(p, 1, 4), nan_bits(DType::bf16));
    EXPECT_FALSE(data.acceptable(data.compare()));
  }
}

TEST(GemmData, AnInfinityIsRightOnlyWhereTheAnswerIsOne) {
  for (int m : {few_rows, many_rows})
    for (DType d : {DType::bf16, DType::f16, DType::f32}) {
      SCOPED_TRACE(testing::Message() << m << " rows of " << name_of(d));
      constexpr int n = 20, k = 16;
      const std::vector<uint16_t> b(n * k, static_cast<uint16_t>(encode_value(DType::bf16, 1.0f)));
      std::vector<uint16_t> a(static_cast<size_t>(m) * k, b[0]);
      a[k + 3] = static_cast<uint16_t>(encode_value(DType::bf16, INFINITY));  // row 1
      GemmData data({.m = m, .n = n, .k = k, .d = d}, {.a = a.data(), .b = b.data()});
      const GemmProblem p = data.problem();
      solve(p);
      EXPECT_TRUE(data.acceptable(data.compare()));
      for (const auto& [row, wrong] : {std::pair(0, INFINITY), {1, -INFINITY}, {1, 1.0f}, {1, NAN}}) {
        const uint32_t before = load_bits(d, element_of_d(p, row, 4));
        store_bits(d, element_of_d(p, row, 4), encode_value(d, wrong));
        EXPECT_FALSE(data.acceptable(data.compare())) << wrong << " in row " << row;
        store_bits(d, element_of_d(p, row, 4), before);
      }
    }
}

TEST(GemmData, WhatUnderflowsIsRightAsItRounds) {
  for (int m : {few_rows, many_rows})
    for (const auto& [d, alpha] :
         {std::pair(DType::bf16, 1e-45f), {DType::bf16, 1e-41f}, {DType::f32, 1e-45f}, {DType::f16, 1e-9f}})
      for (Scaling scaling : {Scaling::none, Scaling::a_rows_b_rows}) {
        SCOPED_TRACE(testing::Message() << m << " rows of " << name_of(d) << ", alpha " << alpha);
        const DType operand = scaling == Scaling::none ? DType::bf16 : DType::e4m3;
        GemmData data(
            {.m = m, .n = 24, .k = 64, .a = operand, .b = operand, .d = d, .scaling = scaling, .alpha = alpha});
        const GemmProblem p = data.problem();
        solve(p);
        const GemmData::Accuracy right = data.compare();
        EXPECT_TRUE(data.acceptable(right)) << right.text();
        store_bits(d, element_of_d(p, 1, 4), encode_value(d, 1.0f));
        EXPECT_FALSE(data.acceptable(data.compare()));
      }
}

// ---- what a figure for all of D would not see

/// D of a problem in bf16 to bf16 without an epilogue, in fp32.
void solve_quickly(const GemmProblem& p) {
  const auto decoded = [&](const OperandRef& ref, int rows) {
    std::vector<float> values(static_cast<size_t>(rows) * static_cast<size_t>(p.k));
    for (int r = 0; r < rows; ++r)
      for (int q = 0; q < p.k; ++q)
        values[static_cast<size_t>(r * p.k + q)] = static_cast<float>(element(ref, 0, r, q));
    return values;
  };
  const std::vector<float> a = decoded(p.a, p.m), b = decoded(p.b, p.n);
  for (int i = 0; i < p.m; ++i)
    for (int j = 0; j < p.n; ++j) {
      float sum = 0;
      for (int q = 0; q < p.k; ++q) sum += a[static_cast<size_t>(i * p.k + q)] * b[static_cast<size_t>(j * p.k + q)];
      store_bits(p.d.type, element_of_d(p, i, j), encode_value(p.d.type, sum));
    }
}
void scale_element(const GemmProblem& p, int64_t i, int64_t j, float factor) {
  std::byte* const at = element_of_d(p, i, j);
  store_bits(p.d.type, at, encode_value(p.d.type, decode_value(p.d.type, at) * factor));
}

TEST(GemmData, EightWrongElementsOfAMillionAreSeen) {
  GemmData data({.m = 1024, .n = 1024, .k = 32});
  const GemmProblem p = data.problem();
  solve_quickly(p);
  ASSERT_TRUE(data.acceptable(data.compare()));
  for (int i = 0; i < 8; ++i) scale_element(p, 100 * i + 3, 1000 - 90 * i, 1.25f);
  EXPECT_FALSE(data.acceptable(data.compare()));
}

TEST(GemmData, AColumnTwoPercentTooLargeIsSeenAmongTwoThousand) {
  GemmData data({.m = 2048, .n = 2048, .k = 16});
  const GemmProblem p = data.problem();
  solve_quickly(p);
  ASSERT_TRUE(data.acceptable(data.compare()));
  for (int i = 0; i < 2048; ++i) scale_element(p, i, 1234, 1.02f);
  EXPECT_FALSE(data.acceptable(data.compare()));
}

TEST(GemmData, SixtyThreeWrongRowsBesideOneLargeRowAreSeen) {
  constexpr int m = 64, n = 64, k = 32;
  std::vector<uint16_t> a(m * k), b(n * k);
  for (size_t i = 0; i < a.size(); ++i) {
    const float value = 0.25f * (static_cast<float>(i * 7 % 13) - 6);
    a[i] = static_cast<uint16_t>(encode_value(DType::bf16, i / k == 20 ? 10000 * value : value));
  }
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<uint16_t>(encode_value(DType::bf16, 0.5f * (static_cast<float>(i * 5 % 11) - 5)));
  GemmData data({.m = m, .n = n, .k = k}, {.a = a.data(), .b = b.data()});
  const GemmProblem p = data.problem();
  solve_quickly(p);
  ASSERT_TRUE(data.acceptable(data.compare()));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n && i != 20; ++j) scale_element(p, i, j, 2.0f);
  EXPECT_FALSE(data.acceptable(data.compare()));
}

TEST(GemmData, QuantisationLosesWhatIsExpected) {
  GemmData data({.m = 64,
                 .n = 128,
                 .k = 512,
                 .a = DType::e4m3,
                 .b = DType::e4m3,
                 .d = DType::f32,
                 .scaling = Scaling::a_rows_b_blocks});
  solve(data.problem());
  const GemmData::Accuracy accuracy = data.compare();
  EXPECT_LT(accuracy.diff, 1e-12);
  EXPECT_GT(accuracy.diff_unquantised, 1e-5);
  EXPECT_LT(accuracy.diff_unquantised, 1e-3);
}

TEST(GemmData, TensorsFromElsewhereAreTaken) {
  const GemmDataSpec spec{.m = 3, .n = 5, .k = 7, .d = DType::f32};
  std::vector<uint16_t> a(21), b(35);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<uint16_t>(encode_value(DType::bf16, static_cast<float>(i)));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<uint16_t>(encode_value(DType::bf16, i % 5 == 0 ? 1.0f : 0.0f));
  GemmData data(spec, {.a = a.data(), .b = b.data()});
  const GemmProblem p = data.problem();
  EXPECT_EQ(element(p.a, 0, 2, 6), 20.0);
  EXPECT_EQ(element(p.b, 0, 1, 3), 1.0);
  solve(p);
  EXPECT_TRUE(data.acceptable(data.compare()));
  const std::vector<std::byte> dense = data.dense_d();
  EXPECT_EQ(dense.size(), 3 * 5 * 4u);
  EXPECT_EQ(decode_value(DType::f32, dense.data()), 5.0f);  // a 0 .. 6 where b is 1: at 0 and 5
}

}  // namespace
}  // namespace warploom
