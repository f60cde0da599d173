#include "tune/fit.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "tune/constants.hpp"

namespace warploom::tune {
namespace {

constexpr double worst_weight = 0.2, error_weight = 0.03, distance_weight = 1e-4;
/// First and last: of a step, in the logarithm of a constant; of the temperature, in units of the objective.
constexpr double first_step = 0.3, last_step = 0.01, first_heat = 3e-3, last_heat = 1e-5;

double between(double first, double last, double progress) { return first * std::pow(last / first, progress); }

struct State {
  GemmCosts costs;
  Judgement judgement;
  double value = 0;
};

}  // namespace

double objective(const Judgement& judgement, const GemmCosts& costs, const GemmCosts& start) {
  double distance = 0;
  for (const Constant& one : constants()) distance += std::pow(std::log(costs.*one.member / start.*one.member), 2);
  return judgement.mean + judgement.blurred_mean + worst_weight * (judgement.worst + judgement.blurred_worst) +
         error_weight * judgement.error + distance_weight * distance;
}

Fit fit(std::span<const MeasuredCase> cases, const FitOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - began).count(); };
  Fit found;
  const auto at = [&](const GemmCosts& costs) {
    State state{costs, judge(cases, costs)};
    state.value = objective(state.judgement, costs, options.start);
    ++found.tried;
    return state;
  };
  std::vector<Constant> free;
  for (const Constant& one : constants())
    if (one.fitted()) free.push_back(one);

  State now = at(options.start);
  State best = now;
  found.before = now.judgement;
  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  double next_progress = 1;
  const auto progress_now = [&] {
    return options.tries > 0 ? static_cast<double>(found.tried) / static_cast<double>(options.tries)
                             : elapsed() / options.seconds;
  };
  for (double progress = 0; (progress = progress_now()) < 1;) {
    if (const double seconds = elapsed(); options.progress && seconds > next_progress) {
      options.progress({seconds, found.tried, &best.judgement});
      next_progress = seconds + 1;
    }
    const double step = between(first_step, last_step, progress), heat = between(first_heat, last_heat, progress);
    GemmCosts costs = now.costs;
    // One constant mostly; two or three where only together they lead anywhere.
    const int moves = 1 + static_cast<int>(3 * uniform(random) * uniform(random));
    for (int i = 0; i < moves; ++i) {
      const Constant& one = free[random() % free.size()];
      costs.*one.member = std::clamp(costs.*one.member * std::exp(step * normal(random)), one.low, one.high);
    }
    State next = at(costs);
    if (next.value < now.value || uniform(random) < std::exp((now.value - next.value) / heat)) now = std::move(next);
    if (now.value < best.value) best = now;
  }

  // A constant that makes no difference keeps its value, and digits that make none are dropped.
  for (const Constant& one : free) {
    GemmCosts costs = best.costs;
    costs.*one.member = options.start.*one.member;
    if (State back = at(costs); back.value <= best.value) best = std::move(back);
  }
  const State start = at(options.start), shorter = at(rounded(best.costs));
  const State& last = shorter.value < start.value ? shorter : start;
  found.costs = last.costs;
  found.after = last.judgement;
  return found;
}

}  // namespace warploom::tune
