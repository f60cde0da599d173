// Rows, columns and tiles whose elements are each within their bound and lean to one side together.
//
// r = D - want of right elements is a rounding, at most c = half a unit each and as often up as down, plus a drift of
// at most d that sums may have in common. By Hoeffding's inequality |sum of w r| exceeds sum of |w| d + 8 sqrt(sum of
// (w c)^2) with a probability of 2 e^-32 = 2.6e-14, whatever the weights. Two are looked at: w = want, for a factor,
// and w = 1, for an offset. Only of random data, and of elements whose own sum moves them by two units of D or more:
// roundings of numbers that are alike are alike.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm_bound.hpp"

namespace warploom {

class GroupBias {
 public:
  struct Sums {
    double by_value[3] = {}, by_one[3] = {};  ///< of w r, of |w| d, of (w c)^2
    double squares = 0;                       ///< of want
    int64_t count = 0;
    void add(const Sums& other);
  };
  class Panel;

  /// Of `matrices` with m rows and n columns, and tiles of so many rows and columns.
  GroupBias(int64_t matrices, int64_t m, int64_t n, int64_t tile_rows, int64_t tile_columns);
  void add(int64_t matrix, const Panel& panel);
  /// Counts them, rows first, and names the first.
  void report(GemmAccuracy& accuracy) const;

 private:
  int64_t m_, n_, tile_rows_, tile_columns_, tiles_down_, tiles_across_;
  std::vector<Sums> rows_, columns_, tiles_;
};

/// Those of a panel of one matrix, its rows from `first` and its columns from `left` on.
class GroupBias::Panel {
 public:
  Panel(const GroupBias& all, int64_t rows, int64_t columns, int64_t first, int64_t left);
  /// The element in that row and column of the panel.
  void add(int64_t row, int64_t column, double got, const BoundedElement& element);

 private:
  friend class GroupBias;
  int64_t first_, left_, tile_rows_, tile_columns_, tiles_across_;
  std::vector<Sums> rows_, columns_, tiles_;
};

}  // namespace warploom
