// Where the tensors of a GEMM lie, and what TMA demands of that: 16-byte units for operands and scales, nothing but the
// element's own alignment for C, D and bias.
#pragma once

#include "plan/overlap.hpp"
#include "warploom/kernels/gemm_problem.hpp"

namespace warploom {

inline int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

/// A tensor of up to three dimensions, innermost contiguous.
struct Layout {
  const char* name;
  const char* lines;  ///< what `stride` lies between
  const void* data;
  DType type;
  int64_t inner, outer;  ///< extents
  int64_t stride;
  int batch;
  int64_t batch_stride;
  uint32_t alignment;  ///< of the address
  int64_t unit;        ///< of the strides, in elements
};

/// What may be wrong with a layout; each has its own cure.
enum class Fault { none, missing, alignment, short_stride, stride, batch_stride, span };
struct LayoutFault {
  Fault fault = Fault::none;
  std::string sentence = {};
};

/// The first thing that is wrong, and its sentence.
LayoutFault fault_of(const Layout& layout);
int64_t least_stride(const Layout& layout);
int64_t least_batch_stride(const Layout& layout);
/// What it lies on. The layout has no fault.
StridedBytes bytes_of(const Layout& layout);

Layout layout_of_a(const GemmProblem& problem);
Layout layout_of_b(const GemmProblem& problem);
Layout layout_of_c(const GemmProblem& problem);
Layout layout_of_d(const GemmProblem& problem);
Layout layout_of_bias(const GemmProblem& problem);
Layout layout_of_a_scales(const GemmProblem& problem);
Layout layout_of_b_scales(const GemmProblem& problem);

}  // namespace warploom
