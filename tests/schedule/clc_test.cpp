// Dynamic scheduling by launch control: every role of every CTA sees the tiles of its cluster, each tile of the output
// exactly once, under any schedule and although the machine may refuse; arrive counts follow from the list of roles.
#include "warploom/schedule/clc.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "warploom/arch/cluster.hpp"
#include "warploom/arch/global.hpp"
#include "warploom/kernels/gemm_data.hpp"
#include "warploom/loom/launch.hpp"

namespace warploom::test {
namespace {

// ---- the protocol alone: roles that do nothing but note which tiles they saw

struct Params {
  int m_tiles, n_tiles;
  Raster raster;
  int columns, size;  ///< of one role's table
  uint32_t* seen;     ///< [load, mma, epilogue-load, epilogue warps 0 to 3][m][n]
};

template <class Cluster_, int stages>
struct NoteTiles {
  using Cluster = Cluster_;
  using Schedule = ClcScheduler<Cluster, stages>;
  static constexpr uint32_t threads = threads_of<Epilogue, Load, Mma, EpilogueLoad, Scheduler>;
  struct Storage {
    typename Schedule::Storage schedule;
  };

  static void run(const void* params) {
    const Params& p = *static_cast<const Params*>(params);
    Storage& storage = arch::shared<Storage>();
    const uint32_t warp = arch::warp_index();
    if (warp == 0 && arch::elect_one()) {
      Schedule::init_barriers(storage.schedule);
      arch::fence_mbarrier_init();
    }
    arch::cluster_sync();
    const Schedule schedule(storage.schedule, p.m_tiles, p.n_tiles, 1, p.raster);
    if (warp < Epilogue::warps) {
      for (Tile tile : schedule.template tiles<Epilogue>())
        if (arch::lane_index() == 7) note(p, 3 + warp, tile);
    } else if (warp == Load::first_warp) {
      if (arch::elect_one())
        for (Tile tile : schedule.template tiles<Load>()) note(p, 0, tile);
    } else if (warp == Mma::first_warp) {
      if (arch::elect_one() && Cluster::leads(arch::cluster_rank()))
        for (Tile tile : schedule.template tiles<Mma>()) note(p, 1, tile);
    } else if (warp == EpilogueLoad::first_warp) {
      if (arch::elect_one())
        for (Tile tile : schedule.template tiles<EpilogueLoad>()) note(p, 2, tile);
    } else {
      schedule.run();
    }
    arch::syncwarp();
    arch::cluster_sync();
  }

 private:
  static WARPLOOM_FN void note(const Params& p, uint32_t role, Tile tile) {
    uint32_t* at = p.seen + role * static_cast<uint32_t>(p.size) + tile.m * p.columns + tile.n;
    arch::store_global(at, arch::load_global(at) + 1);
  }
};

template <class Kernel>
loom::Outcome note_tiles(int m_tiles, int n_tiles, Raster raster, const loom::Options& options, bool in_a_row = false) {
  using Cluster = typename Kernel::Cluster;
  const int rows = ceil_div(m_tiles, Cluster::m) * Cluster::m, columns = ceil_div(n_tiles, Cluster::n) * Cluster::n;
  const int size = rows * columns;
  std::vector<uint32_t> seen(static_cast<size_t>(7 * size));
  const loom::TensorRef tensors[] = {{seen.data(), 4 * seen.size(), loom::Access::write, "seen"}};
  const uint32_t columns_of_grid = in_a_row ? 1 : Cluster::n;
  const loom::LaunchConfig config{.kernel = "note-tiles",
                                  .grid = {static_cast<uint32_t>(size) / columns_of_grid, columns_of_grid, 1},
                                  .cluster = {Cluster::size / columns_of_grid, columns_of_grid, 1},
                                  .threads = Kernel::threads,
                                  .shared_bytes = sizeof(typename Kernel::Storage),
                                  .launch_control = true};
  const Params params{m_tiles, n_tiles, raster, columns, size, seen.data()};
  loom::Outcome outcome = loom::launch(config, &Kernel::run, &params, tensors, options);
  if (!outcome.ok()) return outcome;
  for (int role = 0; role < 7; ++role)
    for (int m = 0; m < rows; ++m)
      for (int n = 0; n < columns; ++n)
        EXPECT_EQ(seen[static_cast<size_t>(role * size + m * columns + n)],
                  role == 1 && m % Cluster::cta_group != 0 ? 0u : 1u)
            << fmt::format("role {} tile {},{} {}", role, m, n, options.schedule.text());
  return outcome;
}

/// Every policy, seeded and not, each CTA held back, and so many random schedules.
std::vector<loom::Schedule> schedules(int random, int ctas) {
  using loom::Policy;
  std::vector<loom::Schedule> list{{Policy::eager},    {Policy::lazy},    {Policy::adversarial},
                                   {Policy::eager, 3}, {Policy::lazy, 5}, {Policy::adversarial, 9}};
  for (int cta = 0; ctas > 1 && cta < ctas; ++cta)
    for (const Policy policy : {Policy::eager, Policy::lazy, Policy::adversarial}) list.push_back({policy, 0, cta});
  for (int i = 1; i <= random; ++i)
    list.push_back({Policy::random, static_cast<uint64_t>(i), ctas > 1 && i % 4 == 0 ? i / 4 % ctas : -1});
  return list;
}

template <class Kernel>
void expect_every_tile_once(int m_tiles, int n_tiles, int random) {
  uint32_t canceled = 0;
  for (const loom::Schedule& schedule : schedules(random, Kernel::Cluster::size)) {
    loom::Options options;
    options.schedule = schedule;
    options.processors = 2;
    const Raster raster{schedule.seed % 2 == 0 ? Raster::Along::m : Raster::Along::n,
                        static_cast<int>(schedule.seed % 4)};
    const loom::Outcome outcome = note_tiles<Kernel>(m_tiles, n_tiles, raster, options);
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    ASSERT_FALSE(testing::Test::HasFailure());
    canceled += outcome.canceled;
  }
  EXPECT_GT(canceled, 0u);
}

TEST(ClcScheduler, EveryTileOnce1x1) { expect_every_tile_once<NoteTiles<ClusterShape<1, 1, 1>, 2>>(4, 3, 48); }
TEST(ClcScheduler, EveryTileOncePair) { expect_every_tile_once<NoteTiles<ClusterShape<2, 2, 1>, 2>>(5, 3, 48); }
TEST(ClcScheduler, EveryTileOnce2x2) { expect_every_tile_once<NoteTiles<ClusterShape<2, 2, 2>, 2>>(4, 5, 48); }
TEST(ClcScheduler, EveryTileOnceOneStage) { expect_every_tile_once<NoteTiles<ClusterShape<2, 2, 1>, 1>>(8, 2, 60); }
TEST(ClcScheduler, EveryTileOnceThreeStages) { expect_every_tile_once<NoteTiles<ClusterShape<1, 2, 1>, 3>>(8, 3, 60); }
TEST(ClcSchedulerFull, TenThousand1x1) { expect_every_tile_once<NoteTiles<ClusterShape<1, 1, 1>, 2>>(4, 3, 10'000); }
TEST(ClcSchedulerFull, TenThousandPair) { expect_every_tile_once<NoteTiles<ClusterShape<2, 2, 1>, 2>>(5, 3, 10'000); }
TEST(ClcSchedulerFull, TenThousand2x2) { expect_every_tile_once<NoteTiles<ClusterShape<2, 2, 2>, 2>>(4, 5, 10'000); }

TEST(ClcScheduler, SingleCluster) {
  const loom::Outcome outcome = note_tiles<NoteTiles<ClusterShape<2, 2, 1>, 2>>(1, 1, {}, {});
  EXPECT_TRUE(outcome.ok()) << to_text(outcome.report);
  EXPECT_EQ(outcome.canceled, 0u);
}

// The scheduler counts clusters, so that their CTAs may also stand in one row of the grid.
TEST(ClcScheduler, ClusterInARow) {
  for (const loom::Schedule& schedule : schedules(60, 4)) {
    loom::Options options;
    options.schedule = schedule;
    options.processors = 2;
    const loom::Outcome outcome = note_tiles<NoteTiles<ClusterShape<2, 2, 2>, 2>>(6, 5, {}, options, true);
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

// Without chance nobody is refused, and a request is made for every tile that is started.
TEST(ClcScheduler, AProcessorTakesAllOfItsQueue) {
  loom::Options options;
  options.processors = 3;
  const loom::Outcome outcome = note_tiles<NoteTiles<ClusterShape<1, 1, 1>, 2>>(5, 4, {}, options);
  ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
  EXPECT_EQ(outcome.canceled, 17u);
}

TEST(ClcScheduler, WorkersChangeNothing) {
  for (const char* text : {"eager", "lazy", "random:5", "random:8", "adversarial"}) {
    uint64_t steps = 0;
    uint32_t canceled = 0;
    for (const unsigned workers : {1u, 2u, 3u}) {
      loom::Options options;
      options.schedule = *loom::Schedule::parse(text);
      options.workers = workers;
      const loom::Outcome outcome = note_tiles<NoteTiles<ClusterShape<2, 2, 1>, 2>>(16, 3, {}, options);
      ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
      if (workers == 1) steps = outcome.steps, canceled = outcome.canceled;
      EXPECT_EQ(outcome.steps, steps) << text;
      EXPECT_EQ(outcome.canceled, canceled) << text;
    }
  }
}

// ---- counts: per CTA one lane of load, epilogue-load and each of four epilogue warps; of mma in leaders only

static_assert(ClcScheduler<ClusterShape<1, 1, 1>>::empty_count == 7);
static_assert(ClcScheduler<ClusterShape<2, 2, 1>>::empty_count == 2 + 1 + 2 + 8);
static_assert(ClcScheduler<ClusterShape<1, 2, 1>>::empty_count == 2 + 2 + 2 + 8);
static_assert(ClcScheduler<ClusterShape<2, 2, 2>>::empty_count == 4 + 2 + 4 + 16);
static_assert(ClcScheduler<ClusterShape<2, 4, 2>, 3>::empty_count == 8 + 4 + 8 + 32);
static_assert(ClcScheduler<ClusterShape<2, 2, 1>, 2,
                           freed_by<one_thread<Load, to_first>, lane_per_warp<Epilogue, to_first>>>::empty_count == 10);
static_assert(ClcScheduler<ClusterShape<2, 2, 1>>::full_count == 1);

// ---- the kernel that uses it

/// C is D, so that a tile computed twice, or by two clusters, would be added twice.
void expect_gemm(const char* key, int m, int n, int k, const std::vector<loom::Schedule>& list) {
  const Result<const GemmConfig*> config = find_gemm_config(key);
  ASSERT_TRUE(config) << config.error();
  ASSERT_TRUE((*config)->shape.launch_control);
  GemmData data({.m = m,
                 .n = n,
                 .k = k,
                 .a = (*config)->a,
                 .b = (*config)->b,
                 .scaling = (*config)->scaling,
                 .beta = 1.0f,
                 .fill = Fill::integer,
                 .seed = 11,
                 .in_place = true});
  for (const loom::Schedule& schedule : list) {
    SCOPED_TRACE(schedule.text());
    const GemmProblem problem = data.problem();
    // One cluster at a time.
    const Result<GemmPlan> plan = plan_gemm(problem, **config, 1, {(*config)->shape.cluster_size(), Chip::sm100});
    ASSERT_TRUE(plan) << plan.error();
    loom::Options options;
    options.schedule = schedule;
    const Result<loom::Outcome> outcome = run_on_loom(problem, *plan, options);
    ASSERT_TRUE(outcome) << outcome.error();
    ASSERT_TRUE(outcome->ok()) << to_text(outcome->report);
    ASSERT_TRUE(data.acceptable(data.compare()));
  }
}

constexpr const char *one_sm = "bf16-kk-128x16-1sm-1x1-k4-clc", *two_sm = "e4m3-rows-128x128-2sm-2x1-clc",
                     *two_by_two = "e4m3-blocks-128x96-2sm-2x2-clc";

TEST(ClcGemm, Schedules1Sm) { expect_gemm(one_sm, 257, 40, 130, schedules(48, 1)); }
TEST(ClcGemm, Schedules2Sm) { expect_gemm(two_sm, 300, 264, 16, schedules(48, 2)); }
TEST(ClcGemm, Schedules2x2) { expect_gemm(two_by_two, 300, 264, 16, schedules(48, 4)); }
TEST(ClcGemm, LongTiles) {
  using loom::Policy;
  const std::vector<loom::Schedule> few{{Policy::eager}, {Policy::adversarial}, {Policy::random, 1}};
  expect_gemm(one_sm, 300, 40, 1300, few);
  expect_gemm(two_sm, 512, 304, 1300, few);
  expect_gemm(two_by_two, 512, 504, 1300, few);
}
// Ten thousand in all.
TEST(ClcGemmFull, Schedules1Sm) { expect_gemm(one_sm, 257, 40, 130, schedules(4000, 1)); }
TEST(ClcGemmFull, Schedules2Sm) { expect_gemm(two_sm, 300, 264, 16, schedules(3000, 2)); }
TEST(ClcGemmFull, Schedules2x2) { expect_gemm(two_by_two, 300, 264, 16, schedules(3000, 4)); }

}  // namespace
}  // namespace warploom::test
