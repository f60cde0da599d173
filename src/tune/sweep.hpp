// A measured sweep: what `warploom bench --all-plans --json FILE` wrote, read back as problems and timed plans.
//
//   auto sweep = read_sweep("dense.json");
//   if (!sweep) puts(sweep.error().c_str());
//   for (const MeasuredCase& one : sweep->cases) fmt::print("{}: {} plans\n", one.label, one.plans.size());
#pragma once

#include <string>
#include <vector>

#include "warploom/kernels/gemm_problem.hpp"

namespace warploom::tune {

struct MeasuredPlan {
  const GemmConfig* config = nullptr;
  int splits = 1;
  double us = 0;
};

struct MeasuredCase {
  std::string label;
  GemmProblem problem;              ///< with pointers that nobody follows
  ChipLimits chip;                  ///< that it was measured on
  std::vector<MeasuredPlan> plans;  ///< in the planner's order of configurations, so that ties break as there
  size_t best = 0;                  ///< the fastest of them
};

struct Sweep {
  std::vector<MeasuredCase> cases;
  std::vector<std::string> notes;  ///< what was left out, and why
};

/// Plans that this library does not have, or that are no longer legal, are left out with a note.
Result<Sweep> read_sweep(const std::string& file);
/// All of a file, or why not.
Result<std::string> read_text(const std::string& file);

/// "bf16-kk-64x64-one-1x1 /4"
std::string describe(const MeasuredPlan& plan);

}  // namespace warploom::tune
