// Hopper's accumulators over the input ring: cooperative and ping-pong warpgroups, one wgmma group in flight, slots
// freed one step late, multicast in clusters; under many schedules. And the ping-pong kernel without its turns, which
// the loom finds out.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "warp/blockwise_launch.hpp"
#include "warploom/arch/global.hpp"
#include "warploom/types/convert.hpp"
#include "warploom/warp/hopper_skeleton.hpp"
#include "warploom/warp/turns.hpp"
#include "warploom/warp/wgmma.hpp"

namespace warploom::test {
namespace {

enum class How { cooperative, ping_pong, ping_pong_without_turns, by_hand };

struct SmallGemmParams {
  TensorMap a, b;
  float* d;  ///< [m][n]
  int m, n, k_blocks;
  int k_begin = 0;
};

/// D = A * B^T, 64 rows per warpgroup and 8 columns, sums stored straight from registers.
template <class Cluster_, How how, int k_group = 1>
struct SmallGemm {
  using Cluster = Cluster_;
  using Params = SmallGemmParams;
  using Roles = HopperRoles<2>;
  static constexpr bool ping_pong = how == How::ping_pong || how == How::ping_pong_without_turns;
  static constexpr int tile_m = ping_pong ? 64 : 128, tile_n = 16, stages = 3;
  using Payload = StandardTilePayload<bf16, bf16, tile_m, tile_n, Cluster>;
  using Reader = std::conditional_t<ping_pong, Roles::Group, Roles::Math>;
  using Input = InputTilePipeline<Payload, stages, filled_by<tma_bytes<Roles::Load>>,
                                  freed_by<wgmma_warps<Reader, to_operand_sources>>, k_group>;
  using Accumulator = WarpgroupAccumulator<64, tile_n>;
  struct Storage {
    typename Input::Storage input;
    Turns<2>::Storage turns;
  };
  struct NoWriter {
    void finish() const noexcept {}
  };

  static void init_barriers(Storage& storage) noexcept {
    Input::init_barriers(storage.input);
    Turns<2>::init_barriers(storage.turns);
  }
  SmallGemm(const Params& p, Storage& storage, uint32_t group) noexcept
      : params(p),
        input(storage.input),
        turns(storage.turns, group),
        rows_before(ping_pong ? 0 : 64 * static_cast<int>(group)) {}
  StaticPersistent<Cluster> tiles() const noexcept { return {params.m / tile_m, params.n / tile_n, params.k_blocks}; }

  void load(Tile tile) noexcept {
    const TileLoader a{&params.a, tile_m}, b{&params.b, tile_n};
    for (auto slot : input.produce({params.k_begin, tile.k_blocks()})) slot.load(a[tile.m], b[tile.n]);
  }
  void math(Tile tile) noexcept {
    Accumulator sum;
    if constexpr (how == How::ping_pong) {
      auto turn = turns.take();
      multiply(sum, tile);
    } else {
      multiply(sum, tile);
    }
    const uint32_t thread = arch::thread_index() % 128, lane = thread % 32;
    for (int i = 0; i < Accumulator::values_per_block; ++i) {
      const int row = static_cast<int>(16 * (thread / 32) + lane / 4) + 8 * (i / 2 % 2);
      const int column = 8 * (i / 4) + 2 * static_cast<int>(lane % 4) + i % 2;
      arch::store_global(params.d + (tile.m * tile_m + rows_before + row) * params.n + tile.n * tile_n + column,
                         sum.value(0, i));
    }
  }
  void multiply(Accumulator& sum, Tile tile) noexcept {
    if constexpr (how == How::by_hand) {
      multiply_by_hand(sum, Input::slots_of(tile.k_blocks()));
    } else {
      for (auto in : sum.template over<Reader>(input, tile.k_blocks()))
        for (int k = 0; k < k_group; ++k) sum.mma(in.a(k).template part<64>(rows_before), in.b(k));
    }
  }
  /// The same with a must-release handle that is held one step.
  void multiply_by_hand(Accumulator& sum, int slots) noexcept {
    auto issue = [&](uint32_t stage) {
      sum.fence();
      for (int k = 0; k < k_group; ++k) sum.mma(input.a(stage, k).template part<64>(rows_before), input.b(stage, k));
      sum.commit();
    };
    sum.start();
    if (slots == 0) {
      sum.clear();
      return;
    }
    auto held = input.pipeline.template acquire_late<Reader>();
    issue(held.index());
    for (int i = 1; i < slots; ++i) {
      auto next = input.pipeline.template acquire_late<Reader>();
      issue(next.index());
      sum.wait_older();
      held.replace_with(std::move(next));
    }
    sum.wait();
    held.release();
  }
  void pass_over(Tile tile) noexcept { input.pipeline.consumer_skip(Input::slots_of(tile.k_blocks())); }

  const Params& params;
  Input input;
  Turns<2> turns;
  NoWriter writer;
  int rows_before;
};

struct Problem {
  int m, n, k;
  std::vector<bf16> a, b;
  std::vector<float> d, answer;

  Problem(int m_, int n_, int k_) : m(m_), n(n_), k(k_) {
    std::mt19937 random(7);
    auto fill = [&](std::vector<bf16>& to, int rows) {
      to.resize(static_cast<size_t>(rows) * static_cast<size_t>(std::max(k, 8)));
      for (bf16& value : to) value = to_bf16(static_cast<float>(random() % 9) - 4.0f);
    };
    fill(a, m);
    fill(b, n);
    d.resize(static_cast<size_t>(m) * static_cast<size_t>(n));
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int q = 0; q < k; ++q) sum += to_float(a[at(i, k, q)]) * to_float(b[at(j, k, q)]);
        answer.push_back(sum);
      }
  }
  static size_t at(int row, int stride, int column) {
    return static_cast<size_t>(row) * static_cast<size_t>(stride) + static_cast<size_t>(column);
  }
  TensorMap map(const std::vector<bf16>& tensor, int rows, int box_rows) const {
    TensorMapArgs args;
    args.type = TmaType::bf16;
    args.address = tensor.data();
    args.dims = {static_cast<uint64_t>(std::max(k, 8)), static_cast<uint64_t>(rows), 1, 1, 1};
    args.strides[0] = static_cast<uint64_t>(std::max(k, 8)) * 2;
    args.box = {64, static_cast<uint32_t>(box_rows), 1, 1, 1};
    args.swizzle = Swizzle::b128;
    const Result<TensorMap> made = loom::encode_tensor_map(args, loom::Chip::sm90);
    EXPECT_TRUE(made) << made.error();
    return *made;
  }
};

template <class Kernel>
void entry(const void* params) {
  HopperSkeleton<Kernel>::run(*static_cast<const SmallGemmParams*>(params));
}

template <class Kernel>
loom::Outcome launch(Problem& p, const loom::Schedule& schedule, uint32_t clusters = 1, KBlocks range = {}) {
  using C = typename Kernel::Cluster;
  std::fill(p.d.begin(), p.d.end(), -1e9f);
  const SmallGemmParams params{p.map(p.a, p.m, Kernel::Payload::a_slice_rows),
                               p.map(p.b, p.n, Kernel::Payload::b_slice_rows),
                               p.d.data(),
                               p.m,
                               p.n,
                               range.count != 0 ? range.count : (p.k + 63) / 64,
                               range.begin};
  const loom::TensorRef tensors[] = {{p.a.data(), p.a.size() * 2, loom::Access::read, "a"},
                                     {p.b.data(), p.b.size() * 2, loom::Access::read, "b"},
                                     {p.d.data(), p.d.size() * 4, loom::Access::write, "d"}};
  const loom::LaunchConfig config{.kernel = "small-hopper-gemm",
                                  .grid = {C::size * clusters},
                                  .cluster = {C::size},
                                  .threads = Kernel::Roles::threads,
                                  .shared_bytes = sizeof(typename Kernel::Storage)};
  loom::Options options;
  options.schedule = schedule;
  return loom::launch(config, &entry<Kernel>, &params, tensors, options);
}

template <class Kernel>
void expect_right(Problem& p, const loom::Schedule& schedule) {
  SCOPED_TRACE(schedule.text());
  const loom::Outcome outcome = launch<Kernel>(p, schedule);
  ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
  ASSERT_TRUE(p.d == p.answer);
}

using One = ClusterShape<1, 1, 1>;
using Four = ClusterShape<1, 2, 2>;

/// Several tiles per CTA, with more K blocks than slots, with fewer, with one and with none.
template <class Kernel>
void run_everywhere(int random_schedules) {
  const int m = Kernel::tile_m * Kernel::Cluster::m * 3, n = Kernel::tile_n * Kernel::Cluster::n;
  for (const int k : {5 * 64, 2 * 64, 40, 0}) {
    Problem p(m, n, k);
    for (const loom::Schedule& schedule : schedules()) expect_right<Kernel>(p, schedule);
    for (int seed = 0; seed < random_schedules && k == 5 * 64; ++seed)
      expect_right<Kernel>(p, {loom::Policy::random, static_cast<uint64_t>(seed)});
  }
}

TEST(Hopper, Cooperative) { run_everywhere<SmallGemm<One, How::cooperative>>(20); }
TEST(Hopper, PingPong) { run_everywhere<SmallGemm<One, How::ping_pong>>(20); }
TEST(Hopper, LateReleaseByHand) { run_everywhere<SmallGemm<One, How::by_hand>>(20); }
TEST(Hopper, CooperativeMulticast) { run_everywhere<SmallGemm<Four, How::cooperative>>(5); }
TEST(Hopper, PingPongMulticast) { run_everywhere<SmallGemm<Four, How::ping_pong>>(5); }
TEST(Hopper, KGroups) { run_everywhere<SmallGemm<One, How::cooperative, 2>>(20); }

TEST(HopperFull, Cooperative) { run_everywhere<SmallGemm<One, How::cooperative>>(10'000); }
TEST(HopperFull, PingPong) { run_everywhere<SmallGemm<One, How::ping_pong>>(10'000); }
TEST(HopperFull, LateReleaseByHand) { run_everywhere<SmallGemm<One, How::by_hand>>(10'000); }
TEST(HopperFull, PingPongMulticast) { run_everywhere<SmallGemm<ClusterShape<1, 2, 1>, How::ping_pong>>(10'000); }

// A slot of two K blocks brings only those of the tile's range: three blocks from the second on, of six.
TEST(Hopper, KGroupsEndWithTheRange) {
  using Kernel = SmallGemm<One, How::cooperative, 2>;
  Problem whole(Kernel::tile_m, Kernel::tile_n, 6 * 64);
  Problem range = whole;
  for (int i = 0; i < whole.m; ++i)
    for (int j = 0; j < whole.n; ++j) {
      float sum = 0;
      for (int q = 64; q < 4 * 64; ++q)
        sum += to_float(whole.a[Problem::at(i, whole.k, q)]) * to_float(whole.b[Problem::at(j, whole.k, q)]);
      range.answer[Problem::at(i, whole.n, j)] = sum;
    }
  for (const loom::Schedule& schedule : schedules()) {
    const loom::Outcome outcome = launch<Kernel>(range, schedule, 1, {1, 3});
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    ASSERT_TRUE(range.d == range.answer);
  }
}

// A group that passes over slots it never waited for may meet their barriers a lap early or late: only the turns say
// that it may not. Some schedule shows it.
TEST(Hopper, PingPongWithoutTurnsIsFoundOut) {
  using Kernel = SmallGemm<One, How::ping_pong_without_turns>;
  Problem p(Kernel::tile_m * 6, Kernel::tile_n, 2 * 64);
  int reported = 0;
  for (int seed = 0; seed < 200 && reported == 0; ++seed) {
    const loom::Outcome outcome = launch<Kernel>(p, {loom::Policy::random, static_cast<uint64_t>(seed)});
    if (!outcome.ok()) {
      ++reported;
      EXPECT_TRUE(outcome.report.findings[0].code == "PHASE" || outcome.report.findings[0].code == "DEADLOCK")
          << to_text(outcome.report);
    }
  }
  EXPECT_GT(reported, 0);
}

}  // namespace
}  // namespace warploom::test
