// The work items of several matrices, and of tiles whose K blocks several CTAs share: numbered cluster tile first, then
// split, then batch. Scheduled statically, each cluster takes every P-th of them, from its first on; launch control
// (schedule/clc.hpp) hands out their numbers.
//
//   SplitTiles<Cluster> tiles(p.tiles, p.places, p.by_splits, p.k_blocks, p.splits, p.batch, p.line);  // in all roles
//   for (Tile tile : tiles) work(tile.m, tile.n, tile.k_blocks(), tile.split, tile.batch);
#pragma once

#include "warploom/kernels/gemm_params.hpp"
#include "warploom/schedule/tile.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// Whether there may be several matrices, and several splits of a tile; CTAs of a cluster that share its K blocks; and
/// whether launches of tiles in a line are worth a way of their own.
template <class Cluster, bool batches = true, bool may_split = true, int cluster_k = 1, bool lines = false>
class SplitTiles {
 public:
  /// `tiles` in clusters; `line`: the same once more, in short.
  WARPLOOM_FN SplitTiles(const PreparedTiles& tiles, const ClusterPlaces& places, const Divisor& by_splits,
                         int k_blocks, int splits, int batch, const TileLine& line) noexcept
      : tiles_(tiles),
        places_(places),
        by_splits_(by_splits),
        line_(line),
        k_blocks_(lines ? line.k_blocks : k_blocks),
        splits_(may_split ? splits : 1),
        items_(lines ? line.items : tiles.count() * splits_ * (batches ? batch : 1)) {}

  struct End {
    int total;
  };
  class Iterator {
   public:
    WARPLOOM_FN explicit Iterator(const SplitTiles& schedule) noexcept
        : schedule_(schedule), index_(schedule.first()), stride_(static_cast<int>(arch::cluster_count().x)) {}
    WARPLOOM_FN Tile operator*() const noexcept {
      Tile tile = schedule_[index_];
      tile.last = index_ + stride_ >= schedule_.items_;
      return tile;
    }
    WARPLOOM_FN Iterator& operator++() noexcept {
      index_ += stride_;
      return *this;
    }
    WARPLOOM_FN bool operator!=(End end) const noexcept { return index_ < end.total; }

   private:
    const SplitTiles& schedule_;
    int index_;
    int stride_;
  };
  WARPLOOM_FN Iterator begin() const noexcept { return Iterator(*this); }
  WARPLOOM_FN End end() const noexcept { return {items_}; }

  /// Numbers the CTA tiles of all matrices, splits aside: where partial sums of a tile meet.
  WARPLOOM_FN int64_t number_of(const Tile& tile) const noexcept {
    const int m = tiles_.m * Cluster::m, n = tiles_.n * Cluster::n;
    return (static_cast<int64_t>(tile.batch) * n + tile.n) * m + tile.m;
  }

  /// This CTA's tile of a work item.
  WARPLOOM_FN Tile operator[](int index) const noexcept {
    if constexpr (lines)
      if (line_.straight) return in_line(index);
    int rest = 0;
    if constexpr (batches || may_split) rest = tiles_.by_all.quotient(index);
    const uint32_t rank = arch::cluster_rank();
    const ClusterTiles::At at = tiles_[index - rest * tiles_.count()];
    Tile tile{at.m * Cluster::m + static_cast<int>(Cluster::rank_m(rank)),
              at.n * Cluster::n + static_cast<int>(Cluster::rank_n(rank)), 0, k_blocks_};
    if (!may_split || splits_ == 1) {
      tile.batch = rest;
      if constexpr (cluster_k > 1) take_share(tile, static_cast<int>(rank), (k_blocks_ + cluster_k - 1) / cluster_k);
      return tile;
    }
    tile.batch = by_splits_.quotient(rest);
    take_share(tile, rest - tile.batch * splits_, by_splits_.quotient(k_blocks_ + splits_ - 1));
    return tile;
  }

 private:
  /// The place of this cluster. Kernels whose tiles mostly lie in a line, where no two read the same of the larger
  /// operand, go without ClusterPlaces: they would be read before the first copy.
  WARPLOOM_FN int first() const noexcept {
    const bool single = Cluster::size == 1 && cluster_k == 1;
    const auto cluster = static_cast<int>((single ? arch::block_index() : arch::cluster_index()).x);
    return lines ? cluster : places_[cluster];
  }
  WARPLOOM_FN Tile in_line(int index) const noexcept {
    const uint32_t rank = arch::cluster_rank();
    const int m = line_.along_m ? index : 0, n = line_.along_m ? 0 : index;
    Tile tile{m * Cluster::m + static_cast<int>(Cluster::rank_m(rank)),
              n * Cluster::n + static_cast<int>(Cluster::rank_n(rank)), 0, k_blocks_};
    if constexpr (cluster_k > 1) take_share(tile, static_cast<int>(rank), (k_blocks_ + cluster_k - 1) / cluster_k);
    return tile;
  }
  WARPLOOM_FN void take_share(Tile& tile, int split, int share) const noexcept {
    tile.split = split;
    tile.k_begin = split * share;
    const int left = k_blocks_ - tile.k_begin;
    tile.k_count = left < 0 ? 0 : left < share ? left : share;
  }

  const PreparedTiles& tiles_;
  const ClusterPlaces& places_;
  const Divisor& by_splits_;
  const TileLine& line_;
  int k_blocks_, splits_, items_;
};

/// Such items as a schedule: every role goes through this cluster's share of them.
template <class Items>
class FixedShare {
 public:
  struct Storage {};
  static WARPLOOM_FN void init_barriers(Storage&) noexcept {}

  WARPLOOM_FN FixedShare(Storage&, const Items& items) noexcept : items_(items) {}
  template <class Role>
  WARPLOOM_FN const Items& tiles() const noexcept {
    return items_;
  }

 private:
  Items items_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
