// A plan in C's hands.
#pragma once

#include "c_api/structs.hpp"

struct warploom_plan {
  warploom::GemmPlan plan;
};

namespace warploom::c_api {

/// `plan_for(problem, chip)` says which.
template <class PlanFor>
int make_plan(const warploom_gemm_problem* given, int32_t chip, int32_t sms, warploom_plan** plan,
              PlanFor&& plan_for) noexcept {
  return guarded([&] {
    if (plan == nullptr) return answer(null_pointer("the place for the plan"));
    *plan = nullptr;
    const auto problem = problem_of(given);
    if (!problem) return answer(problem.why());
    const auto limits = chip_of(chip, sms);
    if (!limits) return answer(limits.why());
    auto made = plan_for(*problem, *limits);
    if (!made) return answer(made.why());
    *plan = new warploom_plan{std::move(*made)};  // NOLINT(bugprone-unhandled-exception-at-new): `guarded` catches
    return ok();
  });
}

}  // namespace warploom::c_api
