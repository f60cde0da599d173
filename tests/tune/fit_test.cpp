#include "tune/fit.hpp"

#include <gtest/gtest.h>

#include "tune/constants.hpp"
#include "tune/measured.hpp"

namespace warploom::tune {
namespace {

TEST(Fit, FindsItsWayBackFromSpoiledConstants) {
  GemmCosts spoiled;
  spoiled.operand_bytes = 15;
  spoiled.split_cycles = 100;
  const Fit found = fit(recorded().cases, {.start = spoiled, .tries = 6000, .seed = 1});
  EXPECT_GT(found.before.worst, 0.15);
  EXPECT_LT(found.after.worst, 0.5 * found.before.worst);
  EXPECT_LT(found.after.mean, 0.5 * found.before.mean);
  EXPECT_LT(found.after.error, found.before.error);
  // What is printed is what was judged.
  const Judgement again = judge(recorded().cases, found.costs);
  EXPECT_EQ(again.mean, found.after.mean);
  EXPECT_EQ(again.worst, found.after.worst);
  for (const Constant& one : constants()) {
    EXPECT_GE(found.costs.*one.member, 0.99 * one.low) << one.name;
    EXPECT_LE(found.costs.*one.member, 1.01 * one.high) << one.name;
  }
}

TEST(Fit, AConstantThatTheSweepSaysNothingAboutKeepsItsValue) {
  std::vector<MeasuredCase> plain;
  for (const MeasuredCase& one : recorded().cases)
    if (one.label.find('+') == std::string::npos && one.label.starts_with("bf16") && plain.size() < 16)
      plain.push_back(one);
  const Fit found = fit(plain, {.start = {}, .tries = 2000});
  const GemmCosts shipped;
  EXPECT_EQ(found.costs.activations_per_cycle, shipped.activations_per_cycle);
  EXPECT_EQ(found.costs.residual_cycles, shipped.residual_cycles);
  EXPECT_EQ(found.costs.straddling, shipped.straddling);
  EXPECT_EQ(found.costs.flops_8_bit, shipped.flops_8_bit);
}

TEST(Fit, IsNeverWorseThanItsStart) {
  const GemmCosts start;
  for (const double seconds : {0.0, 0.05}) {
    const Fit found = fit(recorded().cases, {.start = start, .seconds = seconds});
    EXPECT_LE(objective(found.after, found.costs, start), objective(found.before, start, start));
  }
}

}  // namespace
}  // namespace warploom::tune
