// The rows of docs/seed_table.md about the types around the five pages, run: on every policy of the loom, right to the
// bit.
#include "docs/seed_types_kernel.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "warp/blockwise_launch.hpp"
#include "warploom/types/convert.hpp"

namespace warploom::test {
namespace {

TensorMap map_of(TmaType type, const void* data, uint64_t columns, uint64_t rows, uint32_t bytes, uint32_t box_columns,
                 uint32_t box_rows, Swizzle swizzle) {
  TensorMapArgs args;
  args.type = type;
  args.address = data;
  args.dims = {columns, rows, 1, 1, 1};
  args.strides[0] = columns * bytes;
  args.box = {box_columns, box_rows, 1, 1, 1};
  args.swizzle = swizzle;
  const Result<TensorMap> made = encode(args);
  EXPECT_TRUE(made);
  return *made;
}

/// Small integers: sums are exact in any order.
struct Problem {
  int m = 256, n = 256, k;
  std::vector<bf16> a, b;
  std::vector<float> d, answer;

  explicit Problem(int k_) : k(k_) {
    std::mt19937 random(11);
    auto fill = [&](std::vector<bf16>& tensor, int rows) {
      for (int i = 0; i < rows * k; ++i) tensor.push_back(to_bf16(static_cast<float>(random() % 7) - 3.0f));
    };
    fill(a, m);
    fill(b, n);
    auto at = [&](const std::vector<bf16>& tensor, int row, int q) {
      return to_float(tensor[static_cast<size_t>(row * k + q)]);
    };
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int q = 0; q < k; ++q) sum += at(a, i, q) * at(b, j, q);
        answer.push_back(2 * sum);
      }
  }
};

template <class Cluster, int k_group>
loom::Outcome launch(InputUse use, Problem& p, const loom::Schedule& schedule) {
  using Kernel = SeedTypes<Cluster, k_group>;
  using Payload = typename Kernel::Payload;
  const auto k = static_cast<uint64_t>(p.k), m = static_cast<uint64_t>(p.m), n = static_cast<uint64_t>(p.n);
  p.d.assign(p.answer.size(), -1.0f);
  const SeedTypesParams params{
      map_of(TmaType::bf16, p.a.data(), k, m, 2, Payload::tile_k, Payload::a_slice_rows, Swizzle::b128),
      map_of(TmaType::bf16, p.b.data(), k, n, 2, Payload::tile_k, Payload::b_slice_rows, Swizzle::b128),
      p.d.data(),
      p.m,
      p.n,
      p.k,
      use};
  const loom::TensorRef tensors[] = {{p.d.data(), p.d.size() * 4, loom::Access::write, "D"},
                                     {p.a.data(), p.a.size() * 2, loom::Access::read, "A"},
                                     {p.b.data(), p.b.size() * 2, loom::Access::read, "B"}};
  const loom::LaunchConfig config{.kernel = "seed-types",
                                  .grid = {Cluster::m, Cluster::n, 1},
                                  .cluster = {Cluster::m, Cluster::n, 1},
                                  .threads = threads_of<Epilogue, Load, Mma>,
                                  .shared_bytes = sizeof(typename Kernel::Storage)};
  failed_line = 0;
  return loom::launch(config, &Kernel::run, &params, tensors, on(schedule));
}

/// The ring goes round more than once per tile, and its last group is not whole.
template <class Cluster, int k_group>
Problem& problem() {
  using Kernel = SeedTypes<Cluster, k_group>;
  static Problem p(Kernel::Payload::tile_k * (Kernel::stages * k_group + 1));
  return p;
}

template <class Cluster, int k_group>
void run(InputUse use) {
  Problem& p = problem<Cluster, k_group>();
  for (const loom::Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    const loom::Outcome outcome = launch<Cluster, k_group>(use, p, schedule);
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    ASSERT_EQ(failed_line, 0) << "a check in seed_types_kernel.hpp";
    ASSERT_TRUE(p.d == p.answer);
  }
}

struct Case {
  const char* name;
  InputUse use;
};
constexpr Case cases[] = {{"Ends", InputUse::ends},
                          {"Polls", InputUse::polls},
                          {"Stages", InputUse::stages},
                          {"RingStages", InputUse::ring_stages},
                          {"ByHand", InputUse::by_hand}};

class SeedTypesTest : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(, SeedTypesTest, testing::ValuesIn(cases), [](const auto& test) { return test.param.name; });

TEST_P(SeedTypesTest, OneSm) { run<ClusterShape<1, 1, 1>, 1>(GetParam().use); }
TEST_P(SeedTypesTest, TwoSm) { run<ClusterShape<2, 2, 1>, 1>(GetParam().use); }
TEST_P(SeedTypesTest, GroupsOfTwoKBlocks) { run<ClusterShape<1, 2, 1>, 2>(GetParam().use); }

// A stage says how many bytes it expects; the ring knows better.
TEST(SeedTypes, SlotsTakeTheirBytes) {
  using Cluster = ClusterShape<1, 1, 1>;
  const loom::Outcome outcome = launch<Cluster, 1>(InputUse::wrong_bytes, problem<Cluster, 1>(), {});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.report.findings[0].code, "RING-ARGUMENT");
  const std::string text = to_text(outcome.report);
  EXPECT_NE(text.find("given 32784 as its bytes; its policies say 32768"), std::string::npos) << text;
  EXPECT_NE(text.find("seed_types_kernel.hpp"), std::string::npos) << text;
}

template <HandOff how>
void hand_off() {
  using Kernel = HandOffs<how>;
  for (const loom::Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    failed_line = 0;
    const loom::Outcome outcome = loom::launch({.kernel = "hand-off",
                                                .grid = {1},
                                                .cluster = {1},
                                                .threads = 64,
                                                .shared_bytes = sizeof(typename Kernel::Storage)},
                                               &Kernel::run, nullptr, {}, on(schedule));
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    ASSERT_EQ(failed_line, 0) << "a check in seed_types_kernel.hpp";
  }
}
TEST(SeedTypes, HandOffsWithoutASlot) { hand_off<HandOff::signal>(); }
TEST(SeedTypes, PollsSpareTheWait) { hand_off<HandOff::polls>(); }
TEST(SeedTypes, ConsumedSlotIsFreedOnce) { hand_off<HandOff::freed_early>(); }
TEST(SeedTypes, SlotsAreHeldAheadAndReleasedLate) { hand_off<HandOff::freed_late>(); }

template <int consumer_count>
loom::Outcome init_residual() {
  using Residual = EpiLoadPipeline<2, SmemTile<bf16, 128, 64, Swizzle::b128>>;
  const loom::Entry entry = [](const void*) {
    if (arch::thread_index() == 0) Residual::init_barriers(arch::shared<Residual::Storage>(), 1, consumer_count);
  };
  return loom::launch(
      {.kernel = "residual", .grid = {1}, .cluster = {1}, .threads = 32, .shared_bytes = sizeof(Residual::Storage)},
      entry, nullptr, {}, {});
}
TEST(SeedTypes, ResidualRingTakesItsCounts) {
  const loom::Outcome right = init_residual<128>();
  EXPECT_TRUE(right.ok()) << to_text(right.report);
  const loom::Outcome wrong = init_residual<4>();
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.report.findings[0].code, "RING-ARGUMENT");
  EXPECT_NE(to_text(wrong.report).find("given 4 as its consumer arrivals; its policies say 128"), std::string::npos)
      << to_text(wrong.report);
}

// ---- the payload of block-scaled operands: what lands is what the tensors hold

struct ScaledPayload {
  struct ScaleFactor {
    uint8_t code;
  };
  using Payload = BlockScaledTilePayload<e4m3, e4m3, ScaleFactor, ScaleFactor, 128, 256, 32, ClusterShape<1, 1, 1>>;
  using Input = InputTilePipeline<Payload, 2, filled_by<tma_bytes<Load>>, freed_by<every_thread<Epilogue>>>;
  struct Params {
    TensorMap a, b, sfa, sfb;
    const uint8_t *a_data, *b_data;
    const uint32_t *sfa_data, *sfb_data;
    int k_blocks;
  };

  static void run(const void* block) noexcept {
    const Params& params = *static_cast<const Params*>(block);
    auto& storage = arch::shared<Input::Storage>();
    if (arch::thread_index() == 0) {
      Input::init_barriers(storage);
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    Input input(storage);
    if (arch::warp_index() == Load::first_warp) {
      if (!arch::elect_one()) return;
      const TileLoader a{&params.a, 128}, b{&params.b, 256}, sfa{&params.sfa, 1}, sfb{&params.sfb, 2};
      for (auto slot : input.produce(params.k_blocks)) slot.load(a[0], b[0], sfa[0], sfb[0]);
      input.drain();
      return;
    }
    const uint32_t thread = arch::thread_index();
    for (int k = 0; k < params.k_blocks; ++k) {
      auto in = input.consume();
      WARPLOOM_KERNEL_CHECK(same_row(in.a(), thread, params.a_data, k, params.k_blocks));
      WARPLOOM_KERNEL_CHECK(same_row(in.b(), thread, params.b_data, k, params.k_blocks));
      WARPLOOM_KERNEL_CHECK(same_row(in.b(), 128 + thread, params.b_data, k, params.k_blocks));
      const uint32_t atoms = 128u * static_cast<uint32_t>(params.k_blocks), first = 128u * static_cast<uint32_t>(k);
      WARPLOOM_KERNEL_CHECK(arch::load_shared(in.sfa().data + thread) == params.sfa_data[first + thread]);
      for (uint32_t half = 0; half < 2; ++half)
        WARPLOOM_KERNEL_CHECK(arch::load_shared(in.sfb().data + 128 * half + thread) ==
                              params.sfb_data[half * atoms + first + thread]);
    }
  }
  template <class Tile>
  static bool same_row(const Tile& tile, uint32_t row, const uint8_t* tensor, int k, int k_blocks) noexcept {
    const uint8_t* want = tensor + (row * static_cast<uint32_t>(k_blocks) + static_cast<uint32_t>(k)) * 128;
    for (uint32_t unit = 0; unit < 8; ++unit) {
      const Unit have = arch::load_shared(reinterpret_cast<const Unit*>(tile.unit(row, unit)));
      if (std::memcmp(&have, want + 16 * unit, 16) != 0) return false;
    }
    return true;
  }
};

TEST(SeedTypes, BlockScaledPayloadBringsOperandsAndScaleFactors) {
  using Payload = ScaledPayload::Payload;
  static_assert(Payload::operand_bytes == (128 + 256) * 128 + (1 + 2) * 512);
  constexpr int k_blocks = 5;
  std::vector<uint8_t> a(128 * 128 * k_blocks), b(256 * 128 * k_blocks);
  std::vector<uint32_t> sfa(128 * k_blocks), sfb(2 * 128 * k_blocks);
  std::mt19937 random(3);
  for (auto* tensor : {&a, &b})
    for (uint8_t& value : *tensor) value = static_cast<uint8_t>(random());
  for (auto* tensor : {&sfa, &sfb})
    for (uint32_t& value : *tensor) value = static_cast<uint32_t>(random());
  const ScaledPayload::Params params{map_of(TmaType::u8, a.data(), 128 * k_blocks, 128, 1, 128, 128, Swizzle::b128),
                                     map_of(TmaType::u8, b.data(), 128 * k_blocks, 256, 1, 128, 256, Swizzle::b128),
                                     map_of(TmaType::u32, sfa.data(), 128 * k_blocks, 1, 4, 128, 1, Swizzle::none),
                                     map_of(TmaType::u32, sfb.data(), 128 * k_blocks, 2, 4, 128, 2, Swizzle::none),
                                     a.data(),
                                     b.data(),
                                     sfa.data(),
                                     sfb.data(),
                                     k_blocks};
  const loom::TensorRef tensors[] = {{a.data(), a.size(), loom::Access::read, "A"},
                                     {b.data(), b.size(), loom::Access::read, "B"},
                                     {sfa.data(), sfa.size() * 4, loom::Access::read, "SFA"},
                                     {sfb.data(), sfb.size() * 4, loom::Access::read, "SFB"}};
  for (const loom::Schedule& schedule : schedules()) {
    SCOPED_TRACE(schedule.text());
    failed_line = 0;
    const loom::Outcome outcome = loom::launch({.kernel = "block-scaled-payload",
                                                .grid = {1},
                                                .cluster = {1},
                                                .threads = threads_of<Epilogue, Load>,
                                                .shared_bytes = sizeof(ScaledPayload::Input::Storage)},
                                               &ScaledPayload::run, &params, tensors, on(schedule));
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    ASSERT_EQ(failed_line, 0);
  }
}

}  // namespace
}  // namespace warploom::test
