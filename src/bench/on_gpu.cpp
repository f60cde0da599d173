// What of the benchmark needs a GPU: measurements beside cuBLASLt, and tests.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <fstream>

#include "bench/contenders.hpp"
#include "bench/gpu_tests.hpp"
#include "bench/program.hpp"
#include "bench/svg.hpp"
#include "warploom/gpu/gemm.hpp"

namespace warploom::bench {
namespace {

constexpr size_t flush_bytes = size_t{256} << 20;
constexpr size_t workspace_bytes = size_t{1} << 30;

void write(const std::string& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text;
  if (!stream.flush()) give_up("cannot write " + file);
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
  report.sms = chip.sms;
  report.driver = chip.driver;
  report.cublaslt = lt_text;
  report.protocol = to_string(setup.protocol);
  report.repeat = arguments.repeat;
  report.pause_ms = arguments.protocol == "cold" ? arguments.pause : 0;
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

int on_gpu(const Arguments& arguments, const std::vector<Case>& cases) {
  if (const std::string missing = gpu::missing(); !missing.empty()) give_up(missing);
  if (arguments.random > 0) return random_problems(arguments.random, arguments.seed, arguments.seconds);
  if (arguments.soak > 0) return soak(arguments.soak, arguments.seed);
  if (arguments.invariance) return invariance();
  if (!arguments.exact_hashes.empty() || !arguments.exact_expected.empty())
    return exact_hashes(arguments.exact_hashes, arguments.exact_expected);
  return measure_all(arguments, cases);
}

[[maybe_unused]] const bool registered = (set_on_gpu(&on_gpu), true);

}  // namespace
}  // namespace warploom::bench
