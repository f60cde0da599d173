// cuBLASLt as a contender. The library is opened when it is asked for: the program runs without it.
//
// Our operands are row-major A [m, k], B [n, k], D [m, n]. cuBLASLt thinks in columns: it is told to compute
// D^T [n, m] = B A^T, with our B as its A (transposed) and our A as its B.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/device.hpp"
#include "warploom/kernels/gemm_problem.hpp"

namespace warploom::bench {

/// How FP8 operands are scaled by cuBLASLt: as the problem says, or with one factor for each whole tensor, which costs
/// nothing and is what a blockwise kernel gives up speed against.
enum class LtScales : uint8_t { as_problem, tensor };

class CublasLt {
 public:
  struct Api;
  struct Matmul;

  /// `library`: a file, or "" for the usual names.
  static Result<CublasLt> open(const std::string& library);

  std::string version() const;

  /// A matmul with the `count` algorithms that its heuristics like best, or why there is none. Pointers are those of
  /// the problem; launches may name others.
  Result<std::shared_ptr<const Matmul>> make(const GemmProblem& problem, LtScales scales, int count) const;
  static int algorithms(const Matmul& matmul);
  static std::string describe(const Matmul& matmul, int algorithm);
  static std::string launch(const Matmul& matmul, int algorithm, const GemmProblem& problem, cudaStream_t stream);

 private:
  std::shared_ptr<const Api> api_;
};

}  // namespace warploom::bench
