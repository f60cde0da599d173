// Verdicts for the program: a problem's, and how they are shown.
#pragma once

#include "cli/commands.hpp"
#include "cli/tell.hpp"
#include "warploom/loom/verdict.hpp"

namespace warploom::cli {

class StateFile;

/// A verdict, and whether there was anything to give it on.
struct ProblemVerdict : loom::Verdict {
  bool nothing_to_compute = false;

  std::string sentence() const;
};

/// `file` may be null: the exploration is kept nowhere.
Result<ProblemVerdict> verdict_of(const RunArguments& arguments, const CheckArguments& how, StateFile* file,
                                  Progress& progress);
Json json_of(const ProblemVerdict& verdict);
void print(const ProblemVerdict& verdict);
int check_all(const RunArguments& arguments, const CheckArguments& how);

}  // namespace warploom::cli
