// How good the planner's choices are, by what was measured: the time of the plan that it would take of those timed,
// over that of the fastest.
//
//   Judgement now = judge(sweep.cases, GemmCosts{});
//   fmt::print("{:.1f} % lost on average, {:.1f} % at worst\n", 100 * now.mean, 100 * now.worst);
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/gemm_costs.hpp"
#include "tune/sweep.hpp"

namespace warploom::tune {

struct Choice {
  size_t plan = 0;          ///< of the case's
  double predicted_us = 0;  ///< its own
  double loss = 0;          ///< 0.05: takes 5 % longer than the fastest
};

struct Judgement {
  std::vector<Choice> choices;  ///< one per case
  double mean = 0;              ///< of the losses, geometric
  double worst = 0;
  double error = 0;  ///< of predicted times, root of the mean square of the logarithm; fast plans count more
  /// Mean and worst with a choice that is blurred: a plan that is predicted to be a hair slower counts almost as much
  /// as the chosen one. This is what a fit makes small: it has slopes, and asks for choices that are not close calls.
  double blurred_mean = 0, blurred_worst = 0;
};

Judgement judge(std::span<const MeasuredCase> cases, const GemmCosts& costs);

/// "" or the plan that the planner would take with these costs, where it is none of those timed.
std::string untimed_plan(const MeasuredCase& one, const GemmCosts& costs);

}  // namespace warploom::tune
