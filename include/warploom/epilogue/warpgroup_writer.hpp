// From a warpgroup's accumulators to global memory, in bf16: strips of 64 columns, each through one of the group's two
// shared-memory buffers and a TMA store that overlaps with the next strip and with the next tile.
//
//   WarpgroupWriter<64, 2> writer(&params.d, storage.writer, group);
//   writer.write(sum, row, column);           // every thread of the group
//   writer.finish();                          // before the role ends
#pragma once

#include "warploom/arch/math.hpp"
#include "warploom/arch/matrix.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/arch/tma.hpp"
#include "warploom/pipeline/tile.hpp"
#include "warploom/warp/named.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// `rows` per warpgroup; rows of the output tensor hold a multiple of 8 elements, TMA's 16 bytes.
template <int rows, int groups>
class WarpgroupWriter {
 public:
  static constexpr int strip_columns = 64;
  static constexpr int buffers = 2;
  using Tile = SmemTile<bf16, rows, strip_columns, Swizzle::b128>;

  struct Storage {
    typename Tile::Storage tiles[groups][buffers];
  };

  WARPLOOM_FN WarpgroupWriter(const TensorMap* output, Storage& storage, uint32_t group) noexcept
      : output_(output), storage_(&storage), group_(group) {}

  /// Writes the group's accumulator to the tile that starts at (row, column).
  template <class Accumulator>
  WARPLOOM_FN void write(const Accumulator& sum, int row, int column) noexcept {
    static_assert(Accumulator::rows == rows && Accumulator::columns % strip_columns == 0,
                  "warploom: the accumulator does not fit the writer's strips");
    // Asked once: a warp's index is a shuffle, which compilers do not merge.
    const uint32_t warp_row = 16 * (arch::warp_index() % 4);
    WARPLOOM_UNROLL
    for (int strip = 0; strip < Accumulator::columns / strip_columns; ++strip) {
      if (stores()) arch::bulk_wait_group_read<buffers - 1>();  // this buffer's last store has read it
      sync();
      const Tile tile(storage_->tiles[group_][next_]);
      WARPLOOM_UNROLL
      for (int block = 0; block < Accumulator::blocks; ++block) stage(tile, sum, block, strip, warp_row);
      arch::fence_proxy_async_shared();
      sync();
      if (stores()) {
        arch::tma_store(*output_, tile.address(), {column + strip * strip_columns, row});
        arch::bulk_commit_group();
      }
      next_ = (next_ + 1) % buffers;
    }
  }

  /// Before the role ends: shared memory stays until the stores have read it.
  WARPLOOM_FN void finish() const noexcept {
    if (stores()) arch::bulk_wait_group_read<0>();
  }

 private:
  static constexpr int first_barrier = 2;
  WARPLOOM_FN bool stores() const noexcept { return arch::thread_index() % 128 == 0; }
  WARPLOOM_FN void sync() const noexcept { arch::bar_sync(first_barrier + group_, 128); }

  /// One block of 64 rows: four 8 x 8 tiles at a time, rows 0-7 and 8-15 of sixteen columns. Lane l names row l % 8 of
  /// tile l / 8.
  template <class Accumulator>
  static WARPLOOM_FN void stage(const Tile& tile, const Accumulator& sum, int block, int strip,
                                uint32_t warp_row) noexcept {
    const uint32_t lane = arch::lane_index();
    const uint32_t row = 64 * block + warp_row + 8 * (lane / 8 % 2) + lane % 8;
    WARPLOOM_UNROLL
    for (int unit = 0; unit < strip_columns / 8; unit += 2) {
      const int first = 4 * (strip * strip_columns / 8 + unit);
      uint32_t packed[4];
      WARPLOOM_UNROLL
      for (int i = 0; i < 4; ++i)
        packed[i] = arch::pack_bf16(sum.value(block, first + 2 * i), sum.value(block, first + 2 * i + 1));
      arch::store_matrix<4>(arch::shared_address(tile.unit(row, unit + lane / 16)), packed);
    }
  }

  const TensorMap* output_;
  Storage* storage_;
  uint32_t group_;
  uint32_t next_ = 0;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
