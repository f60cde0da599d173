// Problems made up for tests, demos and benchmarks, and the double-precision answer to them.
#pragma once

#include <cstdint>
#include <vector>

#include "warploom/kernels/blockwise_fp8_problem.hpp"
#include "warploom/kernels/fill.hpp"
#include "warploom/kernels/ring.hpp"

namespace warploom {

/// Owns the tensors of one problem; rows are padded to 16 bytes, so that any m, n and k will do.
class BlockwiseFP8Data {
 public:
  BlockwiseFP8Data(int m, int n, int k, Fill fill, uint64_t seed);

  /// D starts out as NaN, padding included.
  BlockwiseFP8Problem problem(float alpha, float beta);

  struct Accuracy {
    double max_abs_error = 0;         ///< against the product of the dequantised operands, in double
    double max_rel_error = 0;         ///< ... relative to the largest magnitude of the answer
    double diff = 0;                  ///< 1 - 2 sum(xy) / (sum(xx) + sum(yy))
    double diff_unquantised = 0;      ///< the same against the operands before quantisation; 0 for integers
    int64_t rounding_mismatches = 0;  ///< elements that differ from the answer rounded once to bf16
    bool within_rounding = true;      ///< each element within half a bf16 unit, plus what fp32 sums may lose
    bool padding_untouched = true;    ///< nothing was written beyond the last column
    int rows = 0;                     ///< how many were compared
  };
  /// Compares at most `max_rows` rows, spread evenly.
  Accuracy compare(float alpha, float beta, int max_rows = 1 << 30) const;

  /// Fill::ring: its modulus, for loom::Options::ring; 0 if no ring is small enough for such a problem.
  uint32_t ring() const { return ring_.modulus; }

  int m, n, k;
  std::vector<bf16> d;

 private:
  RingData ring_;
  int k_blocks_, k_stride_, n_stride_, m_stride_;
  std::vector<e4m3> a_, b_;
  std::vector<float> a_scales_, b_scales_;
  std::vector<float> a_source_, b_source_;  // before quantisation, unpadded
  std::vector<bf16> c_;
};

}  // namespace warploom
