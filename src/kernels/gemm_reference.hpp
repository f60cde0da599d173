// The answer to a GemmData's problem in double precision, by panels of rows and columns and by single elements.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm_bound.hpp"
#include "kernels/reference_product.hpp"
#include "warploom/kernels/gemm_data.hpp"

namespace warploom {

class GemmData::Reference {
 public:
  Reference(const GemmData& data, const HowItRan& how);

  const GemmBound& bound() const { return bound_; }
  /// A row of A (stream_a) or of B (stream_b), which is a column of the product. `unquantised`: as it was before it was
  /// quantised.
  void pack(PackedLines& to, int64_t at, uint64_t which, int64_t matrix, int64_t line, bool unquantised) const;

  /// With C and bias as they are there.
  BoundedElement element(const BoundedSum& sum, int64_t matrix, int64_t row, int64_t column) const;
  /// From the operands, for single elements.
  BoundedSum sum(int64_t matrix, int64_t row, int64_t column) const;
  /// Its sum in parts of `k_block` elements of k each.
  std::vector<double> parts(int64_t matrix, int64_t row, int64_t column, int64_t k_block) const;

  /// Whether D may hold these bits there.
  bool right(const BoundedElement& element, uint32_t bits) const;
  uint32_t bits_of_d(int64_t matrix, int64_t row, int64_t column) const;
  /// ... and whether they are C's, where there is a C of that type.
  bool holds_source(int64_t matrix, int64_t row, int64_t column) const;
  bool in_ring() const { return ring_; }

 private:
  /// The largest magnitude of its scale factors (LineNorms).
  double decode(uint64_t which, int64_t matrix, int64_t line, double* values) const;

  const GemmData& data_;
  bool ring_;
  GemmBound bound_;
};

}  // namespace warploom
