// Data in a small ring: what is right passes whatever the type of D, and a contribution that is missing or there twice
// shows in nearly every element, where rounding to bf16 would hide it.
#include "warploom/kernels/ring.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "warploom/kernels/gemm_data.hpp"

namespace warploom {
namespace {

TEST(Ring, SumsFitIntoDAndProductsIntoFp32) {
  for (const auto& [d, exact] :
       {std::pair{DType::bf16, 256}, {DType::f16, 2048}, {DType::e4m3, 16}, {DType::f32, 1 << 24}})
    for (const int64_t terms : {1, 2, 10, 100})
      for (const int64_t k : {1, 100, 5000, 1 << 20}) {
        const RingData ring = ring_for(d, DType::bf16, DType::e4m3, k, terms);
        if (ring.modulus == 0) {
          EXPECT_GT(terms, exact) << "two elements would do";
          continue;
        }
        EXPECT_LE(terms * (ring.modulus - 1), exact);
        EXPECT_LE(ring.modulus, 251u);
        for (uint32_t by = 2; by < ring.modulus; ++by) EXPECT_NE(ring.modulus % by, 0u) << ring.modulus;
        EXPECT_GE(ring.largest, 1u);
        EXPECT_LE(ring.largest, 16u);  // e4m3
        EXPECT_LT(static_cast<double>(ring.largest) * ring.largest * static_cast<double>(k) + ring.modulus, 1 << 24);
      }
  EXPECT_EQ(ring_for(DType::f32, DType::bf16, DType::bf16, 64, 2).modulus, 251u);
}

TEST(Ring, OnlyTheRemainderCounts) {
  EXPECT_TRUE(same_in_ring(3, 3 + 7 * 1000, 7));
  EXPECT_FALSE(same_in_ring(4, 3, 7));
  EXPECT_FALSE(same_in_ring(3.5, 3.5, 7));
  EXPECT_FALSE(same_in_ring(NAN, 3, 7));
}

struct Case {
  GemmDataSpec spec;
  int splits = 0;
};

/// Runs the problem with `left_out` of its products missing; how many elements are wrong.
GemmData::Accuracy run_without(const Case& c, int left_out) {
  GemmData data(c.spec);
  GemmProblem problem = data.problem();
  problem.k -= left_out;
  const Result<GemmPlan> best = plan_gemm_on_loom(problem);
  EXPECT_TRUE(best);
  const Result<const GemmConfig*> splits_well = find_gemm_config("bf16-kk-64x64-one-1x1");
  EXPECT_TRUE(splits_well);
  const Result<GemmPlan> plan = c.splits == 0 ? best : plan_gemm(problem, **splits_well, c.splits);
  EXPECT_TRUE(plan) << plan.error();
  loom::Options options;
  options.ring = data.ring();
  const Result<loom::Outcome> outcome = run_on_loom(problem, *plan, options);
  EXPECT_TRUE(outcome && outcome->ok());
  const GemmData::Accuracy accuracy = data.compare();
  EXPECT_EQ(data.acceptable(accuracy), accuracy.rounding_mismatches == 0);
  return accuracy;
}

TEST(Ring, AProductLeftOutShowsInNearlyEveryElement) {
  const Case cases[] = {
      {{.m = 40, .n = 72, .k = 1000, .beta = 1.0f, .fill = Fill::ring}},
      {{.m = 40, .n = 72, .k = 1000, .bias = BiasAlong::n, .fill = Fill::ring}, 4},
      {{.m = 40, .n = 72, .k = 500, .a = DType::e4m3, .b = DType::e4m3, .fill = Fill::ring}},
      {{.m = 40, .n = 72, .k = 300, .d = DType::f32, .fill = Fill::ring}},
      {{.m = 40,
        .n = 72,
        .k = 500,
        .a = DType::e4m3,
        .b = DType::e4m3,
        .scaling = Scaling::a_rows_b_blocks,
        .fill = Fill::ring}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << "k " << c.spec.k << ", a " << name_of(c.spec.a) << ", splits " << c.splits);
    EXPECT_EQ(run_without(c, 0).rounding_mismatches, 0);
    const double elements = c.spec.m * c.spec.n;
    EXPECT_GT(static_cast<double>(run_without(c, 1).rounding_mismatches), 0.6 * elements);
  }
}

/// Shares are of K blocks of 64, of which there may be more than of 128: each adds a remainder that D must hold.
TEST(Ring, EveryShareOfASplitAddsARemainder) {
  for (const int k : {65, 128, 192, 300})
    for (const int splits : {2, 3}) {
      SCOPED_TRACE(testing::Message() << "k " << k << ", splits " << splits);
      EXPECT_EQ(run_without({{.m = 100, .n = 72, .k = k, .fill = Fill::ring}, splits}, 0).rounding_mismatches, 0);
    }
}

TEST(Ring, BlackwellBlockwise) {
  for (const int left_out : {0, 1}) {
    GemmData data({.m = 140,
                   .n = 72,
                   .k = 500,
                   .a = DType::e4m3,
                   .b = DType::e4m3,
                   .scaling = Scaling::a_rows_b_blocks,
                   .beta = 1.0f,
                   .fill = Fill::ring});
    ASSERT_GT(data.ring(), 2u);
    GemmProblem problem = data.problem();
    problem.k -= left_out;
    loom::Options options;
    options.ring = data.ring();
    const Result<GemmPlan> plan = plan_gemm_on_loom(problem, {4, Chip::sm100});
    ASSERT_TRUE(plan) << plan.error();
    const Result<loom::Outcome> outcome = run_on_loom(problem, *plan, options);
    ASSERT_TRUE(outcome && outcome->ok());
    const GemmData::Accuracy accuracy = data.compare();
    EXPECT_TRUE(accuracy.padding_untouched);
    if (left_out == 0)
      EXPECT_EQ(accuracy.rounding_mismatches, 0);
    else
      EXPECT_GT(accuracy.rounding_mismatches, 140 * 72 / 2);
  }
}

}  // namespace
}  // namespace warploom
