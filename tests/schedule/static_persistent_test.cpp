// Static persistent scheduling on the loom: every tile goes to exactly one CTA, whatever the extents, the cluster, the
// number of clusters launched and the raster.
#include "warploom/schedule/static_persistent.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "warploom/arch/global.hpp"
#include "warploom/loom/launch.hpp"

namespace warploom::test {
namespace {

struct Params {
  int m_tiles, n_tiles;
  Raster raster;
  int columns;
  uint32_t* times;
};

template <class Cluster>
void entry(const void* params) {
  const Params& p = *static_cast<const Params*>(params);
  if (arch::thread_index() != 0) return;
  for (Tile tile : StaticPersistent<Cluster>(p.m_tiles, p.n_tiles, 3, p.raster)) {
    uint32_t* at = p.times + tile.m * p.columns + tile.n;
    // Blocks 0, 1, 2, or the count is off.
    if (tile.k_begin == 0 && tile.k_count == 3) arch::store_global(at, arch::load_global(at) + 1);
  }
}

template <class Cluster>
void expect_every_tile_once(int m_tiles, int n_tiles, uint32_t clusters, Raster raster) {
  const int rows = ceil_div(m_tiles, Cluster::m) * Cluster::m, columns = ceil_div(n_tiles, Cluster::n) * Cluster::n;
  std::vector<uint32_t> times(static_cast<size_t>(rows * columns));
  const loom::TensorRef tensors[] = {{times.data(), 4 * times.size(), loom::Access::write, "times"}};
  const loom::LaunchConfig config{
      .kernel = "tiles", .grid = {clusters * Cluster::m, Cluster::n, 1}, .cluster = {Cluster::m, Cluster::n, 1}};
  const Params params{m_tiles, n_tiles, raster, columns, times.data()};
  loom::Options options;
  options.workers = 1;
  const loom::Outcome outcome = loom::launch(config, &entry<Cluster>, &params, tensors, options);
  ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
  ASSERT_EQ(times, std::vector<uint32_t>(times.size(), 1))
      << fmt::format("{}x{} tiles, cluster {}x{}, {} clusters, group {}", m_tiles, n_tiles, Cluster::m, Cluster::n,
                     clusters, raster.group);
}

template <class Cluster>
void expect_for_many_extents() {
  for (const auto& [m, n] : {std::pair{1, 1}, {1, 9}, {7, 1}, {3, 5}, {8, 8}, {13, 6}})
    for (const uint32_t clusters : {1u, 3u, 8u})
      for (const int group : {0, 1, 2, 3, 8})
        for (const auto along : {Raster::Along::m, Raster::Along::n})
          expect_every_tile_once<Cluster>(m, n, clusters, {along, group});
}

TEST(StaticPersistent, EveryTileOnce1x1) { expect_for_many_extents<ClusterShape<1, 1, 1>>(); }
TEST(StaticPersistent, EveryTileOnce2x1) { expect_for_many_extents<ClusterShape<2, 2, 1>>(); }
TEST(StaticPersistent, EveryTileOnce2x2) { expect_for_many_extents<ClusterShape<1, 2, 2>>(); }
TEST(StaticPersistent, EveryTileOnce4x1) { expect_for_many_extents<ClusterShape<2, 4, 1>>(); }

}  // namespace
}  // namespace warploom::test
