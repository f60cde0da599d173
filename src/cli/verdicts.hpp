// Verdicts for the program: a problem's, and how they are shown.
#pragma once

#include "cli/commands.hpp"
#include "cli/tell.hpp"
#include "warploom/loom/verdict.hpp"

namespace warploom::cli {

Result<loom::Verdict> verdict_of(const RunArguments& arguments, const CheckArguments& how);
Json json_of(const loom::Verdict& verdict);
void print(const loom::Verdict& verdict);
int check_all(const RunArguments& arguments, const CheckArguments& how);

}  // namespace warploom::cli
