// What the measurements need on the GPU besides the contenders: operands, a plain reference, hashes. All of it is
// written for certainty, not for speed, and none of it shares code with the kernels it judges.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "warploom/kernels/gemm_params.hpp"

namespace warploom::bench {

/// Standard normal; or integers so small that every sum of a product is exact in the tensor core's accumulator.
enum class Fill : uint8_t { normal, integers };

/// An operand [rows, k] as GemmProblem describes it.
struct Matrix {
  void* data = nullptr;
  DType type = DType::bf16;
  int64_t stride = 0, batch_stride = 0;
  bool k_major = true;
};

/// Quantisation scales that come with an operand: none, one per 1 x 128 block, one per 128 x 128 block.
enum class ScaleBlocks : uint8_t { none, rows, blocks };

struct OperandFill {
  Matrix matrix = {};
  int rows = 0, k = 0, batch = 1;
  Fill fill = Fill::normal;
  uint64_t seed = 1;
  ScaleBlocks blocks = ScaleBlocks::none;
  float* scales = nullptr;
  int64_t scale_stride = 0;  ///< rows: between K blocks; blocks: between row blocks
};
void fill_operand(const OperandFill& operand, cudaStream_t stream);

/// D = act(alpha A B^T + beta C + bias), all of it known to the GPU.
struct ReferenceProblem {
  int m = 0, n = 0, k = 0, batch = 1;
  Matrix a = {}, b = {}, c = {}, d = {};
  const void* bias = nullptr;
  DType bias_type = DType::f32;
  BiasAlong bias_along = BiasAlong::none;
  float alpha = 1.0f, beta = 0.0f;
  Activation activation = Activation::none;
  Scaling scaling = Scaling::none;
  const float* a_scales = nullptr;
  const float* b_scales = nullptr;
  int64_t a_scale_stride = 0, b_scale_stride = 0;
  bool exact = false;  ///< the result must be the reference, rounded once
};

struct Comparison {
  double worst = 0;  ///< largest error in units of what rounding allows; above 1 is wrong
  unsigned long long wrong = 0;
  int row = -1, column = -1, batch = -1;  ///< of one wrong element
  double got = 0, wanted = 0;
};
/// Compares every element of D with a sum in double precision and its own bound; `result` is device memory, zeroed by
/// the call. It has arithmetic of its own and not GemmData::compare's (docs/oracle.md), which a CPU needs longer for
/// than a benchmark takes: of 8192^3 products an H200 compares all in 2.7 s. `warploom run --on gpu` has GemmData's.
void compare(const ReferenceProblem& problem, Comparison* result, cudaStream_t stream);

/// D = act(D + beta C + bias), in place: the pass that a fused epilogue saves. bf16, rows of n elements, n % 8 == 0.
struct ElementwisePass {
  void* d = nullptr;
  const void* c = nullptr;
  const void* bias = nullptr;  ///< along n, or null
  int64_t m = 0, n = 0;
  float beta = 0;
  Activation activation = Activation::none;
};
void elementwise_pass(const ElementwisePass& pass, cudaStream_t stream);

/// Adds a hash of `rows` rows of `bytes` each, `stride` bytes apart, to *hash. Whoever adds first: the sum is the same.
void add_hash(const void* data, int64_t rows, int64_t bytes, int64_t stride, uint64_t seed, unsigned long long* hash,
              cudaStream_t stream);
/// Adds the number of bytes between the rows, and after the last up to `room`, that are not `value`.
void count_changed_padding(const void* data, int64_t rows, int64_t bytes, int64_t stride, int64_t room, uint8_t value,
                           unsigned long long* count, cudaStream_t stream);

/// Holds back what is enqueued after it until the host says so: what is measured then waits for nothing of the host's.
class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void close(cudaStream_t stream);
  void open();
  bool held() const;  ///< after the stream: it opened because it was told to

 private:
  volatile unsigned* said_ = nullptr;  ///< in host memory: how often open() was called, whether the GPU gave up
  unsigned closed_ = 0;
};

}  // namespace warploom::bench
