// Static persistent scheduling of several matrices, and of tiles whose K blocks several CTAs share: work items are
// numbered cluster tile first, then split, then batch, and each cluster takes every P-th of them.
//
//   SplitTiles<Cluster> tiles({m_tiles, n_tiles, k_blocks, splits, batch, raster});   // the same in every role
//   for (Tile tile : tiles) work(tile.m, tile.n, tile.k_blocks(), tile.split, tile.batch);
#pragma once

#include "warploom/schedule/tile.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// `several`: whether there may be more than one matrix or split.
template <class Cluster, bool several = true>
class SplitTiles {
 public:
  /// Extents in tiles and K blocks.
  struct Extents {
    int m_tiles, n_tiles, k_blocks, splits, batch;
    Raster raster;
  };
  WARPLOOM_FN explicit SplitTiles(const Extents& e) noexcept
      : tiles_{ceil_div(e.m_tiles, Cluster::m), ceil_div(e.n_tiles, Cluster::n), e.raster},
        k_blocks_(e.k_blocks),
        k_per_split_(several && e.splits != 1 ? ceil_div(e.k_blocks, e.splits) : e.k_blocks),
        splits_(several ? e.splits : 1),
        items_(several ? tiles_.count() * e.splits * e.batch : tiles_.count()) {}

  struct End {
    int total;
  };
  class Iterator {
   public:
    WARPLOOM_FN explicit Iterator(const SplitTiles& schedule) noexcept
        : schedule_(schedule),
          index_(static_cast<int>(arch::cluster_index().x)),
          stride_(static_cast<int>(arch::cluster_count().x)) {}
    WARPLOOM_FN Tile operator*() const noexcept { return schedule_.item(index_); }
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

 private:
  WARPLOOM_FN Tile item(int index) const noexcept {
    if constexpr (!several) return tile_of_cta<Cluster>(tiles_, index, k_blocks_);
    const int count = tiles_.count();
    const int rest = items_ == count ? 0 : index / count;  // a division is slow, and mostly there is one matrix
    Tile tile = tile_of_cta<Cluster>(tiles_, index - rest * count, k_blocks_);
    tile.batch = splits_ == 1 ? rest : rest / splits_;
    tile.split = rest - tile.batch * splits_;
    tile.k_begin = tile.split * k_per_split_;
    const int left = k_blocks_ - tile.k_begin;
    tile.k_count = left < 0 ? 0 : left < k_per_split_ ? left : k_per_split_;
    return tile;
  }

  ClusterTiles tiles_;
  int k_blocks_, k_per_split_, splits_, items_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
