// Every allocation of a launch may be the one that fails: on the worker's stack, on a thread's of the kernel, in the
// middle of a barrier or of a report.
#include <gtest/gtest.h>

#include <cstdio>

#include "loom/allocations/operators.hpp"
#include "warploom/kernels/gemm_data.hpp"
#include "warploom/loom/verdict.hpp"

namespace warploom {
namespace {

/// Lets the n-th allocation from here fail, and perhaps all that follow.
class Failure {
 public:
  Failure(int64_t n, bool goes_on) { fail_allocation(n, goes_on); }
  ~Failure() { fail_allocation(-1, false); }
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;
};

struct Told {
  bool refused = false, good = false;
  ErrorCode code = ErrorCode::none;
};

class Work {
 public:
  Work() : data_({.m = 136, .n = 128, .k = 192, .fill = Fill::integer}), problem_(data_.problem()) {
    plan_ = *plan_gemm_on_loom(problem_);
    loom::Options options;
    options.record_sites = true;
    const auto outcome = run_on_loom(problem_, plan_, options);
    for (const loom::Site& site : outcome->sites)
      if (site.operation == "mbarrier.arrive")
        mutated_.mutation.emplace(loom::Mutation{site.key(), loom::MutationKind::drop, -1});
    subject_.what = "a gemm";
    subject_.launch = [this](const loom::Options& o) {
      auto ran = run_on_loom(problem_, plan_, o);
      loom::Outcome none;
      none.refused = true;
      none.refusal = ran.code();
      return ran ? std::move(*ran) : std::move(none);
    };
    check_.explore = true;
    check_.schedules = 3;
  }

  Told launch(const loom::Options& options) {
    const auto outcome = run_on_loom(problem_, plan_, options);
    if (!outcome) return {true, false, outcome.code()};
    (void)to_text(outcome->report);
    (void)to_json(outcome->report);
    if (options.record_events) (void)render_timeline(outcome->events, {});
    return {outcome->refused, outcome->ok(), outcome->refusal};
  }
  Told mutated_launch() { return launch(mutated_); }
  Told verdict() {
    const loom::Verdict verdict = loom::check(subject_, check_);
    return {verdict.kind == loom::Verdict::Kind::refused, verdict.good(), verdict.refusal_code};
  }
  Told plan() {
    GemmProblem other = problem_;
    other.m = 1 + (m_ = (m_ + 1) % 4000);  // a plan that is not kept yet
    other.d.stride = other.n;
    const auto plan = plan_gemm(other);
    return {!plan, static_cast<bool>(plan), plan.code()};
  }
  Told nearest() {
    GemmProblem other = problem_;
    other.n = -3;
    other.a.stride = 1;
    (void)nearest_that_runs(other);
    const std::string reason = why_not(other);
    return {reason == "out of memory", !reason.empty(),
            reason == "out of memory" ? ErrorCode::out_of_memory : ErrorCode::none};
  }

 private:
  GemmData data_;
  GemmProblem problem_;
  GemmPlan plan_;
  // Made beforehand: what fails is the library's.
  loom::Options mutated_;
  loom::Subject subject_;
  loom::CheckOptions check_;
  int m_ = 0;
};

using Task = Told (*)(Work&);

loom::Options options_with(bool check, bool record, unsigned workers) {
  loom::Options options;
  options.check = check;
  options.record_events = options.record_sites = record;
  options.workers = workers;
  return options;
}

struct NamedTask {
  const char* name;
  Task task;
  bool good;  ///< where nothing fails
};
constexpr NamedTask tasks[] = {
    {"launch", [](Work& w) { return w.launch(options_with(false, false, 1)); }, true},
    {"launch with two workers", [](Work& w) { return w.launch(options_with(false, false, 2)); }, true},
    {"checked launch", [](Work& w) { return w.launch(options_with(true, false, 1)); }, true},
    {"recorded launch", [](Work& w) { return w.launch(options_with(false, true, 1)); }, true},
    {"launch with a finding", [](Work& w) { return w.mutated_launch(); }, false},
    {"verdict", [](Work& w) { return w.verdict(); }, true},
    {"plan", [](Work& w) { return w.plan(); }, true},
    {"sentence and cure", [](Work& w) { return w.nearest(); }, true},
};

/// So many of a task's allocations fail, in turn, spread evenly.
void fail_some(uint64_t at_most) {
  Work work;
  uint64_t tries = 0, refused = 0;
  for (const NamedTask& task : tasks) {
    for (int warm = 0; warm < 2; ++warm) ASSERT_EQ(task.task(work).good, task.good) << task.name;
    const uint64_t before = allocations();
    (void)task.task(work);
    const uint64_t count = allocations() - before;
    const uint64_t step = std::max<uint64_t>(1, count / at_most);
    for (const bool goes_on : {false, true}) {
      for (uint64_t n = 0; n < count; n += step) {
        Told told;
        uint64_t failed = 0;
        {
          const Failure failure(static_cast<int64_t>(n), goes_on);
          told = task.task(work);
          failed = failures();
        }
        ++tries;
        refused += told.refused ? 1 : 0;
        // Some failures are none: a helper that is not needed, a plan that is not kept.
        ASSERT_TRUE(told.refused || told.good == task.good || failed != 0) << task.name << ", allocation " << n;
        ASSERT_TRUE(!told.refused || told.code == ErrorCode::out_of_memory)
            << task.name << ", allocation " << n << ": " << to_string(told.code);
        ASSERT_FALSE(told.good && !task.good) << task.name << ", allocation " << n;
      }
      const Told after = task.task(work);
      ASSERT_FALSE(after.refused) << task.name;
      ASSERT_EQ(after.good, task.good) << task.name;
    }
  }
  std::printf("%llu allocations failed, and %llu calls were refused\n", static_cast<unsigned long long>(tries),
              static_cast<unsigned long long>(refused));
  EXPECT_GT(refused, tries / 2);
}

TEST(FailingAllocations, AreErrors) { fail_some(6); }
TEST(FailingAllocationsFull, AreErrors) { fail_some(400); }

}  // namespace
}  // namespace warploom
