// The order of tiles: each exactly once for any extents, panels that fit into L2, and the plain order unless asked.
#include "warploom/types/raster.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <vector>

namespace warploom::test {
namespace {

using Along = Raster::Along;

TEST(Raster, PreparedIsTheSameOrder) {
  for (int m = 1; m <= 20; ++m)
    for (int n = 1; n <= 20; ++n)
      for (int group = 0; group <= 22; ++group)
        for (const Along along : {Along::m, Along::n}) {
          const ClusterTiles tiles{m, n, {along, group}};
          const PreparedTiles prepared(tiles);
          ASSERT_EQ(prepared.count(), tiles.count());
          for (int i = 0; i < tiles.count(); ++i) {
            const auto at = tiles[i], same = prepared[i];
            ASSERT_TRUE(at.m == same.m && at.n == same.n) << m << "x" << n << " group " << group << " tile " << i;
          }
        }
}

TEST(Divisor, DividesEveryNumber) {
  constexpr int most = 0x7fffffff;
  const auto expect = [](int n, int d) { ASSERT_EQ(Divisor(d).quotient(n), n / d) << n << " / " << d; };
  for (int d = 1; d < 3000; ++d)
    for (int n : {0, 1, d - 1, d, d + 1, 2 * d - 1, 2 * d, 12345, 1000003, most / 2, most / d * d - 1, most - 1, most})
      if (n >= 0) expect(n, d);
  for (int d : {65535, 65536, 65537, 1 << 20, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, most - 1, most})
    for (int n : {0, d - 1, d, most - d, most - 1, most}) expect(n, d);
}

TEST(Raster, EveryTileOnce) {
  for (int m = 1; m <= 20; ++m)
    for (int n = 1; n <= 20; ++n)
      for (int group = 0; group <= 22; ++group)
        for (const Along along : {Along::m, Along::n}) {
          const ClusterTiles tiles{m, n, {along, group}};
          std::vector<int> seen(static_cast<size_t>(m * n));
          for (int i = 0; i < tiles.count(); ++i) {
            const auto at = tiles[i];
            ASSERT_TRUE(at.m >= 0 && at.m < m && at.n >= 0 && at.n < n) << m << "x" << n << " group " << group;
            ++seen[static_cast<size_t>(at.m * n + at.n)];
          }
          ASSERT_EQ(seen, std::vector<int>(seen.size(), 1)) << m << "x" << n << " group " << group;
        }
}

TEST(Raster, DefaultRunsAlongMFirst) {
  const ClusterTiles tiles{5, 7};
  for (int i = 0; i < tiles.count(); ++i) {
    EXPECT_EQ(tiles[i].m, i % 5);
    EXPECT_EQ(tiles[i].n, i / 5);
  }
}

// A panel is crossed first; the next one is walked in the other direction.
TEST(Raster, PanelsAreSerpentine) {
  const ClusterTiles tiles{5, 3, {Along::m, 2}};
  const int expected[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2},  // rows 0 and 1, forwards
                             {2, 2}, {3, 2}, {2, 1}, {3, 1}, {2, 0}, {3, 0},  // rows 2 and 3, backwards
                             {4, 0}, {4, 1}, {4, 2}};                         // what is left
  for (int i = 0; i < tiles.count(); ++i) {
    EXPECT_EQ(tiles[i].m, expected[i][0]) << i;
    EXPECT_EQ(tiles[i].n, expected[i][1]) << i;
  }
}

TEST(Raster, AlongNIsTheMirrorImage) {
  const ClusterTiles along_m{6, 9, {Along::m, 4}}, along_n{9, 6, {Along::n, 4}};
  for (int i = 0; i < along_m.count(); ++i) {
    EXPECT_EQ(along_m[i].m, along_n[i].n);
    EXPECT_EQ(along_m[i].n, along_n[i].m);
  }
}

/// Rows of A and columns of B that `running` clusters read at a time, in tiles; the worst moment of the whole walk.
int footprint(const ClusterTiles& tiles, int running) {
  int worst = 0;
  for (int first = 0; first + running <= tiles.count(); ++first) {
    std::set<int> rows, columns;
    for (int i = first; i < first + running; ++i) {
      rows.insert(tiles[i].m);
      columns.insert(tiles[i].n);
    }
    worst = std::max(worst, static_cast<int>(rows.size() + columns.size()));
  }
  return worst;
}

TEST(Raster, PanelsReadLessAtATime) {
  const int stripe = footprint({64, 64}, 148), panels = footprint({64, 64, {Along::m, 8}}, 148);
  EXPECT_EQ(stripe, 64 + 4);
  EXPECT_LE(panels, 34);
  EXPECT_LE(footprint({64, 64, {Along::n, 16}}, 148), 41);
}

// What a turn keeps: the operand tiles of the panel's end are those of the next one's beginning.
TEST(Raster, TurnsStayInPlace) {
  for (const Along along : {Along::m, Along::n}) {
    const ClusterTiles tiles{30, 17, {along, 4}};
    for (int i = 1; i < tiles.count(); ++i) {
      const int forth =
          along == Along::m ? std::abs(tiles[i].n - tiles[i - 1].n) : std::abs(tiles[i].m - tiles[i - 1].m);
      EXPECT_LE(forth, 1) << i;
    }
  }
}

}  // namespace
}  // namespace warploom::test
