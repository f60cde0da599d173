// stmatrix and ldmatrix: which register lies where.
#include "loom/probe_kernel.hpp"

namespace warploom::loom {
namespace {

using namespace probe;

struct Storage {
  alignas(16) uint16_t tiles[4][8][8];
};

struct Params {
  bool buggy;
  uint16_t* out;
};

/// Lane t holds elements (t/4, 2*(t%4)) and the next of every tile; the value of (i, j) of tile k is 100 k + 10 i + j.
template <int tiles, bool transposed>
void check() {
  std::array<uint16_t, 4 * 64> out{};
  const Launch launch{.tensors = {{out.data(), sizeof(out), Access::write, "out"}}};
  const auto kernel = [](const Params& p) {
    auto& s = shared<Storage>();
    const uint32_t lane = lane_index();
    uint32_t registers[tiles];
    for (uint32_t k = 0; k < tiles; ++k) {
      const uint32_t first = 100 * k + 10 * (lane / 4) + 2 * (lane % 4);
      registers[k] = first | (first + 1) << 16;
    }
    const uint32_t row = lane % (8 * tiles);  // lanes past the last row name any address
    store_matrix<tiles, transposed>(address(s.tiles[row / 8][row % 8]), registers);
    syncwarp();
    for (uint32_t i = lane; i < tiles * 64; i += 32)
      store_global(p.out + i, load_shared(&s.tiles[i / 64][i / 8 % 8][i % 8]));
    syncwarp();
  };
  for (const Schedule& schedule : schedules()) {
    out = {};
    expect_clean(run(launch, kernel, Params{false, out.data()}, with(schedule)));
    for (uint32_t k = 0; k < tiles; ++k)
      for (uint32_t i = 0; i < 8; ++i)
        for (uint32_t j = 0; j < 8; ++j)
          EXPECT_EQ(out[64 * k + 8 * i + j], transposed ? 100 * k + 10 * j + i : 100 * k + 10 * i + j);
  }
}

TEST(Stmatrix, OneTile) { check<1, false>(); }
TEST(Stmatrix, TwoTiles) { check<2, false>(); }
TEST(Stmatrix, FourTiles) { check<4, false>(); }
TEST(Stmatrix, OneTileTransposed) { check<1, true>(); }
TEST(Stmatrix, TwoTilesTransposed) { check<2, true>(); }
TEST(Stmatrix, FourTilesTransposed) { check<4, true>(); }

/// Element (i, j) of tile k lies as 100 k + 10 i + j; `out` is what lane t got of it in both halves.
template <int tiles, bool transposed>
void check_load() {
  std::array<uint32_t, 4 * 32> out{};
  const Launch launch{.tensors = {{out.data(), sizeof(out), Access::write, "out"}}};
  struct LoadParams {
    uint32_t* out;
  };
  const auto kernel = [](const LoadParams& p) {
    auto& s = shared<Storage>();
    const uint32_t lane = lane_index();
    for (uint32_t i = lane; i < tiles * 64; i += 32)
      store_shared(&s.tiles[i / 64][i / 8 % 8][i % 8],
                   static_cast<uint16_t>(100 * (i / 64) + 10 * (i / 8 % 8) + i % 8));
    syncwarp();
    const uint32_t row = lane % (8 * tiles);  // lanes past the last row name any address
    uint32_t registers[tiles];
    load_matrix<tiles, transposed>(address(s.tiles[row / 8][row % 8]), registers);
    for (uint32_t k = 0; k < tiles; ++k) store_global(p.out + 32 * k + lane, registers[k]);
    syncwarp();
  };
  for (const Schedule& schedule : schedules()) {
    out.fill(0xcccccccc);
    expect_clean(run(launch, kernel, LoadParams{out.data()}, with(schedule)));
    for (uint32_t k = 0; k < tiles; ++k)
      for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t i = lane / 4, j = 2 * (lane % 4);
        const uint32_t first = 100 * k + (transposed ? 10 * j + i : 10 * i + j);
        EXPECT_EQ(out[32 * k + lane], first | (first + (transposed ? 10 : 1)) << 16) << k << " " << lane;
      }
  }
}

TEST(Ldmatrix, OneTile) { check_load<1, false>(); }
TEST(Ldmatrix, TwoTiles) { check_load<2, false>(); }
TEST(Ldmatrix, FourTiles) { check_load<4, false>(); }
TEST(Ldmatrix, OneTileTransposed) { check_load<1, true>(); }
TEST(Ldmatrix, TwoTilesTransposed) { check_load<2, true>(); }
TEST(Ldmatrix, FourTilesTransposed) { check_load<4, true>(); }

TEST(Ldmatrix, MisalignedRow) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         uint32_t registers[2];
         const SharedAddress row = address(s.tiles[lane_index() / 8 % 2][lane_index() % 8]);
         OFFENDING(load_matrix<2>(row + (buggy && lane_index() == 13 ? 4 : 0), registers));
         syncwarp();
       },
       {"OOB-SHARED", {"row 5 of ldmatrix tile 1", "16-byte aligned"}});
}

TEST(Stmatrix, MisalignedRow) {
  rule({},
       [](bool buggy) {
         auto& s = shared<Storage>();
         const uint32_t registers[1] = {0};
         const SharedAddress row = address(s.tiles[0][lane_index() % 8]);
         OFFENDING(store_matrix<1>(row + (buggy && lane_index() == 3 ? 8 : 0), registers));
         syncwarp();
       },
       {"OOB-SHARED", {"row 3 of stmatrix tile 0", "16-byte aligned"}});
}

TEST(Stmatrix, RowOutsideSharedMemory) {
  rule({.shared_bytes = sizeof(Storage)},
       [](bool buggy) {
         auto& s = shared<Storage>();
         const uint32_t registers[4] = {};
         const SharedAddress row = address(s.tiles[lane_index() / 8][lane_index() % 8]);
         OFFENDING(store_matrix<4>(row + (buggy ? 16 : 0), registers));
         syncwarp();
       },
       {"OOB-SHARED", {"row 7 of stmatrix tile 3", "0x00000600"}});
}

TEST(Stmatrix, RowOfAnotherCta) {
  rule({.grid = {2}, .cluster = {2}},
       [](bool buggy) {
         auto& s = shared<Storage>();
         const uint32_t registers[1] = {0};
         const SharedAddress row = address(s.tiles[0][lane_index() % 8]);
         OFFENDING(store_matrix<1>(buggy ? map_to_rank(row, cluster_rank() ^ 1) : row, registers));
         cluster_sync();
       },
       {"OOB-SHARED", {"of this CTA's shared memory"}});
}

}  // namespace
}  // namespace warploom::loom
