// The Blackwell GEMMs under many schedules, with at least three tiles for every CTA: the result is the same under all
// of them, and the checker's verdict speaks for those that were not tried.
#include "kernels/gemm_cases.hpp"
#include "warploom/loom/verdict.hpp"

namespace warploom::test {
namespace {

/// Three tiles for each of one cluster, or with launch control of two, with a tail in every direction.
GemmDataSpec three_tiles(const GemmConfig& config, bool residual) {
  const GemmShape& s = config.shape;
  const int left = s.tile_left * s.cluster_left, right = s.tile_right * s.cluster_right;
  // With scales n is a multiple of 8.
  const int lefts = (s.launch_control ? 6 : 3) * left - (config.scaling == Scaling::none || !s.swap ? 9 : 8);
  const int rights = right - (config.scaling == Scaling::none || s.swap ? 5 : 8);
  GemmDataSpec spec{.m = s.swap ? rights : lefts, .n = s.swap ? lefts : rights, .k = 2 * s.tile_k + 8};
  spec.a = config.a, spec.b = config.b, spec.a_major = config.a_major, spec.b_major = config.b_major;
  spec.scaling = config.scaling;
  spec.fill = Fill::integer;
  spec.bias = BiasAlong::n;
  spec.beta = residual ? 1.0f : 0.0f;
  return spec;
}
int sms_for(const GemmShape& s) { return (s.launch_control ? 2 : 1) * s.cluster_size(); }

class Subject {
 public:
  Subject(const GemmConfig& config, bool residual) : data_(three_tiles(config, residual)) {
    problem_ = data_.problem();
    Result<GemmPlan> plan = plan_gemm(problem_, config, 1, {sms_for(config.shape), Chip::sm100});
    EXPECT_TRUE(plan) << plan.error();
    plan_ = *plan;
  }
  loom::Outcome launch(const loom::Options& options) {
    problem_ = data_.problem();  // D is NaN again
    Result<loom::Outcome> outcome = run_on_loom(problem_, plan_, options);
    EXPECT_TRUE(outcome) << outcome.error();
    return outcome ? std::move(*outcome) : loom::Outcome{};
  }
  bool right() const { return data_.acceptable(data_.compare()); }
  std::vector<std::byte> result() const { return data_.dense_d(); }

 private:
  GemmData data_;
  GemmProblem problem_;
  GemmPlan plan_;
};

/// Random schedules [begin, end), and with the first of them every policy.
void run_schedules(const GemmConfig& config, uint64_t begin, uint64_t end) {
  for (bool residual : {false, true}) {
    Subject subject(config, residual);
    std::vector<std::byte> expected;
    const auto run = [&](const loom::Schedule& schedule, bool check) {
      SCOPED_TRACE(fmt::format("{}{} under {}", config.key, residual ? " with residual" : "", schedule.text()));
      loom::Options options;
      options.schedule = schedule;
      options.check = check;
      const loom::Outcome outcome = subject.launch(options);
      ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
      if (expected.empty()) {
        ASSERT_TRUE(subject.right());
        expected = subject.result();
      }
      ASSERT_TRUE(subject.result() == expected) << "the result depends on the schedule";
    };
    for (const char* text : {"eager", "lazy", "adversarial", "random:1", "lazy:0:skew=0", "eager:0:skew=1"}) {
      const loom::Schedule schedule = *loom::Schedule::parse(text);
      // Of large clusters the checker follows one run; the verdict speaks for the rest.
      const bool check = config.shape.cluster_size() <= 4 || schedule == loom::Schedule{};
      if (schedule.skew < config.shape.cluster_size()) run(schedule, check);
      if (testing::Test::HasFailure()) return;
      if (begin != 0) break;
    }
    for (uint64_t seed = begin; seed < end; ++seed) {
      run({loom::Policy::random, seed + 2}, false);
      if (testing::Test::HasFailure()) return;
    }
  }
}

void expect_verdict(const GemmConfig& config, uint64_t schedules) {
  for (bool residual : {false, true}) {
    Subject subject(config, residual);
    const loom::Verdict verdict =
        loom::check({.what = config.key,
                     .launch = [&](const loom::Options& options) { return subject.launch(options); },
                     .wrong = [&] { return subject.right() ? std::string() : std::string("wrong"); }},
                    {.schedules = schedules});
    EXPECT_TRUE(verdict.good()) << verdict.sentence() << '\n' << to_text(verdict.report);
    if (!config.shape.launch_control) {
      EXPECT_EQ(verdict.kind, loom::Verdict::Kind::holds) << verdict.sentence();
    } else {
      EXPECT_EQ(verdict.kind, loom::Verdict::Kind::none_found) << verdict.sentence();
      EXPECT_GE(verdict.exploration.done, schedules);
    }
  }
}

class BlackwellSchedules : public testing::TestWithParam<const GemmConfig*> {};
class BlackwellSchedulesFull : public testing::TestWithParam<const GemmConfig*> {};

TEST_P(BlackwellSchedules, SameResult) { run_schedules(*GetParam(), 0, 2); }
TEST_P(BlackwellSchedules, Verdict) { expect_verdict(*GetParam(), 4); }
TEST_P(BlackwellSchedulesFull, Verdict) { expect_verdict(*GetParam(), 256); }

/// Five hundred schedules in parts, for several cores.
struct Part {
  const GemmConfig* config;
  uint64_t begin, end;
};
std::vector<Part> parts_of_all() {
  std::vector<Part> parts;
  for (const GemmConfig* config : built_configs(Chip::sm100)) {
    const uint64_t step = config->shape.cluster_size() <= 4 ? 100 : 25;
    for (uint64_t begin = 0; begin < 500; begin += step) parts.push_back({config, begin, begin + step});
  }
  return parts;
}
std::string name_of_part(const testing::TestParamInfo<Part>& part) {
  return fmt::format("{}_{}", identifier(part.param.config->key), part.param.begin);
}
class BlackwellFiveHundredFull : public testing::TestWithParam<Part> {};

TEST_P(BlackwellFiveHundredFull, SameResult) {
  const auto& [config, begin, end] = GetParam();
  run_schedules(*config, begin, end);
}

INSTANTIATE_TEST_SUITE_P(Every, BlackwellFiveHundredFull, testing::ValuesIn(parts_of_all()), name_of_part);
INSTANTIATE_TEST_SUITE_P(Every, BlackwellSchedules, testing::ValuesIn(built_configs(Chip::sm100)), name_of_config);
INSTANTIATE_TEST_SUITE_P(Every, BlackwellSchedulesFull, testing::ValuesIn(built_configs(Chip::sm100)), name_of_config);

}  // namespace
}  // namespace warploom::test
