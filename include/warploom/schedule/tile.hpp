// What a scheduler hands to the roles: an output tile and the K blocks of it that are to be added up.
//
//   for (auto slot : input.produce(tile.k_blocks())) slot.load(a[tile.m], b[tile.n]);   // slot.k() counts from k_begin
#pragma once

#include "warploom/arch/identity.hpp"
#include "warploom/pipeline/stage_range.hpp"
#include "warploom/pipeline/topology.hpp"
#include "warploom/types/raster.hpp"

namespace warploom {

WARPLOOM_CONST_FN int ceil_div(int a, int b) { return (a + b - 1) / b; }

}  // namespace warploom

namespace warploom::inline WARPLOOM_MACHINE {

/// One output tile of this CTA: which rows and columns, in units of tiles, and which K blocks; those are the
/// same for all CTAs of a cluster, which load for each other. An empty range is legal: every loop over it does nothing.
struct Tile {
  int m = 0;
  int n = 0;
  int k_begin = 0;
  int k_count = 0;
  int batch = 0;      ///< where a scheduler knows of several
  int split = 0;      ///< which share of the K blocks this is (kernels/gemm/split_tiles.hpp)
  bool last = false;  ///< this CTA has none after it, where a scheduler knows
  WARPLOOM_CONST_FN KBlocks k_blocks() const { return {k_begin, k_count}; }
};

/// The tiles of this CTA, one in every cluster tile, over all K blocks. Extents are in tiles.
template <class Cluster>
struct CtaTiles : ClusterTiles {
  int k_blocks;
  WARPLOOM_FN CtaTiles(int m_tiles, int n_tiles, int k, Raster order) noexcept
      : ClusterTiles{ceil_div(m_tiles, Cluster::m), ceil_div(n_tiles, Cluster::n), order}, k_blocks(k) {}
  WARPLOOM_FN Tile operator[](int index) const noexcept {
    const uint32_t rank = arch::cluster_rank();
    const ClusterTiles::At at = ClusterTiles::operator[](index);
    return {at.m * Cluster::m + static_cast<int>(Cluster::rank_m(rank)),
            at.n * Cluster::n + static_cast<int>(Cluster::rank_n(rank)), 0, k_blocks};
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
