// GEMMs made up for tests, demos and benchmarks, or read from files, and the double-precision answer to them.
//
//   GemmData data({.m = 300, .n = 520, .k = 1000, .beta = 1.0f, .fill = Fill::integer});
//   auto outcome = run_on_loom(data.problem(), *plan_gemm(data.problem()));
//   if (const auto found = data.compare(); !found.correct()) puts(found.text().c_str());
#pragma once

#include <cstddef>
#include <vector>

#include "warploom/kernels/fill.hpp"
#include "warploom/kernels/gemm_accuracy.hpp"
#include "warploom/kernels/gemm_problem.hpp"
#include "warploom/kernels/ring.hpp"

namespace warploom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

struct GemmDataSpec {
  int m = 0, n = 0, k = 0, batch = 1;
  DType a = DType::bf16, b = DType::bf16, d = DType::bf16;
  Major a_major = Major::k, b_major = Major::k;
  Scaling scaling = Scaling::none;
  BiasAlong bias = BiasAlong::none;
  DType bias_type = DType::f32;
  Activation activation = Activation::none;
  float alpha = 1.0f, beta = 0.0f;
  Fill fill = Fill::normal;
  uint64_t seed = 1;
  int padding = 0;          ///< 16-byte units after every row and every matrix, beyond what TMA asks for
  bool odd_output = false;  ///< C and D lie off 16 bytes, with rows one element longer than n: TMA cannot touch them
  bool in_place = false;    ///< C is D; not with D in e4m3
  bool shared_a = false;    ///< all matrices of the batch have the same A: batch stride 0
};

/// Dense tensors to take instead of made-up ones, row by row as OperandRef and OutputRef have them, batch outermost;
/// nullptr: make them up. Scales of rows have `*_scales_stride` elements per K block; matrices of scales follow each
/// other.
struct GemmSources {
  const void *a = nullptr, *b = nullptr, *c = nullptr, *bias = nullptr;
  const float *a_scales = nullptr, *b_scales = nullptr;
  int64_t a_scales_stride = 0, b_scales_stride = 0;
};

/// What the bound of an element depends on beyond the problem; unless it is said, the loosest.
struct HowItRan {
  const GemmPlan* plan = nullptr;                   ///< its chip, splits and tile
  loom::Numerics numerics = loom::Numerics::exact;  ///< a chip's own, too
};

/// Bytes at an address that is a multiple of 128.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t bytes) : lines_((bytes + sizeof(Line) - 1) / sizeof(Line)) {}
  std::byte* data() { return lines_.empty() ? nullptr : lines_.front().bytes; }
  const std::byte* data() const { return lines_.empty() ? nullptr : lines_.front().bytes; }
  size_t size() const { return lines_.size() * sizeof(Line); }

 private:
  struct alignas(128) Line {
    std::byte bytes[128];
  };
  std::vector<Line> lines_;
};

/// Owns the tensors of one problem; rows are padded to 16 bytes, so that any m, n and k will do. Padding is NaN.
class GemmData {
 public:
  explicit GemmData(const GemmDataSpec& spec, const GemmSources& sources = {});

  /// D starts out as NaN (as C where it is in place), padding included.
  GemmProblem problem();

  using Accuracy = GemmAccuracy;
  /// Every element of D against double precision and its own bound, and rows, columns and tiles for a common bias.
  Accuracy compare(const HowItRan& how = {}) const;
  /// Whether such a result is right.
  bool acceptable(const Accuracy& accuracy) const { return accuracy.correct(); }

  const GemmDataSpec& spec() const { return spec_; }
  /// Fill::ring: its modulus, for loom::Options::ring; 0 if no ring is small enough for such a problem.
  uint32_t ring() const { return ring_.modulus; }
  /// D without padding, [batch, m, n].
  std::vector<std::byte> dense_d() const;

  class Reference;  ///< src/kernels/gemm_reference.hpp

 private:
  struct Tensor {
    DType type = DType::bf16;
    int64_t inner = 0, outer = 0, stride = 0, batch = 1, batch_stride = 0, offset = 0;  ///< elements
    AlignedBytes bytes = {};
    std::byte* at(int64_t matrix, int64_t line);
    const std::byte* at(int64_t matrix, int64_t line) const;
    int64_t last() const;  ///< one past the last element, offset included
  };

  struct Scales {
    int64_t stride = 0, batch_stride = 0;
    AlignedBytes bytes = {};
    float* of(int64_t matrix) { return reinterpret_cast<float*>(bytes.data()) + matrix * batch_stride; }
    const float* of(int64_t matrix) const {
      return reinterpret_cast<const float*>(bytes.data()) + matrix * batch_stride;
    }
  };

  static Tensor make(DType type, int64_t inner, int64_t outer, int64_t batch, int64_t unit, int64_t padding,
                     int64_t offset);
  static Scales make_scales(int64_t stride, int64_t lines, int64_t matrices, int64_t padding);
  void fill_operand(Tensor& tensor, uint64_t which, const void* source);
  void fill_scaled(Tensor& tensor, Scales& scales, int64_t block_rows, uint64_t which);
  void unquantised_row(uint64_t which, int64_t line, float* values) const;

  const std::vector<float>& values(bool addend) const;
  double diff_unquantised(const Reference& reference) const;
  bool padding_is_untouched() const;

  GemmDataSpec spec_;
  RingData ring_;
  std::vector<float> ring_operands_, ring_addends_;
  int64_t k_blocks_ = 0;
  bool made_up_ = true;
  Tensor a_, b_, c_, d_, bias_;
  Scales a_scales_, b_scales_;
};

#pragma GCC visibility pop
}  // namespace warploom
