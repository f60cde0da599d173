#include "bench/program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/text.hpp"

namespace warploom::bench {
namespace {

/// Inside a function: bench/on_gpu.cpp may set it before this file's own variables exist.
OnGpu& slot() {
  static OnGpu on_gpu = nullptr;
  return on_gpu;
}

int bad(const std::string& sentence) {
  fmt::print(stderr, "warploom: {}\n", cli::shown(sentence));
  return 2;
}

Result<std::vector<Case>> cases_of(const Arguments& arguments) {
  std::vector<Case> cases;
  for (const std::string& name : arguments.suites) {
    const auto found = suite(name);
    if (!found) return Error{found.error()};
    cases.insert(cases.end(), found->begin(), found->end());
  }
  if (const auto kind = parse_kind(arguments.kind); !kind) return Error{kind.error()};
  for (const std::string& text : arguments.shapes) {
    const auto one = parse_case(arguments.kind + " " + text);
    if (!one) return Error{one.error()};
    cases.push_back(*one);
  }
  if (cases.empty()) {
    const auto dense = suite("dense");
    cases = *dense;
  }
  if (!arguments.only.empty())
    std::erase_if(cases, [&](const Case& c) { return c.label().find(arguments.only) == std::string::npos; });
  return cases;
}

}  // namespace

const char* const description = "Measures the GEMMs on this GPU beside cuBLASLt, and checks every result it measures";

void add_options(CLI::App& app, Arguments& a) {
  app.footer("Exit status: 0 right, 1 a wrong result, 2 bad input or no GPU, 3 it could not be done.");
  std::string suite_help = "List of shapes:";
  for (const Suite& one : suites()) suite_help += fmt::format("\n  {:<10} {}", one.name, one.what);
  app.add_option("--suite", a.suites, suite_help);
  app.add_option("--shape", a.shapes, "MxNxK of the kind --kind, and an epilogue: '4096x7168x2048 +C +bias silu'");
  app.add_option("--kind", a.kind, "Of --shape: bf16, f16, fp8 or blockwise")->needs("--shape")->capture_default_str();
  app.add_option("--only", a.only, "Only cases whose label contains this text");
  app.add_option("--config", a.config, "Key of our kernel, in place of the plan's choice");
  app.add_option("--splits", a.splits, "Of K, with --config; 0: the plan's choice");
  app.add_flag("--all-plans", a.all_plans, "Time every legal plan, list them, and add the best as a contender");
  app.add_option("--protocol", a.protocol,
                 "cold: single launches, 256 MB written before each; rotating: back to back over operands larger than\n"
                 "twice L2; sustained: seconds of the same, with clock and power")
      ->check(CLI::IsMember({"cold", "rotating", "sustained"}))
      ->capture_default_str();
  app.add_option("--repeat", a.repeat, "Launches or rounds per contender")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--pause", a.pause, "cold: milliseconds of idling before each launch; with 0 the chip is hot and slow")
      ->check(CLI::Range(0.0, 200.0))
      ->capture_default_str();
  app.add_option("--hold", a.hold, "sustained: seconds per contender")->capture_default_str();
  app.add_option("--seconds", a.seconds, "Begin no case after so many seconds");
  app.add_option("--json", a.json, "Write the figures to a file");
  app.add_option("--svg", a.svg, "Write a chart to a file");
  app.add_option("--reference", a.reference, "Figures of another library, of another day")->capture_default_str();
  app.add_option("--cublaslt", a.cublaslt, "libcublasLt to open; else the loader's");
  app.add_flag("--no-cublaslt", a.no_cublaslt, "Measure ours alone");
  app.add_flag("--list", a.list, "Print the cases and their plans, and measure nothing (needs no GPU)");
  app.add_option("--random", a.random, "Run so many random problems against a plain reference, or see them refused");
  app.add_option("--seed", a.seed, "Of --random and --soak")->capture_default_str();
  app.add_option("--soak", a.soak, "Launch mixed problems back to back for so many seconds: no bit may differ");
  app.add_option("--exact-hashes", a.exact_hashes,
                 "Run small problems with every kernel and write the hashes of their results to a file");
  app.add_option("--exact-expected", a.exact_expected,
                 "The same, compared with such a file: tests/data/exact_kernels.jsonl is the loom's");
  app.add_flag("--invariance", a.invariance, "Repeated runs, and a row beside fewer or more rows, give the same bits");
  CLI::Option* const list = app.get_option("--list");
  for (CLI::Option* const option : app.get_options()) {
    const std::string& name = option->get_name();
    const bool lists = name == "--list" || name == "--suite" || name == "--shape" || name == "--kind" ||
                       name == "--only" || name == "--config" || name == "--splits" || name == "--help" ||
                       name == "-h,--help";
    if (!lists) list->excludes(option);  // what measures nothing has no use for them
  }
}

void set_on_gpu(OnGpu on_gpu) { slot() = on_gpu; }

int run(const Arguments& arguments) {
  const auto cases = cases_of(arguments);
  if (!cases) return bad(cases.error());
  if (cases->empty()) return bad(fmt::format("no case has '{}' in its label", arguments.only));
  if (!arguments.config.empty())
    if (const auto config = find_gemm_config(arguments.config); !config) return bad(config.error());
  if (arguments.list) {
    for (const Case& c : *cases) {
      const auto plan = plan_for(arguments.config, arguments.splits, somewhere(c.problem), {});
      fmt::print("{:<40} {}\n", c.label(), plan ? describe(*plan) : cli::shown(plan.error()));
    }
    return 0;
  }
  if (slot() == nullptr)
    return bad(
        "this program was built without CUDA and can only --list; with the CUDA toolkit installed ./dev bench builds "
        "one that measures");
  return slot()(arguments, *cases);
}

}  // namespace warploom::bench
