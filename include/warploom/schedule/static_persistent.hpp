// Static persistent scheduling: each cluster takes every P-th cluster tile, P being the number of clusters launched.
// Tiles run along M first unless the raster says otherwise.
//
//   StaticPersistent<Cluster> tiles(m_tiles, n_tiles, k_blocks);      // the same in every role
//   for (Tile tile : tiles) work(tile.m, tile.n, tile.k_blocks());
#pragma once

#include "warploom/schedule/tile.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

template <class Cluster>
class StaticPersistent {
 public:
  /// Every cluster has its fixed share: as many are launched as fit on the chip, and all of them run.
  static constexpr bool uses_launch_control = false;

  /// Nothing is shared: every thread knows its tiles.
  struct Storage {};
  static WARPLOOM_FN void init_barriers(Storage&) noexcept {}

  /// Extents in tiles. Border clusters may hold tiles that lie outside; they run all the same, and TMA clips them.
  WARPLOOM_FN StaticPersistent(int m_tiles, int n_tiles, int k_blocks, Raster raster = {}) noexcept
      : tiles_(m_tiles, n_tiles, k_blocks, raster) {}
  WARPLOOM_FN StaticPersistent(Storage&, int m_tiles, int n_tiles, int k_blocks, Raster raster = {}) noexcept
      : StaticPersistent(m_tiles, n_tiles, k_blocks, raster) {}

  struct End {
    int total;
  };
  class Iterator {
   public:
    WARPLOOM_FN explicit Iterator(const StaticPersistent& schedule) noexcept
        : schedule_(schedule),
          index_(static_cast<int>(arch::cluster_index().x)),
          stride_(static_cast<int>(arch::cluster_count().x)) {}
    WARPLOOM_FN Tile operator*() const noexcept { return schedule_.tiles_[index_]; }
    WARPLOOM_FN Iterator& operator++() noexcept {
      index_ += stride_;
      return *this;
    }
    WARPLOOM_FN bool operator!=(End end) const noexcept { return index_ < end.total; }

   private:
    const StaticPersistent& schedule_;
    int index_;
    int stride_;
  };
  WARPLOOM_FN Iterator begin() const noexcept { return Iterator(*this); }
  WARPLOOM_FN End end() const noexcept { return {tiles_.count()}; }

  /// The tiles as a role sees them: all roles see the same.
  template <class Role>
  WARPLOOM_FN const StaticPersistent& tiles() const noexcept {
    return *this;
  }

 private:
  CtaTiles<Cluster> tiles_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
