// Lines of memory that will be read soon: whoever knows them says so, and a long computation in between fetches them,
// a few at a time, when memory has nothing else to do.
//
//   look_ahead.want(first, stride, rows, bytes);     // a TMA load: the next box of these rows
//   look_ahead.fetch(8);                             // between two blocks of a multiplication
#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom::loom {

class LookAhead {
 public:
  /// `rows` rows of `bytes`, `stride` apart; a stride is a multiple of 16, so that rows may begin anywhere in a line.
  void want(const std::byte* first, size_t stride, uint32_t rows, uint32_t bytes) {
    if (end_ - begin_ == most) ++begin_;  // the oldest has most likely been read by now
    wishes_[end_++ % most] = {first, stride, rows, bytes};
  }
  void fetch(uint32_t rows) {
    for (; rows != 0 && begin_ != end_; --rows) {
      Wish& wish = wishes_[begin_ % most];
      for (uint32_t byte = 0; byte < wish.bytes; byte += 64) __builtin_prefetch(wish.row + byte, 0, 2);
      __builtin_prefetch(wish.row + wish.bytes - 1, 0, 2);  // the last line of a row that begins inside one
      wish.row += wish.stride;
      if (--wish.rows == 0) ++begin_;
    }
    ++computations;
  }

  uint64_t computations = 0;  ///< calls of `fetch`

 private:
  struct Wish {
    const std::byte* row = nullptr;
    size_t stride = 0;
    uint32_t rows = 0, bytes = 0;
  };
  static constexpr uint32_t most = 64;
  Wish wishes_[most];
  uint32_t begin_ = 0, end_ = 0;
};

/// A worker's own.
inline thread_local constinit LookAhead look_ahead;

}  // namespace warploom::loom
