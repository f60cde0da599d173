// The shipped kernel as its own test bed: every barrier operation altered in every way. No mutation may hang or crash
// the program, and nearly all must be reported with a cause.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "warploom/kernels/gemm_data.hpp"

namespace warploom {
namespace {

struct Tally {
  int mutants = 0, reported = 0, wrong = 0, unseen = 0;
};

/// Two tiles per CTA and more K blocks than twice the ring, so that every barrier goes through several phases.
void alter_everything(const GemmConfig& config, const std::vector<const char*>& schedules, Tally& tally) {
  const GemmShape& s = config.shape;
  const int left = s.tile_left * s.cluster_left, right = 2 * s.tile_right * s.cluster_right;
  GemmData data({.m = s.swap ? right : left,
                 .n = s.swap ? left : right,
                 .k = (2 * s.stages + 1) * 128,
                 .a = config.a,
                 .b = config.b,
                 .scaling = config.scaling,
                 .bias = BiasAlong::n,  // so that every ring is used
                 .beta = 1.0f,
                 .fill = Fill::integer,
                 .seed = 3});
  const Result<GemmPlan> plan = plan_gemm(data.problem(), config, 1, {s.cluster_size(), s.chip});
  ASSERT_TRUE(plan) << plan.error();
  loom::Options options;
  options.check = true;
  options.record_sites = true;
  auto original = run_on_loom(data.problem(), *plan, options);
  ASSERT_TRUE(original && original->ok());
  ASSERT_EQ(data.compare().rounding_mismatches, 0);
  options.record_sites = false;
  options.step_limit = 20 * original->steps;
  const std::vector<std::byte> expected = data.dense_d();

  for (const loom::Site& site : original->sites) {
    for (loom::MutationKind kind : loom::mutations_of(site.operation)) {
      SCOPED_TRACE(fmt::format("{} {}", to_string(kind), site.key()));
      options.mutation = loom::Mutation{site.key(), kind};
      ++tally.mutants;
      bool wrong = false, reported = false;
      for (const char* text : schedules) {
        options.schedule = *loom::Schedule::parse(text);
        auto outcome = run_on_loom(data.problem(), *plan, options);
        ASSERT_TRUE(outcome);
        wrong = wrong || (outcome->ok() && data.dense_d() != expected);
        if (outcome->ok()) continue;
        reported = true;
        const loom::Finding& finding = outcome->report.findings.front();
        EXPECT_FALSE(finding.message.empty());
        EXPECT_EQ(outcome->report.mutation.empty(), false);
        if (finding.code == "DEADLOCK") {
          ASSERT_FALSE(outcome->report.waiting.empty());
          for (const loom::Waiter& waiter : outcome->report.waiting) {
            EXPECT_FALSE(waiter.causes.empty()) << to_text(outcome->report);
            EXPECT_NE(waiter.at.user.line, 0u) << to_text(outcome->report);
          }
        }
        break;
      }
      tally.reported += reported;
      tally.wrong += wrong && !reported;
      tally.unseen += !wrong && !reported;
    }
  }
}

TEST(Mutation, NearlyEveryMutationIsReportedAtOnce) {
  Tally tally;
  const Result<const GemmConfig*> config = find_gemm_config("e4m3-blocks-128x64-1sm-1x2");
  ASSERT_TRUE(config);
  alter_everything(**config, {"eager"}, tally);
  fmt::print("{} mutations: {} reported, {} wrong results only, {} not seen\n", tally.mutants, tally.reported,
             tally.wrong, tally.unseen);
  EXPECT_GE(tally.mutants, 100);
  EXPECT_GE(tally.reported * 100, tally.mutants * 85);
}

TEST(MutationFull, EveryConfigurationAndPolicy) {
  for (const GemmConfig& config : gemm_configs(Chip::sm100)) {
    if (config.scaling == Scaling::none || !built_for_loom(config)) continue;
    Tally tally;
    alter_everything(config, {"eager", "lazy", "adversarial", "random:1"}, tally);
    fmt::print("{}: {} mutations: {} reported, {} wrong results only, {} not seen\n", config.key, tally.mutants,
               tally.reported, tally.wrong, tally.unseen);
    EXPECT_GE(tally.reported * 100, tally.mutants * 85) << config.key;
  }
}

}  // namespace
}  // namespace warploom
