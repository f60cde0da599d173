// Every Hopper kernel on this GPU, hash by hash what the loom gives with exact numerics (bench/exact_problems.hpp).
#include <fmt/format.h>

#include <fstream>
#include <map>

#include "bench/device.hpp"
#include "bench/exact_problems.hpp"
#include "bench/gpu_tests.hpp"
#include "warploom/kernels/gemm_gpu_hook.hpp"

namespace warploom::bench {

int exact_hashes(const std::string& written, const std::string& expected) {
  std::map<std::string, ExactHashes> wanted;
  if (!expected.empty()) {
    std::ifstream file(expected);
    if (!file) give_up("cannot read " + expected);
    for (std::string line; std::getline(file, line);) {
      const Result<ExactHashes> hashes = parse_exact_hashes(line);
      if (!hashes) give_up(expected + ": " + hashes.error());
      wanted[hashes->config] = *hashes;
    }
  }
  const GemmGpuHook* gpu = gemm_gpu_hook();
  if (gpu == nullptr) give_up("this program was built without its GPU half");
  std::string text;
  int ran = 0, same = 0, other_data = 0;
  for (const GemmConfig& config : gemm_configs()) {
    ExactHashes hashes{.config = config.key, .inputs = {}, .results = {}};
    const auto found = wanted.find(config.key);
    for (int number = 0; number < exact_problems_per_kernel; ++number, ++ran) {
      const ExactProblem one(config, number);
      const Result<GemmGpuRun> outcome = gpu->run(one.problem(), one.plan(), 1);
      if (!outcome) give_up(fmt::format("{} {}: {}", config.key, one.text(), outcome.error()));
      hashes.inputs.push_back(one.inputs_hash());
      hashes.results.push_back(one.result_hash());
      const auto at = static_cast<size_t>(number);
      if (found == wanted.end() || at >= found->second.results.size()) continue;
      const bool data = found->second.inputs[at] == hashes.inputs[at];
      const bool bits = found->second.results[at] == hashes.results[at];
      other_data += !data;
      same += data && bits;
      if (!data || !bits)
        fmt::print("{} number {}: other {}: {}\n", config.key, number, data ? "bits" : "data", one.text());
    }
    text += to_line(hashes) + "\n";
  }
  if (!written.empty()) {
    std::ofstream file(written);
    file << text;
    if (!file.flush()) give_up("cannot write " + written);
  }
  if (expected.empty()) {
    fmt::print("{} problems of {} kernels ran\n", ran, gemm_configs().size());
    return 0;
  }
  fmt::print("{} of {} problems of {} kernels have the expected bits; {} had other data to begin with\n", same, ran,
             gemm_configs().size(), other_data);
  return same == ran ? 0 : 1;
}

}  // namespace warploom::bench
