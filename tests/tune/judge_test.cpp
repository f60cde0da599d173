#include "tune/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bench/cases.hpp"
#include "tune/measured.hpp"

namespace warploom::tune {
namespace {

/// What the planner ships with picks, of what was timed, what is within these limits of the fastest.
TEST(Judge, TheShippedConstantsChooseWell) {
  const Judgement found = judge(recorded().cases, GemmCosts{});
  EXPECT_LT(found.mean, 0.005);
  for (size_t i = 0; i < found.choices.size(); ++i) EXPECT_LE(found.choices[i].loss, 0.05) << recorded().cases[i].label;
  EXPECT_LT(found.error, 0.25);
}

/// The same for the layers of the suite `serving`, plans within 70 % of the fastest: 3 of 224 lose more than 5 %.
TEST(Judge, AndForLayersOfModels) {
  const Result<Sweep> serving = read_sweep(WARPLOOM_TEST_DATA "/h200_serving_plans.json");
  ASSERT_TRUE(serving) << serving.error();
  const Judgement found = judge(serving->cases, GemmCosts{});
  EXPECT_EQ(serving->cases.size(), 224u);
  EXPECT_LT(found.mean, 0.006);
  EXPECT_LT(found.worst, 0.08);
  EXPECT_LE(std::ranges::count_if(found.choices, [](const auto& one) { return one.loss > 0.05; }), 3);
  for (const MeasuredCase& one : serving->cases) EXPECT_EQ(untimed_plan(one, GemmCosts{}), "") << one.label;
}

TEST(Judge, SpoiledConstantsChooseBadly) {
  const std::pair<double GemmCosts::*, double> spoiled[] = {
      {&GemmCosts::operand_bytes, 15}, {&GemmCosts::split_cycles, 100}, {&GemmCosts::load_latency_cycles, 4000}};
  for (const auto& [member, value] : spoiled) {
    GemmCosts costs;
    costs.*member = value;
    const Judgement found = judge(recorded().cases, costs), shipped = judge(recorded().cases, GemmCosts{});
    EXPECT_GT(found.worst, 2 * shipped.worst) << value;
    EXPECT_GT(found.mean, 2 * shipped.mean) << value;
  }
}

/// A case with made-up times: every plan takes as long as predicted, save the planner's, which is slower.
MeasuredCase made_up(double slower) {
  const auto what = bench::parse_case("bf16 4096x4096x4096");
  MeasuredCase one{what->label(), bench::somewhere(what->problem), {}, {}};
  const std::vector<GemmPlan> plans = gemm_plans(one.problem, one.chip);
  for (const GemmPlan& plan : plans) one.plans.push_back({plan.config, plan.splits, plan.predicted_us});
  one.plans[0].us = slower * plans[1].predicted_us;
  one.best = 1;
  return one;
}

TEST(Judge, ALossIsTheTimeOfTheChoiceOverTheBest) {
  const std::vector<MeasuredCase> cases = {made_up(1.25), made_up(1.0)};
  const Judgement found = judge(cases, GemmCosts{});
  ASSERT_EQ(found.choices.size(), 2u);
  EXPECT_EQ(found.choices[0].plan, 0u);
  EXPECT_NEAR(found.choices[0].loss, 0.25, 1e-12);
  EXPECT_NEAR(found.choices[0].predicted_us, plan_gemm(cases[0].problem)->predicted_us, 1e-9);
  EXPECT_NEAR(found.choices[1].loss, 0, 1e-12);
  EXPECT_NEAR(found.worst, 0.25, 1e-12);
  EXPECT_NEAR(found.mean, std::sqrt(1.25) - 1, 1e-12);
}

/// Two plans that are predicted alike count half each, and one that is far behind does not count.
TEST(Judge, ABlurredChoiceIsSharedByPlansThatAreHardToTell) {
  MeasuredCase one = made_up(1.0);
  const MeasuredPlan first = one.plans.front();
  const MeasuredPlan last = one.plans.back();
  ASSERT_GT(gemm_plans(one.problem, one.chip).back().predicted_us, 2 * gemm_plans(one.problem).front().predicted_us);
  one.plans = {{first.config, first.splits, 125}, {first.config, first.splits, 100}, {last.config, last.splits, 9000}};
  one.best = 1;
  const Judgement found = judge({&one, 1}, GemmCosts{});
  EXPECT_NEAR(found.blurred_worst, 0.5 * std::log(1.25), 1e-9);
  EXPECT_NEAR(found.blurred_mean, 0.5 * std::log(1.25), 1e-9);
  EXPECT_NEAR(found.worst, 0.25, 1e-12);
}

TEST(Judge, OfNothingIsNothing) {
  const Judgement found = judge({}, GemmCosts{});
  EXPECT_TRUE(found.choices.empty());
  EXPECT_EQ(found.mean, 0);
  EXPECT_EQ(found.worst, 0);
}

TEST(Judge, SaysWhichPlanWasNotTimed) {
  MeasuredCase one = made_up(1.0);
  EXPECT_EQ(untimed_plan(one, GemmCosts{}), "");
  const std::string first = describe(one.plans.front());
  one.plans.erase(one.plans.begin());
  EXPECT_EQ(untimed_plan(one, GemmCosts{}), first);
}

}  // namespace
}  // namespace warploom::tune
