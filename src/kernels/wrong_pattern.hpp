// Which elements are wrong, and what that looks like: whole rows, columns or tiles; never written, C's values, another
// element's, or a sum without one K block.
//
//   WrongElements wrong(spec, how);
//   wrong.add(matrix, row, column, unwritten, holds_c);
//   wrong.describe(reference, accuracy);                   // place, cause and a clause in words
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm_reference.hpp"

namespace warploom {

class WrongElements {
 public:
  struct Position {
    int64_t matrix = 0, row = 0, column = 0;
  };

  WrongElements(const GemmDataSpec& spec, const HowItRan& how);
  int64_t tile_rows() const { return tile_rows_; }
  int64_t tile_columns() const { return tile_columns_; }

  void add(const Position& at, bool unwritten, bool holds_source);
  int64_t count() const { return count_; }
  void describe(const GemmData::Reference& reference, GemmAccuracy& accuracy) const;

 private:
  /// Rows, columns or tiles that are mostly wrong, by number through all matrices.
  struct Groups {
    std::vector<int64_t> bad;
    int64_t covered = 0, size = 0;  ///< wrong elements, and all
  };
  template <class Size>
  Groups mostly_wrong(const std::vector<int64_t>& wrong, const Size& size) const;
  int64_t tile_of(const Position& at) const;
  Position first_of_tile(int64_t tile) const;
  int64_t tile_size(int64_t tile) const;
  std::vector<Position> some(size_t most, const Position* in_tile_of) const;

  std::string place(GemmAccuracy& accuracy) const;
  std::string cause(const GemmData::Reference& reference, GemmAccuracy& accuracy) const;
  std::string exchanged(const GemmData::Reference& reference, GemmAccuracy& accuracy) const;
  std::string k_block(const GemmData::Reference& reference, GemmAccuracy& accuracy) const;

  GemmDataSpec spec_;
  int64_t tile_rows_ = 128, tile_columns_ = 128, k_block_ = 0, stages_ = 0;
  int64_t tiles_down_ = 0, tiles_across_ = 0;
  int64_t count_ = 0, unwritten_ = 0, source_ = 0;
  std::vector<int64_t> rows_, columns_, tiles_;
  // All wrong elements; of too many, those whose hash is below a limit, so that it does not matter who came first.
  std::vector<Position> kept_;
  uint64_t limit_ = ~uint64_t{0};
};

}  // namespace warploom
