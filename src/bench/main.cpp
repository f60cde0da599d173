// warploom-bench: our GEMMs beside cuBLASLt on this GPU, and tests that need one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "bench/contenders.hpp"
#include "bench/gpu_tests.hpp"
#include "bench/svg.hpp"
#include "warploom/gpu/gemm.hpp"

namespace {

using namespace warploom;
using namespace warploom::bench;

constexpr size_t flush_bytes = size_t{256} << 20;
constexpr size_t workspace_bytes = size_t{1} << 30;

struct Arguments {
  std::vector<std::string> suites, shapes;
  std::string kind = "bf16", config, protocol = "cold", json, svg, cublaslt, only;
  std::string reference = "bench/reference_h200.json";
  int splits = 0, repeat = 30;
  bool all_plans = false, list = false, no_cublaslt = false, invariance = false;
  double seconds = 0, hold = 2, pause = 4;
  int random = 0;
  uint64_t seed = 1;
  double soak = 0;
};

void write(const std::string& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text;
  if (!stream.flush()) give_up("cannot write " + file);
}

Result<std::vector<Case>> cases_of(const Arguments& arguments) {
  std::vector<Case> cases;
  for (const std::string& name : arguments.suites) {
    const auto found = suite(name);
    if (!found) return Error{found.error()};
    cases.insert(cases.end(), found->begin(), found->end());
  }
  const auto kind = parse_kind(arguments.kind);
  if (!kind) return Error{kind.error()};
  for (const std::string& text : arguments.shapes) {
    const auto sizes = parse_sizes(text);
    if (!sizes) return Error{sizes.error()};
    cases.push_back(make_case(*kind, sizes->m, sizes->n, sizes->k));
  }
  if (cases.empty()) {
    const auto dense = suite("dense");
    cases = *dense;
  }
  if (!arguments.only.empty())
    std::erase_if(cases, [&](const Case& c) { return c.label().find(arguments.only) == std::string::npos; });
  return cases;
}

/// The problem with pointers that a plan accepts and nobody follows.
GemmProblem somewhere(GemmProblem problem) {
  const auto at = [](uintptr_t megabytes) { return reinterpret_cast<void*>(megabytes << 20); };
  problem.a.data = at(0x10000);
  problem.b.data = at(0x20000);
  problem.c.data = at(0x30000);
  problem.d.data = at(0x40000);
  problem.bias.data = at(0x50000);
  problem.a_scales.data = static_cast<const float*>(at(0x60000));
  problem.b_scales.data = static_cast<const float*>(at(0x70000));
  return problem;
}

int measure_all(const Arguments& arguments, const std::vector<Case>& cases) {
  const Chip chip = this_chip();
  const Nvml nvml;
  const Buffer flush(flush_bytes), workspace(workspace_bytes);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  check(gpu::clear({workspace.data(), workspace.bytes()}, stream), "the workspace");
  std::optional<CublasLt> lt;
  std::string lt_text = "without cuBLASLt";
  if (!arguments.no_cublaslt) {
    auto opened = CublasLt::open(arguments.cublaslt);
    if (opened) {
      lt = std::move(*opened);
      lt_text = "cuBLASLt " + lt->version();
    } else {
      fmt::print(stderr, "{}\n", opened.error());
    }
  }
  Setup setup;
  setup.config = arguments.config;
  setup.splits = arguments.splits;
  setup.all_plans = arguments.all_plans;
  setup.cublaslt = lt ? &*lt : nullptr;
  setup.timing = {.repeat = arguments.repeat, .seconds = arguments.hold, .pause_ms = arguments.pause};
  setup.protocol = arguments.protocol == "rotating"    ? Protocol::rotating
                   : arguments.protocol == "sustained" ? Protocol::sustained
                                                       : Protocol::cold;
  setup.nvml = &nvml;
  setup.flush = &flush;
  setup.workspace = &workspace;
  setup.l2_bytes = chip.l2_bytes;
  setup.stream = stream;

  Report report;
  report.device = chip.name;
  report.driver = chip.driver;
  report.cublaslt = lt_text;
  report.protocol = to_string(setup.protocol);
  report.repeat = arguments.repeat;
  report.bytes_per_second = chip.bytes_per_second;
  report.bf16_flops = chip.bf16_flops;

  const auto began = std::chrono::steady_clock::now();
  for (size_t i = 0; i < cases.size(); ++i) {
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (arguments.seconds > 0 && elapsed > arguments.seconds) {
      fmt::print(stderr, "{} s are over: {} of {} cases were measured\n", arguments.seconds, i, cases.size());
      break;
    }
    report.rows.push_back(measure(cases[i], setup));
    const Row& row = report.rows.back();
    std::string line = fmt::format("[{}/{}] {}", i + 1, cases.size(), row.problem.label());
    for (const Entry& entry : row.entries)
      line += entry.absent.empty()
                  ? fmt::format("; {} {:.1f} us{}", entry.name, entry.microseconds, entry.wrong.empty() ? "" : " WRONG")
                  : fmt::format("; {}: {}", entry.name, entry.absent);
    fmt::print(stderr, "{}\n", line);
  }

  std::optional<References> references;
  if (auto loaded = References::load(arguments.reference)) references = std::move(*loaded);
  fmt::print("{}", to_table(report, references ? &*references : nullptr));
  if (!arguments.json.empty()) write(arguments.json, to_json(report));
  if (!arguments.svg.empty()) write(arguments.svg, to_svg(report));
  cudaStreamDestroy(stream);
  return report.all_right() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Measures Warploom's GEMMs on this GPU beside cuBLASLt, and checks every result it measures.\n"
      "Exit status: 0 right, 1 a wrong result, 2 bad input or no GPU.",
      "warploom-bench"};
  Arguments a;
  std::string suite_help = "List of shapes:";
  for (const Suite& one : suites()) suite_help += fmt::format("\n  {:<10} {}", one.name, one.what);
  app.add_option("--suite", a.suites, suite_help);
  app.add_option("--shape", a.shapes, "MxNxK, of the kind --kind");
  app.add_option("--kind", a.kind, "bf16, f16, fp8 or blockwise")->capture_default_str();
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
      ->check(CLI::Range(0.0, 1000.0))
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
  app.add_flag("--invariance", a.invariance, "Repeated runs, and a row beside fewer or more rows, give the same bits");
  CLI11_PARSE(app, argc, argv);

  const auto cases = cases_of(a);
  if (!cases) give_up(cases.error());
  if (a.list) {
    for (const Case& c : *cases) {
      const auto plan = plan_gemm(somewhere(c.problem));
      fmt::print("{:<40} {}\n", c.label(), plan ? describe(*plan) : plan.error());
    }
    return 0;
  }
  if (const std::string missing = gpu::missing(); !missing.empty()) give_up(missing);
  if (a.random > 0) return random_problems(a.random, a.seed, a.seconds);
  if (a.soak > 0) return soak(a.soak, a.seed);
  if (a.invariance) return invariance();
  return measure_all(a, *cases);
}
