// The planner's choices are launches that make sense, and get better where they should.
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/gemm_costs.hpp"
#include "plan/gemm_problems.hpp"

namespace warploom::test {
namespace {

void expect_sane(const GemmProblem& p, const GemmPlan& plan, const ChipLimits& chip) {
  const GemmShape& s = plan.config->shape;
  const int size = s.cluster_size();
  SCOPED_TRACE(plan.why);
  EXPECT_EQ(plan.ctas % size, 0);
  EXPECT_LE(plan.at_once * size, chip.sms);
  EXPECT_TRUE(s.launch_control || plan.ctas <= chip.sms);
  EXPECT_GE(plan.splits, 1);
  EXPECT_LE(plan.splits, 16);
  const int64_t items = gemm_tiles(p, s).clusters * plan.splits * p.batch;
  EXPECT_LE(plan.ctas / size, items);
  EXPECT_TRUE(!s.launch_control || plan.ctas / size == items);
  EXPECT_EQ(plan.ctas == 0, items == 0);
  EXPECT_EQ(plan.workspace_bytes == 0, plan.splits == 1);
  if (plan.splits > 1) {
    EXPECT_EQ(plan.workspace_bytes, gemm_workspace_bytes(p, s, plan.splits));
    EXPECT_LE(plan.splits, (p.k + s.tile_k - 1) / s.tile_k);
  }
  EXPECT_TRUE(plan.why.starts_with(plan.config->key));
  EXPECT_GE(plan.raster.group, 0);
}

TEST(GemmPlan, EveryPlanIsALaunch) {
  for (const GemmConfig& config : configs_of_both_chips())
    for (int m : {0, 1, 16, 100, 1000, 8192})
      for (int n : {8, 512, 24576})
        for (int k : {0, 32, 4096})
          for (int sms : {2, 16, 132}) {
            const GemmProblem p = dense_problem(m, n, k, 1, types_of(config));
            const ChipLimits chip{sms, config.shape.chip};
            const std::vector<GemmPlan> plans = gemm_plans(p, chip);
            ASSERT_FALSE(plans.empty());
            for (const GemmPlan& plan : plans) expect_sane(p, plan, chip);
            EXPECT_TRUE(std::is_sorted(plans.begin(), plans.end(), [](const GemmPlan& x, const GemmPlan& y) {
              return x.predicted_us < y.predicted_us;
            }));
            const Result<GemmPlan> best = plan_gemm(p, chip);
            ASSERT_TRUE(best);
            EXPECT_EQ(best->config, plans.front().config);
            EXPECT_EQ(best->why.find("cost model unmeasured on sm_100") != std::string::npos,
                      chip.chip == Chip::sm100 && m > 0);
          }
}

TEST(GemmPlan, LargeProblemsGetLargeTilesAndNoSplits) {
  const Result<GemmPlan> plan = plan_gemm(dense_problem(8192, 8192, 8192));
  ASSERT_TRUE(plan);
  const GemmShape& s = plan->config->shape;
  EXPECT_GE(s.tile_left * s.tile_right, 128 * 128) << plan->why;
  EXPECT_EQ(plan->splits, 1);
  EXPECT_GT(plan->raster.group, 0);
  // 989 TFLOP/s is the chip's limit, and half of it would be a bad plan.
  const double tflops = 2.0 * 8192 * 8192 * 8192 / plan->predicted_us * 1e-6;
  EXPECT_GT(tflops, 500);
  EXPECT_LT(tflops, 1000);
}

TEST(GemmPlan, BlackwellsLargeProblemsGetPairsAndItsSmallOnesSwap) {
  const ChipLimits chip = ChipLimits::of(Chip::sm100);
  const Result<GemmPlan> large = plan_gemm(dense_problem(8192, 8192, 8192), chip);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->config->shape.cta_group, 2) << large->why;
  EXPECT_EQ(large->weight_blocks, 0);
  const Result<GemmPlan> small = plan_gemm(dense_problem(8, 4096, 4096), chip);
  ASSERT_TRUE(small);
  EXPECT_TRUE(small->config->shape.swap) << small->why;
  EXPECT_GT(small->weight_blocks, 0);
}

TEST(GemmPlan, BlackwellsScaledProblemsAreTreatedAlike) {
  const ChipLimits chip = ChipLimits::of(Chip::sm100);
  for (Scaling scaling : {Scaling::a_rows_b_blocks, Scaling::a_rows_b_rows}) {
    const auto plan_for = [&](int m, int n, int k) {
      GemmProblem p = dense_problem(m, n, k, 1, {.a = DType::e4m3, .b = DType::e4m3});
      p.scaling = scaling;
      return plan_gemm(p, chip);
    };
    const Result<GemmPlan> large = plan_for(8192, 8192, 8192);
    ASSERT_TRUE(large) << large.error();
    EXPECT_EQ(large->config->scaling, scaling);
    EXPECT_EQ(large->config->shape.cta_group, 2) << large->why;
    const Result<GemmPlan> small = plan_for(8, 4096, 4096);
    ASSERT_TRUE(small) << small.error();
    EXPECT_TRUE(small->config->shape.swap) << small->why;
    const Result<GemmPlan> dense =
        plan_gemm(dense_problem(8192, 8192, 8192, 1, {.a = DType::e4m3, .b = DType::e4m3}), chip);
    EXPECT_GT(large->predicted_us, dense->predicted_us) << "adding up K blocks costs something";
  }
}

TEST(GemmPlan, FewTilesOfALongProductAreSplit) {
  const Result<GemmPlan> plan = plan_gemm(dense_problem(64, 512, 16384));
  ASSERT_TRUE(plan);
  EXPECT_GT(plan->splits, 1) << plan->why;
  EXPECT_GT(plan->workspace_bytes, 0u);
  EXPECT_NE(plan->why.find("splits"), std::string::npos) << plan->why;
}

TEST(GemmPlan, AFewRowsAreBoundByMemory) {
  const Result<GemmPlan> plan = plan_gemm(dense_problem(1, 8192, 8192));
  ASSERT_TRUE(plan);
  EXPECT_LE(std::min(plan->config->shape.tile_left, plan->config->shape.tile_right), 64) << plan->why;
  EXPECT_LT(plan->predicted_us, 60) << plan->why;
}

TEST(GemmPlan, MoreWorkNeverCostsLess) {
  for (const GemmConfig& config : gemm_configs()) {
    double before = 0;
    for (int k : {128, 256, 1024, 4096, 16384}) {
      const GemmProblem p = dense_problem(2048, 2048, k, 1, types_of(config));
      const double us = predict_gemm(p, config.shape, 1, 132).us;
      EXPECT_GE(us, before) << config.key << " k " << k;
      before = us;
    }
  }
}

TEST(GemmPlan, RefusalsAreSentences) {
  const GemmProblem p = dense_problem(100, 200, 304);
  const Result<GemmPlan> none = plan_gemm(p, ChipLimits{0});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().find("a chip of 0 SMs"), std::string::npos) << none.error();
  for (const GemmConfig& config : gemm_configs()) {
    if (!why_not(p, config).empty()) continue;
    const Result<GemmPlan> split = plan_gemm(p, config, 17);
    ASSERT_FALSE(split);
    EXPECT_NE(split.error().find("1 to 16"), std::string::npos) << split.error();
    if (config.shape.cluster_size() > 1) {
      const Result<GemmPlan> small = plan_gemm(p, config, 1, ChipLimits{1});
      ASSERT_FALSE(small);
      EXPECT_NE(small.error().find("cannot hold a cluster"), std::string::npos) << small.error();
    }
  }
  const Result<const GemmConfig*> unknown = find_gemm_config("nonsense");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().find(gemm_configs()[0].key), std::string::npos);
}

}  // namespace
}  // namespace warploom::test
