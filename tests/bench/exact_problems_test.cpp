// Every kernel with exact numerics on the loom against what an H200 gave for the same problems
// (tests/data/exact_kernels.jsonl). WARPLOOM_UPDATE_HASHES=1 writes the file anew from the loom, to be compared with
// what `warploom-bench --exact-hashes` writes on a Hopper GPU.
#include "bench/exact_problems.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

namespace warploom::bench {
namespace {

const std::string file_name = WARPLOOM_TEST_DATA "/exact_kernels.jsonl";

std::map<std::string, ExactHashes> recorded() {
  std::map<std::string, ExactHashes> all;
  std::ifstream file(file_name);
  for (std::string line; std::getline(file, line);) {
    const Result<ExactHashes> hashes = parse_exact_hashes(line);
    EXPECT_TRUE(hashes) << hashes.error();
    if (hashes) all[hashes->config] = *hashes;
  }
  return all;
}

/// Runs problem `number` and adds its hashes.
void run(const GemmConfig& config, int number, ExactHashes& hashes) {
  ExactProblem one(config, number);
  ASSERT_NE(one.plan().config, nullptr) << config.key << " " << number << ": no plan for " << one.text();
  const Result<loom::Outcome> outcome = run_on_loom(one.problem(), one.plan(), {.numerics = loom::Numerics::exact});
  ASSERT_TRUE(outcome) << config.key << " " << number << ": " << outcome.error();
  ASSERT_TRUE(outcome->ok()) << to_text(outcome->report);
  hashes.inputs.push_back(one.inputs_hash());
  hashes.results.push_back(one.result_hash());
}

void compare(int first, int step) {
  const std::map<std::string, ExactHashes> all = recorded();
  ASSERT_EQ(all.size(), gemm_configs().size());
  for (const GemmConfig& config : gemm_configs()) {
    const auto& want = all.at(config.key);
    ASSERT_EQ(want.results.size(), static_cast<size_t>(exact_problems_per_kernel));
    if (!built_for_loom(config)) continue;
    for (int number = first; number < exact_problems_per_kernel; number += step) {
      ExactHashes got;
      run(config, number, got);
      if (testing::Test::HasFatalFailure()) return;
      const auto at = static_cast<size_t>(number);
      EXPECT_EQ(got.inputs[0], want.inputs[at]) << config.key << " " << number << ": other data";
      EXPECT_EQ(got.results[0], want.results[at])
          << config.key << " " << number << ": " << ExactProblem(config, number).text();
    }
  }
}

TEST(ExactProblems, SomeOfEveryKernelHaveTheGpusBits) { compare(7, 25); }

TEST(ExactProblemsFull, AllOfEveryKernelHaveTheGpusBits) {
  if (std::getenv("WARPLOOM_UPDATE_HASHES") == nullptr) return compare(0, 1);
  std::string text;
  for (const GemmConfig& config : gemm_configs()) {
    ExactHashes hashes{.config = config.key, .inputs = {}, .results = {}};
    for (int number = 0; number < exact_problems_per_kernel; ++number) run(config, number, hashes);
    text += to_line(hashes) + "\n";
  }
  ASSERT_FALSE(HasFailure());
  std::ofstream(file_name) << text;
}

/// The numbers a kernel is run with meet what its epilogue can do.
TEST(ExactProblems, AreOfEveryKind) {
  std::map<std::string, int> seen;
  for (const GemmConfig& config : gemm_configs())
    for (int number = 0; number < exact_problems_per_kernel; number += 5) {
      const ExactProblem one(config, number);
      const GemmProblem& p = one.problem();
      ++seen[std::string("d ") + name_of(p.d.type)];
      ++seen["activation " + std::to_string(static_cast<int>(p.activation))];
      ++seen["bias " + std::to_string(static_cast<int>(p.bias.along))];
      seen["batch"] += p.batch > 1;
      seen["splits"] += one.plan().splits > 1;
      seen["C"] += p.beta != 0;
      seen["C is D"] += p.beta != 0 && p.c.data == p.d.data;
      seen["tail of k"] += p.k % config.shape.tile_k != 0;
    }
  EXPECT_EQ(seen.size(), 4u + 5 + 3 + 5);
  for (const auto& [what, times] : seen) EXPECT_GE(times, 10) << what;
}

}  // namespace
}  // namespace warploom::bench
