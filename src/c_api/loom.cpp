// The loom in C.
#include "c_api/plan.hpp"
#include "c_api/structs.hpp"

struct warploom_report {
  warploom::loom::Outcome outcome;
  std::string text, json;
};

namespace warploom::c_api {
namespace {

Result<loom::Options> options_of(const warploom_loom_options* given) {
  loom::Options options;
  if (given == nullptr) return options;
  constexpr size_t first = offsetof(warploom_loom_options, step_limit) + sizeof(uint64_t);
  const auto known = received<warploom_loom_options>(given, first, &warploom_loom_options_init, "options of the loom",
                                                     "WARPLOOM_LOOM_OPTIONS_INIT or warploom_loom_options_init()");
  if (!known) return known.why();
  if (known->workers < 0) return Error{"workers is " + std::to_string(known->workers) + "; 0 stands for one per core"};
  if (!(known->seconds_limit >= 0 && known->seconds_limit < 1e9))
    return Error{"seconds_limit is " + std::to_string(known->seconds_limit) + "; 0 to 1e9 are possible"};
  if (known->step_limit == 0) return Error{"step_limit is 0; a kernel makes at least one step"};
  if (known->schedule != nullptr) {
    auto schedule = loom::Schedule::parse(known->schedule);
    if (!schedule) return schedule.why();
    options.schedule = std::move(*schedule);
  }
  options.check = known->check != 0;
  options.numerics = known->exact != 0 ? loom::Numerics::exact : loom::Numerics::fast;
  options.workers = static_cast<unsigned>(known->workers);
  options.seconds_limit = known->seconds_limit;
  options.step_limit = known->step_limit;
  return options;
}

Error first_of(const loom::Outcome& outcome) {
  const std::vector<loom::Finding>& findings = outcome.report.findings;
  if (outcome.refused) return {findings.empty() ? out_of_memory_sentence : findings.front().message, outcome.refusal};
  if (findings.empty()) return {{}, ErrorCode::none};
  return {findings.front().code + ": " + findings.front().message, ErrorCode::finding};
}

}  // namespace
}  // namespace warploom::c_api

using namespace warploom;

extern "C" {

void warploom_loom_options_init(warploom_loom_options* options) {
  static const warploom_loom_options initial = WARPLOOM_LOOM_OPTIONS_INIT;
  if (options != nullptr) *options = initial;
}

int warploom_plan_gemm_on_loom(const warploom_gemm_problem* given, int32_t chip, int32_t sms, warploom_plan** plan) {
  return c_api::make_plan(given, chip, sms, plan, [](const GemmProblem& problem, const ChipLimits& limits) {
    return plan_gemm_on_loom(problem, limits);
  });
}

int warploom_run_on_loom(const warploom_gemm_problem* given, const warploom_plan* plan,
                         const warploom_loom_options* options, warploom_report** report) {
  return c_api::guarded([&] {
    if (report != nullptr) *report = nullptr;
    if (plan == nullptr) return c_api::answer(c_api::null_pointer("the plan"));
    const auto problem = c_api::problem_of(given);
    if (!problem) return c_api::answer(problem.why());
    const auto with = c_api::options_of(options);
    if (!with) return c_api::answer(with.why());
    auto outcome = run_on_loom(*problem, plan->plan, *with);
    if (!outcome) return c_api::answer(outcome.why());
    const Error first = c_api::first_of(*outcome);
    if (report != nullptr && !outcome->refused) {
      std::string text = to_text(outcome->report), json = to_json(outcome->report);
      *report = new warploom_report{std::move(*outcome), std::move(text), std::move(json)};
    }
    return c_api::answer(first);
  });
}

int32_t warploom_report_findings(const warploom_report* report) {
  return report == nullptr ? 0 : static_cast<int32_t>(report->outcome.report.findings.size());
}
uint64_t warploom_report_steps(const warploom_report* report) { return report == nullptr ? 0 : report->outcome.steps; }
const char* warploom_report_text(const warploom_report* report) {
  return report == nullptr ? "" : report->text.c_str();
}
const char* warploom_report_json(const warploom_report* report) {
  return report == nullptr ? "" : report->json.c_str();
}
void warploom_report_release(warploom_report* report) { delete report; }

}  // extern "C"
