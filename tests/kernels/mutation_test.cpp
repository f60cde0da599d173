// The shipped kernel as its own test bed: every barrier operation altered in every way. No alteration may hang or crash
// the program, and nearly all must be reported with a cause.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "warploom/kernels/blockwise_fp8_data.hpp"

namespace warploom {
namespace {

struct Tally {
  int mutants = 0, reported = 0, wrong = 0, unseen = 0;
};

/// Two tiles per CTA and more K blocks than twice the ring, so that every barrier goes through several phases.
void alter_everything(const char* config, const std::vector<const char*>& schedules, Tally& tally) {
  const auto found = find_blockwise_fp8_config(config);
  ASSERT_TRUE(found);
  const int sms = found->cluster_m * found->cluster_n;
  BlockwiseFP8Data data(128 * found->cluster_m, 2 * 128 * found->cluster_n, (2 * found->stages + 1) * 128,
                        Fill::integer, 3);
  loom::Options options;
  options.record_sites = true;
  auto original = run_on_loom(data.problem(1.0f, 1.0f), config, {options, sms});
  ASSERT_TRUE(original && original->ok());
  ASSERT_EQ(data.compare(1.0f, 1.0f).rounding_mismatches, 0);
  options.record_sites = false;
  options.step_limit = 20 * original->steps;
  const std::vector<bf16> expected = data.d;

  for (const loom::Site& site : original->sites) {
    for (loom::Alteration alteration : loom::alterations_of(site.operation)) {
      SCOPED_TRACE(fmt::format("{} {}", to_string(alteration), site.key()));
      options.mutation = loom::Mutation{site.key(), alteration};
      ++tally.mutants;
      bool wrong = false, reported = false;
      for (const char* text : schedules) {
        options.schedule = *loom::Schedule::parse(text);
        auto outcome = run_on_loom(data.problem(1.0f, 1.0f), config, {options, sms});
        ASSERT_TRUE(outcome);
        wrong = wrong || (outcome->ok() && data.d != expected);
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

TEST(Mutation, NearlyEveryAlterationIsReportedAtOnce) {
  Tally tally;
  alter_everything("1sm-1x1", {"eager"}, tally);
  fmt::print("{} alterations: {} reported, {} wrong results only, {} not seen\n", tally.mutants, tally.reported,
             tally.wrong, tally.unseen);
  EXPECT_GE(tally.mutants, 100);
  EXPECT_GE(tally.reported * 100, tally.mutants * 80);
}

TEST(MutationFull, EveryConfigurationAndPolicy) {
  for (const BlockwiseFP8Config& config : blockwise_fp8_configs()) {
    Tally tally;
    alter_everything(config.key, {"eager", "lazy", "adversarial", "random:1"}, tally);
    fmt::print("{}: {} alterations: {} reported, {} wrong results only, {} not seen\n", config.key, tally.mutants,
               tally.reported, tally.wrong, tally.unseen);
    EXPECT_GE(tally.reported * 100, tally.mutants * 85) << config.key;
  }
}

}  // namespace
}  // namespace warploom
