// Looks for constants with which the cheapest plan is the fastest one: simulated annealing over the logarithms of the
// constants, within their bounds.
//
//   Fit found = fit(sweep.cases, {.seconds = 20});
//   fmt::print("{}", to_source(found.costs));
#pragma once

#include <cstdint>
#include <functional>

#include "tune/judge.hpp"

namespace warploom::tune {

struct FitProgress {
  double seconds = 0;
  int64_t tried = 0;
  const Judgement* best = nullptr;
};

struct FitOptions {
  GemmCosts start = {};
  double seconds = 20;
  int64_t tries = 0;  ///< if not 0, so many instead: the same result whatever the machine's speed
  uint64_t seed = 1;
  std::function<void(const FitProgress&)> progress = {};  ///< about once a second
};

struct Fit {
  GemmCosts costs;  ///< to three digits
  Judgement before, after;
  int64_t tried = 0;
};

/// Never worse than the start, by `objective`.
Fit fit(std::span<const MeasuredCase> cases, const FitOptions& options);

/// What a fit makes small: the losses, mean and worst; with a small weight the error of the predicted times; and how
/// far the constants are from where they were, so that one which the sweep says nothing about keeps its value.
double objective(const Judgement& judgement, const GemmCosts& costs, const GemmCosts& start);

}  // namespace warploom::tune
