// From registers to global memory: a tile is written in strips of 64 columns, each through one of two shared-memory
// buffers and a TMA store that overlaps with the next strip.
//
// fp32 arithmetic and one rounding: acc -> * alpha -> + beta * C -> bf16.
#pragma once

#include "warploom/arch/global.hpp"
#include "warploom/arch/math.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/arch/tma.hpp"
#include "warploom/pipeline/tile.hpp"
#include "warploom/warp/named.hpp"
#include "warploom/warp/roles.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// The output tensor: as TMA sees it, and plainly, for rows whose end TMA cannot clip exactly.
struct OutputTensor {
  const TensorMap* map;
  bf16* data;
  int64_t row_stride;  ///< elements
  int rows;
  int columns;
};

/// 64 columns of one row of the tile, in registers of one epilogue thread.
template <int columns>
struct Strip {
  float values[columns];

  template <class Accumulator>
  WARPLOOM_FN Strip(const Accumulator& sum, int first, float alpha) noexcept {
    WARPLOOM_UNROLL
    for (int i = 0; i < columns; ++i) values[i] = arch::multiply(alpha, sum[first + i]);
  }
  /// + beta * C, C a tile of bf16 in shared memory
  template <class SourceTile>
  WARPLOOM_FN void add(float beta, const SourceTile& source, uint32_t row) noexcept {
    WARPLOOM_UNROLL
    for (int unit = 0; unit < columns / 8; ++unit) {
      const Unit c = arch::load_shared(reinterpret_cast<const Unit*>(source.unit(row, unit)));
      WARPLOOM_UNROLL
      for (int i = 0; i < 8; ++i) {
        const uint32_t half = i % 2 == 0 ? c.words[i / 2] << 16 : c.words[i / 2] & 0xffff0000u;
        values[8 * unit + i] = arch::fma(beta, arch::as_float(half), values[8 * unit + i]);
      }
    }
  }
};

template <class Tile_>
class TileWriter {
 public:
  using Tile = Tile_;
  static constexpr int buffers = 2;
  using Sync = WarpGroupBarrier<Epilogue::threads, 2>;

  struct Storage {
    typename Tile::Storage tiles[buffers];
  };

  WARPLOOM_FN TileWriter(const OutputTensor& output, Storage& storage) noexcept : output_(output), storage_(&storage) {}

  /// Writes the strip whose first element is (row, column) of the output; called by every epilogue thread.
  WARPLOOM_FN void write(const Strip<Tile::columns>& strip, int row, int column) noexcept {
    const uint32_t tile_row = arch::thread_index() - 32 * Epilogue::first_warp;
    if (stores()) arch::bulk_wait_group_read<buffers - 1>();  // this buffer's last store has read it
    Sync::sync();
    Tile tile(storage_->tiles[next_]);
    WARPLOOM_UNROLL
    for (int unit = 0; unit < Tile::columns / 8; ++unit) {
      Unit packed;
      WARPLOOM_UNROLL
      for (int i = 0; i < 4; ++i)
        packed.words[i] = arch::pack_bf16(strip.values[8 * unit + 2 * i], strip.values[8 * unit + 2 * i + 1]);
      arch::store_shared(reinterpret_cast<Unit*>(tile.unit(tile_row, unit)), packed);
    }
    arch::fence_proxy_async_shared();
    Sync::sync();
    // TMA clips columns in units of 16 bytes: a row that ends inside one would be written beyond its end.
    const bool ragged = output_.columns % 8 != 0 && column + Tile::columns > output_.columns;
    if (ragged) write_plain(tile, row, column);
    if (stores()) {
      if (!ragged) arch::tma_store(*output_.map, tile.address(), {column, row});
      arch::bulk_commit_group();  // also an empty one: groups count buffers
    }
    next_ = (next_ + 1) % buffers;
  }

  /// Before the role ends: shared memory stays until the stores have read it.
  WARPLOOM_FN void finish() const noexcept {
    if (stores()) arch::bulk_wait_group_read<0>();
  }

 private:
  static WARPLOOM_FN bool stores() noexcept { return arch::thread_index() == 32 * Epilogue::first_warp; }

  /// What the output has of a staged tile, element by element, each row by as many threads as it has columns. The
  /// buffer is not written again before every thread has been at a barrier.
  WARPLOOM_FN void write_plain(const Tile& tile, int row, int column) const noexcept {
    const uint32_t thread = arch::thread_index() - 32 * Epilogue::first_warp, of_row = thread % Tile::columns;
    if (column + static_cast<int>(of_row) >= output_.columns) return;
    for (uint32_t i = thread / Tile::columns; i < Tile::rows; i += Epilogue::threads / Tile::columns) {
      const int to = row + static_cast<int>(i);
      if (to >= output_.rows) return;
      const auto* from = reinterpret_cast<const bf16*>(tile.unit(i, of_row / 8)) + of_row % 8;
      arch::store_global(output_.data + to * output_.row_stride + column + of_row, arch::load_shared(from));
    }
  }

  OutputTensor output_;
  Storage* storage_;
  uint32_t next_ = 0;
};

/// f(0), f(1), ... f(count - 1), unrolled, so that register arrays indexed by the argument stay registers.
template <int count, int first = 0, class F>
WARPLOOM_FN void unrolled(F&& f) noexcept {
  if constexpr (first < count) {
    f(first);
    unrolled<count, first + 1>(f);
  }
}

}  // namespace warploom::inline WARPLOOM_MACHINE
