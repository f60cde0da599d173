// The memory of one problem on the GPU: operands, scales, bias, C and D, filled, with guarded padding around D.
#pragma once

#include <vector>

#include "bench/device.hpp"
#include "bench/device_kernels.hpp"
#include "warploom/kernels/gemm_problem.hpp"

namespace warploom::bench {

class Operands {
 public:
  /// `shape` has everything but pointers. With `c_is_d` the residual is D itself.
  Operands(const GemmProblem& shape, Fill fill, uint64_t seed, cudaStream_t stream, bool c_is_d = false);

  const GemmProblem& problem() const { return problem_; }
  Fill fill() const { return fill_; }
  /// Every byte of D's memory set, or C copied into it where C is D. Before every launch whose result counts.
  void reset_output(cudaStream_t stream);
  /// Every element of D against a sum in double precision.
  Comparison verify(cudaStream_t stream) const;
  /// The same for another problem over the same memory (operands without their scales, say).
  Comparison verify(const GemmProblem& problem, cudaStream_t stream) const;
  /// Bytes around D that a launch has changed and must not have; after a launch that followed reset_output.
  unsigned long long changed_padding(cudaStream_t stream) const;
  /// Of D's elements.
  uint64_t hash(cudaStream_t stream) const;
  /// Of one row of D.
  uint64_t hash_row(int batch, int row, cudaStream_t stream) const;

  /// All the memory a launch reads or writes.
  size_t bytes() const;

 private:
  GemmProblem problem_;
  Fill fill_;
  bool c_is_d_;
  Buffer a_, b_, d_, c_, bias_, a_scales_, b_scales_;
  Buffer scratch_;
  size_t d_bytes_ = 0;
};

}  // namespace warploom::bench
