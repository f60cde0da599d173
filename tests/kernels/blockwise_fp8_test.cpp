// The shipped kernel on the loom: right for every shape, configuration and schedule.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "warploom/kernels/blockwise_fp8_data.hpp"

namespace warploom {
namespace {

struct Shape {
  int m, n, k;
  int sms = 148;
};

/// Tails in each dimension and all of them, single rows and columns, K below one block and just around one, several
/// tiles per CTA with more K blocks than twice the ring.
std::vector<Shape> shapes() {
  std::vector<Shape> list;
  for (int m : {1, 31, 127, 128, 129, 257})
    for (int n : {8, 100, 128, 200})
      for (int k : {16, 100}) list.push_back({m, n, k});
  for (int k : {1, 33, 127, 128, 129, 255, 257, 640, 1300}) list.push_back({130, 72, k});
  list.insert(list.end(), {{1, 1, 1},
                           {3, 5, 7},
                           {128, 1, 128},
                           {1, 264, 512},
                           {256, 256, 256},
                           {384, 136, 384},
                           {500, 130, 260},
                           {640, 256, 130},
                           {128, 520, 384},
                           // three and more tiles per CTA, 13 to 17 K blocks, rings of 4 and 6 slots
                           {256, 384, 1664, 2},
                           {768, 128, 1664, 2},
                           {300, 333, 1700, 2},
                           {900, 100, 2050, 2}});
  return list;
}

/// What a run must be: clean, nothing beyond the last column, exact on integers, within rounding otherwise.
void expect_right(const Shape& shape, const char* config, float beta, Fill fill) {
  SCOPED_TRACE(fmt::format("{}x{}x{} {} beta {} {}", shape.m, shape.n, shape.k, config, beta,
                           fill == Fill::integer ? "integer" : "normal"));
  BlockwiseFP8Data data(shape.m, shape.n, shape.k, fill, 7);
  const float alpha = fill == Fill::integer ? 2.0f : 0.75f;
  auto outcome = run_on_loom(data.problem(alpha, beta), config, {{}, shape.sms});
  ASSERT_TRUE(outcome) << outcome.error();
  ASSERT_TRUE(outcome->ok()) << to_text(outcome->report);
  const auto accuracy = data.compare(alpha, beta);
  EXPECT_TRUE(accuracy.padding_untouched);
  if (fill == Fill::integer) {
    EXPECT_EQ(accuracy.rounding_mismatches, 0);
  } else {
    EXPECT_LT(accuracy.diff, 3e-6);
    EXPECT_TRUE(accuracy.within_rounding);
    if (shape.m * shape.n >= 512) {
      EXPECT_LT(accuracy.diff_unquantised, 1e-3);
    }
  }
}

TEST(BlockwiseFP8, ThereAreEnoughShapes) { EXPECT_GE(shapes().size(), 60u); }

class BlockwiseFP8Shapes : public testing::TestWithParam<int> {};

// Each shape, 1-SM and 2-SM, with and without residual, on integers and on normal numbers; the two halves of the
// product residual x fill alternate.
TEST_P(BlockwiseFP8Shapes, Right) {
  const auto list = shapes();
  for (size_t i = static_cast<size_t>(GetParam()); i < list.size(); i += 8) {
    for (const char* config : {"1sm-1x1", "2sm-2x1"}) {
      const bool flip = (i / 8 + (config[0] == '2')) % 2 == 0;
      expect_right(list[i], config, flip ? 0.0f : 1.0f, Fill::integer);
      expect_right(list[i], config, flip ? -0.5f : 0.0f, Fill::normal);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Part, BlockwiseFP8Shapes, testing::Range(0, 8));

TEST(BlockwiseFP8, EveryConfiguration) {
  for (const BlockwiseFP8Config& config : blockwise_fp8_configs()) {
    const int size = config.cluster_m * config.cluster_n;
    expect_right({300, 300, 700, size}, config.key, 1.0f, Fill::integer);
    expect_right({1100, 300, 300, 2 * size}, config.key, 0.0f, Fill::integer);
  }
}

class BlockwiseFP8ShapesFull : public testing::TestWithParam<int> {};

TEST_P(BlockwiseFP8ShapesFull, EveryConfigurationResidualAndFill) {
  const auto list = shapes();
  for (size_t i = static_cast<size_t>(GetParam()); i < list.size(); i += 8)
    for (const BlockwiseFP8Config& config : blockwise_fp8_configs())
      for (Fill fill : {Fill::integer, Fill::normal})
        for (float beta : {0.0f, 1.0f}) {
          Shape shape = list[i];
          shape.sms = std::max(shape.sms, config.cluster_m * config.cluster_n);
          expect_right(shape, config.key, beta, fill);
        }
}
INSTANTIATE_TEST_SUITE_P(Part, BlockwiseFP8ShapesFull, testing::Range(0, 8));

/// Three tiles per CTA and 13 K blocks; the same bits under any schedule.
void expect_schedules(const char* config, const std::vector<std::string>& schedules) {
  const auto found = find_blockwise_fp8_config(config);
  ASSERT_TRUE(found);
  const int sms = found->cluster_m * found->cluster_n;
  ASSERT_GE(13, 2 * found->stages + 1);
  BlockwiseFP8Data data(128 * found->cluster_m, 3 * 128 * found->cluster_n, 13 * 128, Fill::normal, 3);
  std::vector<bf16> expected;
  for (const std::string& text : schedules) {
    SCOPED_TRACE(text);
    auto schedule = loom::Schedule::parse(text);
    ASSERT_TRUE(schedule) << schedule.error();
    loom::Options options;
    options.schedule = *schedule;
    auto outcome = run_on_loom(data.problem(1.0f, 1.0f), config, {options, sms});
    ASSERT_TRUE(outcome) << outcome.error();
    ASSERT_TRUE(outcome->ok()) << to_text(outcome->report);
    if (expected.empty()) {
      expected = data.d;
      EXPECT_LT(data.compare(1.0f, 1.0f).diff, 3e-6);
    }
    ASSERT_EQ(data.d, expected);
  }
}

std::vector<std::string> policies_and(int random, int pair) {
  std::vector<std::string> list{"eager", "lazy", "adversarial", "lazy:5", "adversarial:9", "eager:3"};
  for (int cta = 0; cta < pair; ++cta)
    for (const char* policy : {"eager", "lazy", "random:11", "random:12", "adversarial"})
      list.push_back(fmt::format("{}{}:skew={}", policy,
                                 std::string_view(policy).find(':') == std::string_view::npos ? ":0" : "", cta));
  for (int i = 0; i < random; ++i)
    list.push_back(
        fmt::format("random:{:x}{}", i + 1, pair == 2 && i % 4 == 3 ? fmt::format(":skew={}", i / 4 % 2) : ""));
  return list;
}

TEST(BlockwiseFP8, SchedulesGiveTheSameBits1Sm) { expect_schedules("1sm-1x1", policies_and(20, 0)); }
TEST(BlockwiseFP8, SchedulesGiveTheSameBits2Sm) { expect_schedules("2sm-2x1", policies_and(16, 2)); }
TEST(BlockwiseFP8, SchedulesGiveTheSameBitsMulticast) { expect_schedules("1sm-2x1", policies_and(8, 2)); }
TEST(BlockwiseFP8SchedulesFull, Thousand1Sm) { expect_schedules("1sm-1x1", policies_and(1000, 0)); }
TEST(BlockwiseFP8SchedulesFull, Thousand2Sm) { expect_schedules("2sm-2x1", policies_and(1000, 2)); }
TEST(BlockwiseFP8SchedulesFull, ThousandMulticast) { expect_schedules("1sm-2x1", policies_and(1000, 2)); }

TEST(BlockwiseFP8, WorkersChangeNothing) {
  BlockwiseFP8Data data(700, 300, 400, Fill::normal, 5);
  std::vector<bf16> expected;
  uint64_t steps = 0;
  for (unsigned workers : {1u, 2u, 3u, 1u}) {
    loom::Options options;
    options.workers = workers;
    options.schedule = *loom::Schedule::parse("random:42");
    auto outcome = run_on_loom(data.problem(1.0f, 0.5f), "2sm-2x1", {options, 4});
    ASSERT_TRUE(outcome && outcome->ok());
    if (expected.empty()) {
      expected = data.d;
      steps = outcome->steps;
    }
    EXPECT_EQ(data.d, expected);
    EXPECT_EQ(outcome->steps, steps);
  }
}

/// Drops the operation at every `step`-th site. Most of them leave something to report.
void expect_same_reports(size_t step) {
  BlockwiseFP8Data data(1024, 300, 900, Fill::normal, 5);
  loom::Options options;
  options.record_sites = true;
  auto original = run_on_loom(data.problem(1.0f, 1.0f), "2sm-2x1", {options, 6});
  ASSERT_TRUE(original && original->ok());
  options.record_sites = false;
  size_t runs = 0, failures = 0;
  for (size_t i = 0; i < original->sites.size(); i += step) {
    const loom::Site& site = original->sites[i];
    options.mutation = loom::Mutation{site.key(), loom::Alteration::drop};
    std::string expected;
    for (unsigned workers : {1u, 2u, 2u, 1u}) {
      options.workers = workers;
      auto outcome = run_on_loom(data.problem(1.0f, 1.0f), "2sm-2x1", {options, 6});
      ASSERT_TRUE(outcome);
      const std::string text = to_text(outcome->report) + to_json(outcome->report);
      ++runs;
      failures += !outcome->ok();
      if (workers == 1 && expected.empty()) expected = text;
      EXPECT_EQ(text, expected) << site.key();
    }
  }
  EXPECT_GT(runs, 160 / step);
  EXPECT_GT(4 * failures, runs);
}

TEST(BlockwiseFP8, ReportsAreTheSameOnAnyNumberOfWorkersAndOnReRun) { expect_same_reports(4); }
TEST(BlockwiseFP8Full, ReportsAreTheSameOnAnyNumberOfWorkersAndOnReRun) { expect_same_reports(1); }

// One output is one rounding, which may be far from the average: judged by its own bound, it is right for any data.
TEST(BlockwiseFP8, SingleOutputsAreWithinOneRounding) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    BlockwiseFP8Data data(1, 1, 300, Fill::normal, seed);
    auto outcome = run_on_loom(data.problem(1.0f, 1.0f), "1sm-1x1");
    ASSERT_TRUE(outcome && outcome->ok());
    EXPECT_TRUE(data.compare(1.0f, 1.0f).within_rounding) << seed;
  }
  BlockwiseFP8Data data(1, 1, 300, Fill::normal, 1);
  ASSERT_TRUE(run_on_loom(data.problem(1.0f, 0.0f), "1sm-1x1"));
  data.d[0].bits ^= 2;  // two units off
  EXPECT_FALSE(data.compare(1.0f, 0.0f).within_rounding);
}

// ---- bad input: one sentence, nothing written

std::string refusal(const BlockwiseFP8Problem& problem, const char* config = "1sm-1x1") {
  auto outcome = run_on_loom(problem, config);
  return outcome ? "" : outcome.error();
}

TEST(BlockwiseFP8, SaysWhyNot) {
  BlockwiseFP8Data data(64, 64, 64, Fill::integer, 1);
  const BlockwiseFP8Problem good = data.problem(1.0f, 1.0f);
  EXPECT_EQ(why_not(good), "");
  auto with = [&](auto change) {
    BlockwiseFP8Problem problem = good;
    change(problem);
    return refusal(problem);
  };
  EXPECT_EQ(with([](auto& p) { p.m = 0; }), "m, n and k must be at least 1, not 0 x 64 x 64");
  EXPECT_EQ(with([](auto& p) { p.a.data = nullptr; }), "A is missing");
  EXPECT_EQ(with([](auto& p) { p.b.data += 8; }), "B must start at a multiple of 16 bytes");
  EXPECT_EQ(with([](auto& p) { p.a.stride = 60; }), "rows of A are 60 elements apart but 64 long");
  EXPECT_EQ(with([](auto& p) { p.a.stride = 72; }),
            "rows of A are 72 elements apart; a multiple of 16 (16 bytes) is needed, so pad them");
  EXPECT_EQ(with([](auto& p) { p.a_scales.stride = 66; }),
            "rows of a_scales are 66 elements apart; a multiple of 4 (16 bytes) is needed, so pad them");
  EXPECT_EQ(with([](auto& p) { p.b_scales = nullptr; }), "b_scales is missing");
  EXPECT_EQ(with([](auto& p) { p.c.data = nullptr; }), "C is missing");
  EXPECT_EQ(with([](auto& p) { p.c = {p.d.data, p.d.stride + 8}; }), "C may be D only with the same row stride");
  EXPECT_EQ(refusal(good, "3sm"),
            "there is no configuration '3sm'; blockwise-fp8 has 1sm-1x1, 1sm-2x1, 1sm-2x2, "
            "2sm-2x1, 2sm-2x2, 2sm-4x1, 1sm-1x1-clc, 2sm-2x1-clc, 2sm-2x2-clc");
  EXPECT_TRUE(std::all_of(data.d.begin(), data.d.end(), [](bf16 value) { return value.bits == 0x7fff; }));
}

TEST(BlockwiseFP8, CMayBeD) {
  BlockwiseFP8Data data(200, 136, 300, Fill::integer, 2);
  BlockwiseFP8Problem problem = data.problem(1.0f, 1.0f);
  std::copy_n(problem.c.data, data.d.size(), data.d.data());
  problem.c = {problem.d.data, problem.d.stride};
  auto outcome = run_on_loom(problem, "1sm-1x1");
  ASSERT_TRUE(outcome && outcome->ok()) << (outcome ? to_text(outcome->report) : outcome.error());
  EXPECT_EQ(data.compare(1.0f, 1.0f).rounding_mismatches, 0);
}

}  // namespace
}  // namespace warploom
