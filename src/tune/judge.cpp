#include "tune/judge.hpp"

#include <algorithm>
#include <cmath>

#include "bench/cases.hpp"

namespace warploom::tune {
namespace {

/// Predicted times that are so much apart (1 %) are told apart.
constexpr double blur = 0.01;

}  // namespace

Judgement judge(std::span<const MeasuredCase> cases, const GemmCosts& costs) {
  Judgement made;
  made.choices.reserve(cases.size());
  double sum = 0, error = 0, error_weight = 0, blurred_worst = 0, blurred_sum = 0;
  std::vector<double> predicted;
  for (const MeasuredCase& one : cases) {
    predicted.clear();
    const double fastest = one.plans[one.best].us;
    size_t chosen = 0;
    for (size_t i = 0; i < one.plans.size(); ++i) {
      const MeasuredPlan& plan = one.plans[i];
      const GemmShape& shape = plan.config->shape;
      predicted.push_back(predict_gemm(one.problem, shape, plan.splits, clusters_at_once(shape, one.chip), costs).us);
      if (predicted[i] < predicted[chosen]) chosen = i;
      const double off = std::log(predicted[i] / plan.us), weight = fastest / plan.us;
      error += weight * off * off;
      error_weight += weight;
    }
    double blurred = 0, all = 0;
    for (size_t i = 0; i < one.plans.size(); ++i) {
      const double likely = std::pow(predicted[chosen] / predicted[i], 1 / blur);
      blurred += likely * std::log(one.plans[i].us / fastest);
      all += likely;
    }
    blurred /= all;
    blurred_sum += blurred;
    blurred_worst = std::max(blurred_worst, blurred);
    const double loss = one.plans[chosen].us / fastest - 1;
    sum += std::log1p(loss);
    made.worst = std::max(made.worst, loss);
    made.choices.push_back({chosen, predicted[chosen], loss});
  }
  if (cases.empty()) return made;
  const auto count = static_cast<double>(cases.size());
  made.mean = std::expm1(sum / count);
  made.error = std::sqrt(error / error_weight);
  made.blurred_mean = blurred_sum / count;
  made.blurred_worst = blurred_worst;
  return made;
}

std::string untimed_plan(const MeasuredCase& one, const GemmCosts& costs) {
  const std::vector<GemmPlan> plans = gemm_plans(one.problem, one.chip, costs);
  if (plans.empty()) return "";
  const MeasuredPlan first{plans.front().config, plans.front().splits};
  const bool timed = std::any_of(one.plans.begin(), one.plans.end(), [&](const MeasuredPlan& plan) {
    return plan.config == first.config && plan.splits == first.splits;
  });
  return timed ? "" : describe(first);
}

}  // namespace warploom::tune
