// Operand tiles that lie MN-major in shared memory: 16-bit operands whose rows, not whose K, are contiguous.
//
//   using A = MnTile<bf16, 128, 64>;      // two TMA boxes of 64 lines of 128 bytes
//   sum.mma(A(slot.a), b);                // WarpgroupAccumulator finds its strides in the type
#pragma once

#include "warploom/pipeline/tile.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// An operand tile of 16-bit elements whose rows are contiguous (MN-major), `k` of them: chunks of 64 rows, each one
/// TMA box of k lines of 128 bytes.
template <class T, int rows_, int k>
struct MnTile {
  using Element = T;
  static constexpr int rows = rows_;
  static constexpr int columns = k;
  static constexpr int chunk_rows = 64;
  static constexpr uint32_t row_bytes = k * sizeof(T);  ///< of one row's K extent, which does not lie together
  static constexpr uint32_t chunk_bytes = k * 128;
  static constexpr uint32_t bytes = rows / chunk_rows * chunk_bytes;
  static constexpr Major major = Major::mn;
  static constexpr uint32_t k_step = mma_k_bytes / sizeof(T) * 128;
  static constexpr uint32_t block_step = chunk_bytes;
  static_assert(sizeof(T) == 2 && rows % chunk_rows == 0, "warploom: MN-major tiles hold 16-bit rows in chunks of 64");

  struct alignas(1024) Storage {
    T data[rows * k];
  };

  T* data = nullptr;

  WARPLOOM_FN explicit MnTile(Storage& storage) noexcept : data(storage.data) {}
  WARPLOOM_FN explicit MnTile(T* first) noexcept : data(first) {}
  template <int count>
  WARPLOOM_FN MnTile<T, count, k> part(int first) const noexcept {
    return MnTile<T, count, k>(data + first * k);
  }
  WARPLOOM_FN arch::SharedAddress address() const noexcept { return arch::shared_address(data); }
};

/// MN-major: groups of 8 K lie 8 lines apart, chunks of 64 rows the leading offset.
template <class T, int rows, int k>
WARPLOOM_FN SmemDescriptorFields operand_fields(const MnTile<T, rows, k>& tile) noexcept {
  return {tile.address().value, MnTile<T, rows, k>::chunk_bytes, 1024, 0, Swizzle::b128};
}

}  // namespace warploom::inline WARPLOOM_MACHINE
