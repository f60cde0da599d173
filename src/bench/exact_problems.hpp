// Small problems for every kernel, whose results must have the same bits on a GPU and on the loom with exact numerics.
// warploom-bench --exact-hashes runs them on a GPU, a test runs them on the loom; both write the same lines.
//
//   for (const GemmConfig& config : gemm_configs()) {
//     ExactProblem one(config, number);
//     run_on_loom(one.problem(), one.plan(), {.numerics = loom::Numerics::exact});      // or on a GPU
//     hashes.add(one.inputs_hash(), one.result_hash());
//   }
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warploom/kernels/gemm_data.hpp"

namespace warploom::bench {

inline constexpr int exact_problems_per_kernel = 50;

/// One problem and its data, made from the kernel's key and a number alone: no library of the machine has a say.
class ExactProblem {
 public:
  ExactProblem(const GemmConfig& config, int number);

  const GemmProblem& problem() const { return problem_; }  ///< in host memory
  const GemmPlan& plan() const { return plan_; }
  std::string text() const;  ///< for people

  uint64_t inputs_hash() const { return inputs_hash_; }  ///< of everything that is read, taken when it was made
  uint64_t result_hash() const;                          ///< of D, after a run

 private:
  struct Wide;
  GemmData data_;
  GemmProblem problem_;
  GemmPlan plan_;
  uint64_t inputs_hash_ = 0;
};

/// What one kernel gave: a line of a file.
struct ExactHashes {
  std::string config;
  std::vector<uint64_t> inputs, results;
};
std::string to_line(const ExactHashes& hashes);
Result<ExactHashes> parse_exact_hashes(const std::string& line);

}  // namespace warploom::bench
