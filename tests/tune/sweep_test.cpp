#include "tune/sweep.hpp"

#include <gtest/gtest.h>

#include "tune/measured.hpp"

namespace warploom::tune {
namespace {

TEST(Sweep, ReadsTheRecordedOne) {
  const Sweep& sweep = recorded();
  ASSERT_EQ(sweep.cases.size(), 16u + 16 + 60 + 8);
  EXPECT_EQ(sweep.cases.front().label, "bf16 4096x2112x7168");
  EXPECT_EQ(sweep.cases.back().label, "bf16 8192x8192x8192 +C +bias silu");
  EXPECT_EQ(sweep.cases.back().problem.activation, Activation::silu);
  for (const MeasuredCase& one : sweep.cases) {
    ASSERT_GT(one.plans.size(), 1u) << one.label;
    EXPECT_EQ(one.chip.sms, 132);
    for (const MeasuredPlan& plan : one.plans) EXPECT_GE(plan.us, one.plans[one.best].us);
  }
  EXPECT_TRUE(sweep.notes.empty());
}

TEST(Sweep, PlansThatAreNotLegalAreLeftOutWithANote) {
  const File file(R"({"sms": 66, "rows": [{"case": "bf16 64x512x4096", "plans": [
      {"key": "bf16-kk-64x64-one-1x1", "splits": 4, "us": 9.5},
      {"key": "bf16-kk-64x64-one-1x1", "splits": 2, "us": 11},
      {"key": "bf16-kk-64x64-one-1x1", "splits": 40, "us": 3},
      {"key": "bf16-kk-9x9-one-1x1", "splits": 1, "us": 1},
      {"key": "f16-kk-128x128-pp-1x2", "splits": 1, "us": 2}]}]})");
  const auto sweep = read_sweep(file.path);
  ASSERT_TRUE(sweep) << sweep.error();
  ASSERT_EQ(sweep->cases.size(), 1u);
  const MeasuredCase& one = sweep->cases[0];
  EXPECT_EQ(one.chip.sms, 66);
  ASSERT_EQ(one.plans.size(), 2u);
  EXPECT_EQ(one.plans[0].splits, 2);  // fewer splits first, as the planner tries them
  EXPECT_EQ(one.best, 1u);
  EXPECT_EQ(describe(one.plans[1]), "bf16-kk-64x64-one-1x1 /4");
  ASSERT_EQ(sweep->notes.size(), 3u);
  EXPECT_NE(sweep->notes[0].find("40 splits are not possible"), std::string::npos) << sweep->notes[0];
  EXPECT_NE(sweep->notes[1].find("1 plan is left out: f16-kk-128x128-pp-1x2: "), std::string::npos) << sweep->notes[1];
  EXPECT_NE(sweep->notes[2].find("there is no kernel bf16-kk-9x9-one-1x1 now"), std::string::npos) << sweep->notes[2];
}

TEST(Sweep, ABadFileIsAnsweredWithASentence) {
  EXPECT_EQ(read_sweep("/nowhere/sweep.json").error(), "cannot read /nowhere/sweep.json");
  const std::pair<const char*, const char*> files[] = {
      {"", "is no JSON of warploom bench"},
      {"{", "is no JSON of warploom bench"},
      {"[1, 2]", "is no JSON of warploom bench"},
      {R"({"rows": 7})", "is no JSON of warploom bench"},
      {R"({"rows": []})", "has no timed plans"},
      {R"({"rows": [7, {"case": "bf16 8x8x8", "entries": []}]})", "has no timed plans"},
      {R"({"rows": [{"plans": []}]})", "a row has no case"},
      {R"({"rows": [{"case": 7, "plans": []}]})", "a row has no case"},
      {R"({"rows": [{"case": "bf16 8x8", "plans": []}]})", "'8x8' is not a shape"},
      {R"({"rows": [{"case": "bf16 8x8x8", "plans": []}]})", "has no timed plans"},
      {R"({"rows": [{"case": "bf16 8x8x8", "plans": [7]}]})", "lacks its key, splits or us"},
      {R"({"rows": [{"case": "bf16 8x8x8", "plans": [{"key": "x", "splits": 0, "us": 1}]}]})",
       "lacks its key, splits or us"},
      {R"({"rows": [{"case": "bf16 8x8x8", "plans": [{"key": "x", "splits": 99999999999, "us": 1}]}]})",
       "lacks its key, splits or us"},
      {R"({"rows": [{"case": "bf16 8x8x8", "plans": [{"key": "a", "splits": 1}]}]})", "lacks its key, splits or us"},
      {R"({"rows": [{"case": "bf16 8x8x8", "plans": [{"key": "a", "splits": 1, "us": "3"}]}]})", "lacks its key"},
      {R"({"rows": [{"case": "bf16 8x8x8", "plans": [{"key": "a", "splits": 1, "us": 0}]}]})", "lacks its key"},
      {R"({"rows": [{"case": "bf16 8x8x8", "plans": [{"key": "a", "splits": 1, "us": 3}]}]})", "has no timed plans"},
  };
  for (const auto& [text, sentence] : files) {
    const File file(text);
    const auto sweep = read_sweep(file.path);
    ASSERT_FALSE(sweep) << text;
    EXPECT_NE(sweep.error().find(sentence), std::string::npos) << text << "\n" << sweep.error();
    EXPECT_NE(sweep.error().find(file.path), std::string::npos) << sweep.error();
  }
}

}  // namespace
}  // namespace warploom::tune
