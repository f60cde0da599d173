// The order of output tiles, the same for the host, which chooses it, and for both machines.
//
//   ClusterTiles tiles{m_clusters, n_clusters, {Raster::Along::m, 8}};
//   auto [m, n] = tiles[index];                          // index = 0 .. tiles.count() - 1, each tile once
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom {

/// The order in which cluster tiles follow each other. They are walked in panels that are `group` cluster tiles wide
/// along one axis, across the panel first: the clusters that run at one time then cover a block of the output that is
/// nearly square, and share more of A and B in L2 than a long stripe would. Odd panels are walked backwards
/// (serpentine), so that a panel begins with the operand tiles that the one before it ended with.
struct Raster {
  enum class Along : uint8_t { m, n };
  Along along = Along::m;
  int group = 0;  ///< 0: a single panel, as wide as the output
};

/// The cluster tiles of an output, numbered in raster order.
struct ClusterTiles {
  int m = 0, n = 0;  ///< extents, in cluster tiles
  Raster raster = {};

  WARPLOOM_CONST_FN int count() const { return m * n; }

  struct At {
    int m, n;
  };
  WARPLOOM_CONST_FN At operator[](int index) const {
    const bool along_m = raster.along == Raster::Along::m;
    if (raster.group == 0) return along_m ? At{index % m, index / m} : At{index / n, index % n};
    const int across = along_m ? m : n;  // the axis that is cut into panels
    const int length = along_m ? n : m;
    const int group = raster.group < across ? raster.group : across;
    const int panel = index / (group * length);
    const int rest = index - panel * group * length;
    const int first = panel * group;
    const int width = first + group <= across ? group : across - first;  // the last panel may be narrower
    const int row = rest / width;
    const int side = first + (rest - row * width);
    const int forth = panel % 2 == 0 ? row : length - 1 - row;
    return along_m ? At{side, forth} : At{forth, side};
  }
};

}  // namespace warploom
