// A run of a kernel is a function of problem, configuration and schedule, whatever the number of workers; and so is the
// report of one that is broken.
#include "kernels/gemm_cases.hpp"

namespace warploom::test {
namespace {

/// Pairs, with scales and a residual, several clusters at a time.
class Pairs {
 public:
  Pairs(int m, int n, int k, int sms)
      : data_({.m = m,
               .n = n,
               .k = k,
               .a = DType::e4m3,
               .b = DType::e4m3,
               .scaling = Scaling::a_rows_b_blocks,
               .beta = 1.0f,
               .seed = 5}) {
    const Result<const GemmConfig*> config = find_gemm_config("e4m3-blocks-128x128-2sm-2x1");
    EXPECT_TRUE(config) << config.error();
    const Result<GemmPlan> plan = plan_gemm(data_.problem(), **config, 1, {sms, Chip::sm100});
    EXPECT_TRUE(plan) << plan.error();
    plan_ = *plan;
  }
  Result<loom::Outcome> run(const loom::Options& options) { return run_on_loom(data_.problem(), plan_, options); }
  std::vector<std::byte> result() const { return data_.dense_d(); }

 private:
  GemmData data_;
  GemmPlan plan_;
};

TEST(BlackwellDeterminism, WorkersChangeNothing) {
  Pairs pairs(700, 304, 400, 4);
  std::vector<std::byte> expected;
  uint64_t steps = 0;
  for (unsigned workers : {1u, 2u, 3u, 1u}) {
    loom::Options options;
    options.workers = workers;
    options.schedule = *loom::Schedule::parse("random:42");
    const Result<loom::Outcome> outcome = pairs.run(options);
    ASSERT_TRUE(outcome && outcome->ok());
    if (expected.empty()) {
      expected = pairs.result();
      steps = outcome->steps;
    }
    EXPECT_TRUE(pairs.result() == expected);
    EXPECT_EQ(outcome->steps, steps);
  }
}

/// Drops the operation at every `step`-th site. Most of them leave something to report.
void expect_same_reports(size_t step) {
  Pairs pairs(1024, 304, 900, 6);
  loom::Options options;
  options.record_sites = true;
  const Result<loom::Outcome> original = pairs.run(options);
  ASSERT_TRUE(original && original->ok());
  options.record_sites = false;
  size_t runs = 0, failures = 0;
  for (size_t i = 0; i < original->sites.size(); i += step) {
    const loom::Site& site = original->sites[i];
    options.mutation = loom::Mutation{site.key(), loom::MutationKind::drop};
    std::string expected;
    for (unsigned workers : {1u, 2u, 2u, 1u}) {
      options.workers = workers;
      const Result<loom::Outcome> outcome = pairs.run(options);
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

TEST(BlackwellDeterminism, ReportsAreTheSameOnAnyNumberOfWorkersAndOnReRun) { expect_same_reports(4); }
TEST(BlackwellDeterminismFull, ReportsAreTheSameOnAnyNumberOfWorkersAndOnReRun) { expect_same_reports(1); }

}  // namespace
}  // namespace warploom::test
