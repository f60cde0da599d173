// The order of output tiles, the same for the host, which chooses it, and for both machines.
//
//   ClusterTiles tiles{m_clusters, n_clusters, {Raster::Along::m, 8}};
//   auto [m, n] = tiles[index];                          // index = 0 .. tiles.count() - 1, each tile once
#pragma once

#include "warploom/types/divisor.hpp"

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

/// The same order, prepared by the host: no division is left.
struct PreparedTiles {
  int m = 0, n = 0;
  int across = 0, length = 0, group = 0;
  bool along_m = true;
  Divisor by_all, by_panel, by_width, by_last_width;

  constexpr PreparedTiles() = default;
  explicit constexpr PreparedTiles(const ClusterTiles& tiles)
      : m(tiles.m),
        n(tiles.n),
        across(tiles.raster.along == Raster::Along::m ? tiles.m : tiles.n),
        length(tiles.raster.along == Raster::Along::m ? tiles.n : tiles.m),
        group(tiles.raster.group == 0 || tiles.raster.group > across ? across : tiles.raster.group),
        along_m(tiles.raster.along == Raster::Along::m),
        by_all(tiles.count()),
        by_panel(group * length),
        by_width(group),
        by_last_width(group == 0            ? 1
                      : across % group == 0 ? group
                                            : across % group) {}

  WARPLOOM_CONST_FN int count() const { return m * n; }
  WARPLOOM_CONST_FN ClusterTiles::At operator[](int index) const {
    const int panel = by_panel.quotient(index);
    const int rest = index - panel * group * length;
    const int first = panel * group;
    const bool last = first + group > across;
    const int width = last ? across - first : group;
    const int row = last ? by_last_width.quotient(rest) : by_width.quotient(rest);
    const int side = first + (rest - row * width);
    const int forth = panel % 2 == 0 ? row : length - 1 - row;
    return along_m ? ClusterTiles::At{side, forth} : ClusterTiles::At{forth, side};
  }
};

}  // namespace warploom
