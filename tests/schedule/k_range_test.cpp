// A tile's K blocks are the tile's own: the roles follow any range, and an empty one is legal.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "warp/blockwise_launch.hpp"
#include "warp/plain_gemm_kernel.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::test {
namespace {

// ---- blockwise FP8: the sum lives in registers and starts at zero

struct RangedParams : BlockwiseFP8Params {
  KBlocks even, odd;  ///< of clusters in even and odd columns
};

template <class Cluster>
struct Ranged : BlockwiseFP8<Cluster> {
  using Base = BlockwiseFP8<Cluster>;
  using Params = RangedParams;
  Ranged(const Params& p, typename Base::Storage& storage) noexcept : Base(p, storage), ranges(p) {}

  Tile narrowed(Tile tile) const noexcept {
    const KBlocks range = tile.n / Cluster::n % 2 == 0 ? ranges.even : ranges.odd;
    return {tile.m, tile.n, range.begin, range.count};
  }
  void load(Tile tile) noexcept { Base::load(narrowed(tile)); }
  template <class Context>
  void mma(Context& context, Tile tile) noexcept {
    Base::mma(context, narrowed(tile));
  }
  template <class Context>
  void epilogue(Context& context, Tile tile) noexcept {
    Base::epilogue(context, narrowed(tile));
  }

  const Params& ranges;
};

template <class Kernel>
void entry(const void* params) {
  Skeleton<Kernel>::run(*static_cast<const typename Kernel::Params*>(params));
}

/// Blocks outside a tile's range have NaN for A scales: the smallest touch would show. The answer comes from the
/// shipped kernel, with zeros in their place.
template <class Cluster>
void expect_range(KBlocks even, KBlocks odd) {
  SCOPED_TRACE(fmt::format("blocks {}+{} and {}+{}", even.begin, even.count, odd.begin, odd.count));
  constexpr int k_blocks = 7;
  GemmData data = blockwise_data(256, 512, 128 * k_blocks, Fill::integer, 1.0f, 23);
  const auto result = [&] {
    const std::vector<std::byte> bytes = data.dense_d();
    std::vector<bf16> d(bytes.size() / sizeof(bf16));
    std::memcpy(d.data(), bytes.data(), bytes.size());
    return d;
  };
  for (const bool odd_columns : {false, true}) {
    const KBlocks range = odd_columns ? odd : even;
    GemmProblem problem = data.problem();
    const auto row = static_cast<size_t>(problem.a_scales.stride);
    std::vector<float> zeros(problem.a_scales.data, problem.a_scales.data + row * k_blocks), nans = zeros;
    for (int k = 0; k < k_blocks; ++k) {
      if (k >= range.begin && k < range.begin + range.count) continue;
      std::fill_n(zeros.begin() + static_cast<std::ptrdiff_t>(row) * k, row, 0.0f);
      std::fill_n(nans.begin() + static_cast<std::ptrdiff_t>(row) * k, row, NAN);
    }
    problem.a_scales.data = zeros.data();
    run_shipped(problem);
    const std::vector<bf16> expected = result();
    RangedParams extra{};
    extra.even = even;
    extra.odd = odd;
    for (const loom::Schedule& schedule : schedules()) {
      SCOPED_TRACE(schedule.text());
      problem = data.problem();  // D is NaN again
      problem.a_scales.data = nans.data();
      using Kernel = Ranged<Cluster>;
      const loom::Outcome outcome = launch_blockwise<Kernel>(problem, &entry<Kernel>, on(schedule), extra);
      ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
      int wrong = 0;
      const std::vector<bf16> d = result();
      for (size_t i = 0; i < d.size(); ++i)
        if (static_cast<int>(i % 512 / 128 / Cluster::n % 2) == odd_columns) wrong += d[i] != expected[i];
      ASSERT_EQ(wrong, 0);
    }
  }
}

TEST(KRange, AnyPartOfK) {
  expect_range<ClusterShape<1, 1, 1>>({0, 7}, {2, 3});
  expect_range<ClusterShape<2, 2, 1>>({5, 2}, {0, 1});
}

// The sum of no blocks is zero: such a tile is beta * C, and the rings are as if it had not been there.
TEST(KRange, AnEmptyRangeAddsNothing) {
  expect_range<ClusterShape<1, 1, 1>>({0, 7}, {3, 0});
  expect_range<ClusterShape<1, 1, 1>>({7, 0}, {0, 0});
  expect_range<ClusterShape<2, 2, 1>>({0, 0}, {1, 6});
  expect_range<ClusterShape<2, 2, 2>>({4, 0}, {0, 7});
}

// ---- K added up in tensor memory: nobody writes the accumulator of an empty range

// The stage is acquired, committed and read all the same, so the rings stay in step; what it holds is what was there
// before: nothing, here, which the loom makes NaN. A kernel of this kind that may meet empty ranges has to leave such
// tiles' accumulators unread.
TEST(KRange, AnEmptyRangeLeavesTheAccumulatorUnwritten) {
  using Kernel = PlainGemm<ClusterShape<1, 1, 1>>;
  std::vector<bf16> a(128 * 64), b(256 * 64), d(128 * 256);
  auto map = [](const std::vector<bf16>& tensor, uint64_t columns, uint64_t rows, uint32_t box_rows) {
    TensorMapArgs args;
    args.type = TmaType::bf16;
    args.address = tensor.data();
    args.dims = {columns, rows, 1, 1, 1};
    args.strides[0] = columns * 2;
    args.box = {64, box_rows, 1, 1, 1};
    args.swizzle = Swizzle::b128;
    return *encode(args);
  };
  const PlainGemmParams params{map(a, 64, 128, 128), map(b, 64, 256, 128),     map(d, 256, 128, 128), 128, 256, 0,
                               TileMmaUse::producer, TileEpilogueUse::consumer};
  const loom::TensorRef tensors[] = {{d.data(), d.size() * 2, loom::Access::write, "D"},
                                     {a.data(), a.size() * 2, loom::Access::read, "A"},
                                     {b.data(), b.size() * 2, loom::Access::read, "B"}};
  const loom::LaunchConfig config{
      .kernel = "plain-gemm", .threads = Skeleton<Kernel>::threads, .shared_bytes = sizeof(typename Kernel::Storage)};
  for (const loom::Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    std::fill(d.begin(), d.end(), bf16{0});
    const loom::Outcome outcome = loom::launch(config, &entry<Kernel>, &params, tensors, on(schedule));
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    EXPECT_TRUE(std::all_of(d.begin(), d.end(), [](bf16 value) { return std::isnan(to_float(value)); }));
  }
}

}  // namespace
}  // namespace warploom::test
