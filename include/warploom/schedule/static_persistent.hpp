// Static persistent scheduling: each cluster takes every P-th cluster tile, P being the number of clusters launched.
// Tiles run along M first.
//
//   StaticPersistent<Cluster> tiles(m_tiles, n_tiles, k_blocks);      // the same in every role
//   for (Tile tile : tiles) work(tile.m, tile.n, tile.k_blocks());
#pragma once

#include "warploom/arch/identity.hpp"
#include "warploom/pipeline/topology.hpp"

namespace warploom {

WARPLOOM_CONST_FN int ceil_div(int a, int b) { return (a + b - 1) / b; }

}  // namespace warploom

namespace warploom::inline WARPLOOM_MACHINE {

/// One output tile of this CTA: which rows and columns, in units of tiles, and how many K blocks.
struct Tile {
  int m = 0;
  int n = 0;
  int k_count = 0;
  WARPLOOM_CONST_FN int k_blocks() const { return k_count; }
};

template <class Cluster>
class StaticPersistent {
 public:
  /// Extents in tiles. Border clusters may hold tiles that lie outside; they run all the same, and TMA clips them.
  WARPLOOM_FN StaticPersistent(int m_tiles, int n_tiles, int k_blocks) noexcept
      : m_clusters_(ceil_div(m_tiles, Cluster::m)),
        total_(m_clusters_ * ceil_div(n_tiles, Cluster::n)),
        k_blocks_(k_blocks) {}

  struct End {
    int total;
  };
  class Iterator {
   public:
    WARPLOOM_FN explicit Iterator(const StaticPersistent& schedule) noexcept
        : schedule_(schedule),
          index_(static_cast<int>(arch::cluster_index().x)),
          stride_(static_cast<int>(arch::cluster_count().x)) {}
    WARPLOOM_FN Tile operator*() const noexcept {
      const uint32_t rank = arch::cluster_rank();
      return {index_ % schedule_.m_clusters_ * Cluster::m + static_cast<int>(Cluster::rank_m(rank)),
              index_ / schedule_.m_clusters_ * Cluster::n + static_cast<int>(Cluster::rank_n(rank)),
              schedule_.k_blocks_};
    }
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
  WARPLOOM_FN End end() const noexcept { return {total_}; }

 private:
  int m_clusters_;
  int total_;
  int k_blocks_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
