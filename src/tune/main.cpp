// warploom-tune: checks the planner's cost model against measured sweeps, and fits its constants to them (tools/tune).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "bench/report.hpp"
#include "tune/constants.hpp"
#include "tune/fit.hpp"

namespace {

using namespace warploom;
using namespace warploom::tune;

struct Arguments {
  std::vector<std::string> files, settings;
  std::string only, write;
  double case_limit = 5, mean_limit = 3;  ///< percent
  double seconds = 20;
  uint64_t seed = 1;
};

int bad(const std::string& sentence) {
  fmt::print(stderr, "warploom-tune: {}\n", sentence);
  return 2;
}

Result<Sweep> read(const Arguments& arguments) {
  Sweep all;
  for (const std::string& file : arguments.files) {
    auto sweep = read_sweep(file);
    if (!sweep) return Error{sweep.error()};
    for (MeasuredCase& one : sweep->cases)
      if (one.label.find(arguments.only) != std::string::npos) all.cases.push_back(std::move(one));
    for (std::string& note : sweep->notes) all.notes.push_back(std::move(note));
  }
  if (all.cases.empty()) return Error{fmt::format("no case has '{}' in its label", arguments.only)};
  return all;
}

Result<GemmCosts> costs_of(const Arguments& arguments) {
  GemmCosts costs;
  for (const std::string& setting : arguments.settings)
    if (std::string trouble = set_constant(costs, setting); !trouble.empty()) return Error{trouble};
  return costs;
}

void print_notes(const Sweep& sweep, const GemmCosts& costs) {
  for (const std::string& note : sweep.notes) fmt::print("note: {}\n", note);
  for (const MeasuredCase& one : sweep.cases)
    if (const std::string plan = untimed_plan(one, costs); !plan.empty())
      fmt::print("note: {}: the planner would take {}, which was not timed\n", one.label, plan);
}

std::string summary(const Judgement& judgement) {
  return fmt::format("choices lose {:.2f} % on average, {:.2f} % at worst; predicted times are {:.0f} % off",
                     100 * judgement.mean, 100 * judgement.worst, 100 * judgement.error);
}

int check(const Arguments& arguments) {
  const auto sweep = read(arguments);
  if (!sweep) return bad(sweep.error());
  const auto costs = costs_of(arguments);
  if (!costs) return bad(costs.error());
  const Judgement found = judge(sweep->cases, *costs);
  const double case_limit = arguments.case_limit / 100, mean_limit = arguments.mean_limit / 100;

  bench::Table table({"case", "us", "predicted", "best us", "loss", "", "choice", "best"});
  for (const size_t column : {5, 6, 7}) table.left(column);
  table.rule();
  int over = 0;
  for (size_t i = 0; i < sweep->cases.size(); ++i) {
    const MeasuredCase& one = sweep->cases[i];
    const Choice& choice = found.choices[i];
    const MeasuredPlan &chosen = one.plans[choice.plan], &best = one.plans[one.best];
    over += choice.loss > case_limit;
    table.add({one.label, fmt::format("{:.1f}", chosen.us), fmt::format("{:.1f}", choice.predicted_us),
               fmt::format("{:.1f}", best.us), fmt::format("{:.1f} %", 100 * choice.loss),
               choice.loss > case_limit ? "<" : "", describe(chosen), choice.plan == one.best ? "" : describe(best)});
  }
  fmt::print("{}\n", table.text());
  print_notes(*sweep, *costs);
  fmt::print("{} case{}: {}\n", sweep->cases.size(), sweep->cases.size() == 1 ? "" : "s", summary(found));
  if (over > 0) fmt::print("{} case{} more than {} %\n", over, over == 1 ? " loses" : "s lose", arguments.case_limit);
  if (found.mean > mean_limit) fmt::print("on average more than {} % are lost\n", arguments.mean_limit);
  return over > 0 || found.mean > mean_limit ? 1 : 0;
}

/// "" or why the constants cannot stand in this file.
std::string write_constants(const std::string& file, const GemmCosts& costs) {
  const auto text = read_text(file);
  if (!text) return text.error();
  const auto source = replaced_in(*text, costs);
  if (!source) return file + ": " + source.error();
  std::ofstream out(file);
  out << *source;
  return out.flush() ? "" : "cannot write " + file;
}

int fit(const Arguments& arguments) {
  const auto sweep = read(arguments);
  if (!sweep) return bad(sweep.error());
  const auto costs = costs_of(arguments);
  if (!costs) return bad(costs.error());
  if (!arguments.write.empty()) {  // better known before the search than after it
    const auto text = read_text(arguments.write);
    if (!text) return bad(text.error());
    if (const auto source = replaced_in(*text, *costs); !source) return bad(arguments.write + ": " + source.error());
  }
  FitOptions options{.start = *costs, .seconds = arguments.seconds, .seed = arguments.seed};
  options.progress = [](const FitProgress& progress) {
    fmt::print(stderr, "{:5.0f} s  {:8} tried  {}\n", progress.seconds, progress.tried, summary(*progress.best));
  };
  const Fit found = tune::fit(sweep->cases, options);
  print_notes(*sweep, found.costs);
  fmt::print("{} cases, {} sets of constants tried\nbefore: {}\nafter:  {}\n\n{}", sweep->cases.size(), found.tried,
             summary(found.before), summary(found.after), to_source(found.costs));
  if (arguments.write.empty()) return 0;
  const std::string trouble = write_constants(arguments.write, found.costs);
  return trouble.empty() ? 0 : bad(trouble);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Checks the planner's cost model (src/plan/gemm_costs.hpp) against measured sweeps, and fits it to them.\n"
      "A sweep is what `warploom bench --suite NAME --all-plans --json FILE` writes.",
      "warploom-tune"};
  app.require_subcommand(1);
  Arguments a;
  const auto shared = [&](CLI::App& command) {
    command.add_option("files", a.files, "Sweeps")->required();
    command.add_option("--only", a.only, "Only cases whose label contains this text");
    command.add_option("--set", a.settings, "NAME=VALUE: with another value of a constant")->allow_extra_args(false);
  };
  CLI::App* check_command =
      app.add_subcommand("check", "Compares the planner's choice of every case with the fastest plan that was timed");
  shared(*check_command);
  check_command->add_option("--case-limit", a.case_limit, "Percent that a single case may lose")->capture_default_str();
  check_command->add_option("--mean-limit", a.mean_limit, "Percent that the geometric mean may lose")
      ->capture_default_str();
  check_command->footer("Exit status: 0 within the limits, 1 not, 2 bad input.");
  CLI::App* fit_command = app.add_subcommand("fit", "Searches constants with which the choices lose least");
  shared(*fit_command);
  fit_command->add_option("--seconds", a.seconds, "To search for")->check(CLI::Range(0.0, 1e6))->capture_default_str();
  fit_command->add_option("--seed", a.seed, "Of the search")->capture_default_str();
  fit_command->add_option("--write", a.write, "Put the constants into this file, which is or has the struct");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // 0: --help
  }
  return *check_command ? check(a) : fit(a);
}
