// The Blackwell GEMMs on the loom, under the checker: every configuration, types, tails, strides, epilogues, splits.
#include <array>

#include "kernels/gemm_cases.hpp"
#include "kernels/gemm_entry.hpp"
#include "kernels/gemm_params.hpp"
#include "warploom/loom/tensor_map.hpp"

namespace warploom::test {
namespace {

class BlackwellGemms : public testing::TestWithParam<const GemmConfig*> {};
class BlackwellGemmsFull : public testing::TestWithParam<const GemmConfig*> {};

/// Clusters of 16 CTAs take long under the checker.
int few(const GemmConfig& config, int count) { return config.shape.cluster_size() > 8 ? count / 4 : count; }

TEST_P(BlackwellGemms, AnyProblem) { run_random(*GetParam(), few(*GetParam(), 8), 3); }
TEST_P(BlackwellGemmsFull, AnyProblem) { run_random(*GetParam(), 150, 4); }

TEST_P(BlackwellGemms, EmptyAndTiny) {
  const GemmConfig& config = *GetParam();
  expect_right(config, {.spec = {.m = 0, .n = 8, .k = 8}});
  expect_right(config, {.spec = {.m = 8, .n = 0, .k = 8}});
  expect_right(config, {.spec = {.m = 8, .n = 8, .k = 8, .batch = 0}});
  expect_right(config, {.spec = {.m = 1, .n = 1, .k = 1, .fill = Fill::integer}});
  // A product over nothing leaves the epilogue.
  expect_right(config, {.spec = {.m = 5, .n = 16, .k = 0, .bias = BiasAlong::n, .beta = 1.0f, .fill = Fill::integer}});
  expect_right(config, {.spec = {.m = 5, .n = 16, .k = 0, .fill = Fill::integer}, .splits = 2});
}

/// 1 to 17 rows, less than one K block and a little more than one, with a tail in every direction.
TEST_P(BlackwellGemms, FewRows) {
  const GemmConfig& config = *GetParam();
  for (int m = 1; m <= 17; ++m)
    expect_right(config, {.spec = {.m = m,
                                   .n = 40 + m,
                                   .k = m % 2 == 0 ? config.shape.tile_k / 2 + 1 : config.shape.tile_k + m,
                                   .bias = m % 3 == 0 ? BiasAlong::n : BiasAlong::m,
                                   .beta = m % 2 == 0 ? 1.0f : 0.0f,
                                   .fill = Fill::integer}});
}

/// More tiles than CTAs, of three matrices: at least three for each, with tails in all dimensions. Sums in fp32.
TEST_P(BlackwellGemms, SeveralTilesOfSeveralMatrices) {
  const GemmConfig& config = *GetParam();
  const GemmShape& s = config.shape;
  const int left = s.tile_left * s.cluster_left, right = s.tile_right * s.cluster_right;
  for (float beta : {0.0f, 0.5f})
    expect_right(config, {.spec = {.m = s.swap ? right + 3 : left + 5,
                                   .n = s.swap ? left + 5 : right + 3,
                                   .k = 2 * s.tile_k + 7,
                                   .batch = 3,
                                   .d = DType::f32,
                                   .beta = beta,
                                   .fill = beta == 0 ? Fill::normal : Fill::integer},
                          .sms = s.cluster_size()});
}

TEST_P(BlackwellGemms, SplitsInAnyOrder) {
  const GemmConfig& config = *GetParam();
  for (const char* schedule : {"eager", "lazy", "adversarial", "random:5"})
    for (int splits : {2, 5, 16})  // more than there are K blocks, too
      expect_right(config, {.spec = {.m = 70,
                                     .n = 72,
                                     .k = 4 * config.shape.tile_k + 3,
                                     .bias = BiasAlong::n,
                                     .beta = 0.5f,
                                     .fill = Fill::integer},
                            .splits = splits,
                            .sms = 4 * config.shape.cluster_size(),
                            .schedule = *loom::Schedule::parse(schedule)});
}

INSTANTIATE_TEST_SUITE_P(Every, BlackwellGemms, testing::ValuesIn(built_configs(Chip::sm100)), name_of_config);
INSTANTIATE_TEST_SUITE_P(Every, BlackwellGemmsFull, testing::ValuesIn(built_configs(Chip::sm100)), name_of_config);

/// One configuration of every place that rows and columns of a tile may have in tensor memory, a swapped one, and of
/// those with scales one of every kind.
std::vector<const GemmConfig*> one_of_each_kind() {
  return built_of({"bf16-kk-64x64-1sm-1x1-k2", "bf16-kk-128x32-1sm-1x1-k2", "bf16-kk-64x128-2sm-2x2-clc",
                   "bf16-kk-128x128-2sm-4x1", "bf16-kk-64x16-1sm-1x1-k4-swap", "bf16-kk-64x32-1sm-1x1-k4-swap",
                   "e4m3-blocks-128x96-2sm-2x2-clc", "e4m3-rows-128x128-2sm-2x1-clc",
                   "e4m3-blocks-64x16-1sm-1x1-swap"});
}

/// Every type of output with every path, bias and residual.
TEST(BlackwellEpilogues, EveryCombination) {
  for (const GemmConfig* config : one_of_each_kind()) {
    uint64_t seed = 1;
    for (DType d : {DType::bf16, DType::f16, DType::f32, DType::e4m3})
      for (BiasAlong bias : {BiasAlong::none, BiasAlong::n, BiasAlong::m})
        for (float beta : {0.0f, -0.5f})
          for (bool odd : {false, true})
            for (Activation activation : {Activation::none, Activation::relu}) {
              expect_right(*config, {.spec = {.m = 67,
                                              .n = 70,
                                              .k = 65,
                                              .d = d,
                                              .bias = bias,
                                              .bias_type = seed % 3 == 0   ? DType::f32
                                                           : seed % 3 == 1 ? DType::bf16
                                                                           : DType::f16,
                                              .activation = activation,
                                              .alpha = 0.5f,
                                              .beta = beta,
                                              .fill = Fill::integer,
                                              .seed = seed,
                                              .odd_output = odd,
                                              .in_place = seed % 2 == 0}});
              ++seed;
              if (HasFailure()) return;
            }
  }
}

/// fp32 and one rounding: on integers, an activation's own error is all there is.
TEST(BlackwellEpilogues, ActivationsRoundOnce) {
  for (const GemmConfig* config : one_of_each_kind())
    for (Activation activation : {Activation::gelu, Activation::gelu_tanh, Activation::silu})
      for (DType d : {DType::bf16, DType::f16, DType::f32}) {
        SCOPED_TRACE(fmt::format("{} activation {} to {}", config->key, static_cast<int>(activation), name_of(d)));
        GemmData data({.m = 200,
                       .n = 136,
                       .k = 40,
                       .a = config->a,
                       .b = config->b,
                       .d = d,
                       .scaling = config->scaling,
                       .bias = BiasAlong::n,
                       .activation = activation,
                       // Small sums: beyond -10 gelu_tanh is 0, where the answer is below 1e-38. Scales go up to 4.
                       .alpha = config->scaling == Scaling::none ? 0x1p-6f : 0x1p-10f,
                       .beta = 0.125f,
                       .fill = Fill::integer});
        const GemmProblem problem = data.problem();
        const Result<GemmPlan> plan = plan_gemm(problem, *config, 1, ChipLimits::of(Chip::sm100));
        ASSERT_TRUE(plan) << plan.error();
        const Result<loom::Outcome> outcome = run_on_loom(problem, *plan);
        ASSERT_TRUE(outcome && outcome->ok());
        const GemmData::Accuracy accuracy = data.compare();
        if (d == DType::f32) {
          EXPECT_LE(accuracy.max_ulps, 4);
        } else {
          EXPECT_LE(accuracy.max_ulps, 1);
          EXPECT_LT(static_cast<double>(accuracy.rounding_mismatches), 1e-3 * 200 * 136);
        }
      }
}

// ---- with scales

std::vector<const GemmConfig*> scaled_configs() {
  std::vector<const GemmConfig*> list = built_configs(Chip::sm100);
  std::erase_if(list, [](const GemmConfig* config) { return config->scaling == Scaling::none; });
  return list;
}

class BlackwellScales : public testing::TestWithParam<const GemmConfig*> {};
INSTANTIATE_TEST_SUITE_P(Every, BlackwellScales, testing::ValuesIn(scaled_configs()), name_of_config);

/// Every K below two blocks of scales and just around more, with a scale of its own for each: bit for bit.
TEST_P(BlackwellScales, AnyK) {
  for (int k : {1, 16, 33, 100, 127, 128, 129, 200, 255, 256, 257, 385, 512, 640})
    expect_right(*GetParam(), {.spec = {.m = 37, .n = 72, .k = k, .d = DType::f32, .fill = Fill::integer}});
}

/// Columns from less than one block of B's scales to beyond four, so that tiles begin anywhere in a block.
TEST_P(BlackwellScales, TilesThatStraddle) {
  for (int n : {8, 96, 104, 128, 136, 192, 200, 288, 384, 520})
    expect_right(*GetParam(), {.spec = {.m = 70,
                                        .n = n,
                                        .k = 300,
                                        .d = DType::f32,
                                        .bias = BiasAlong::n,
                                        .beta = n % 16 == 0 ? 1.0f : 0.0f,
                                        .fill = Fill::integer}});
}

/// More K blocks than the rings of slots and accumulators hold twice, several tiles for each cluster.
TEST_P(BlackwellScales, LongK) {
  const GemmShape& s = GetParam()->shape;
  expect_right(*GetParam(), {.spec = {.m = s.swap ? 20 : 300,
                                      .n = 136,
                                      .k = (2 * s.stages + 1) * 128 - 5,
                                      .beta = 0.5f,
                                      .fill = Fill::integer},
                             .sms = s.cluster_size()});
}

/// What rounding to bf16 alone costs, and what quantisation does.
TEST_P(BlackwellScales, NormalNumbers) {
  for (auto [m, n, k] : {std::array{130, 136, 640}, std::array{257, 200, 300}, std::array{17, 520, 1000}}) {
    const GemmConfig& config = *GetParam();
    SCOPED_TRACE(fmt::format("{} {}x{}x{}", config.key, m, n, k));
    GemmData data({.m = m,
                   .n = n,
                   .k = k,
                   .a = config.a,
                   .b = config.b,
                   .scaling = config.scaling,
                   .alpha = 0.75f,
                   .beta = -0.5f});
    const GemmProblem problem = data.problem();
    const Result<GemmPlan> plan = plan_gemm(problem, config, 1, ChipLimits::of(Chip::sm100));
    ASSERT_TRUE(plan) << plan.error();
    loom::Options options;
    options.check = true;
    const Result<loom::Outcome> outcome = run_on_loom(problem, *plan, options);
    ASSERT_TRUE(outcome) << outcome.error();
    ASSERT_TRUE(outcome->ok()) << to_text(outcome->report);
    const GemmData::Accuracy accuracy = data.compare();
    EXPECT_LT(accuracy.diff, 3e-6);
    EXPECT_LT(accuracy.diff_unquantised, 1e-3);
    EXPECT_TRUE(accuracy.correct()) << accuracy.text();
  }
}

/// Hopper's kernels have the same problem, and its sums are exact on integers, too: the same bits.
TEST(BlackwellScaled, TheSameBitsAsHopper) {
  for (Scaling scaling : {Scaling::a_rows_b_blocks, Scaling::a_rows_b_rows}) {
    GemmData data({.m = 150,
                   .n = 296,
                   .k = 700,
                   .a = DType::e4m3,
                   .b = DType::e4m3,
                   .d = DType::f32,
                   .scaling = scaling,
                   .beta = 1.0f,
                   .fill = Fill::integer});
    std::vector<std::byte> expected;
    for (Chip chip : {Chip::sm90, Chip::sm100}) {
      const GemmProblem problem = data.problem();
      for (const GemmPlan& plan : gemm_plans(problem, ChipLimits::of(chip))) {
        if (!built_for_loom(*plan.config)) continue;
        const Result<loom::Outcome> outcome = run_on_loom(data.problem(), plan);
        ASSERT_TRUE(outcome && outcome->ok()) << plan.why;
        if (expected.empty()) expected = data.dense_d();
        EXPECT_TRUE(data.dense_d() == expected) << plan.why;
      }
    }
  }
}

/// Rows of tf32: the low 13 bits of an f32 do not count.
TEST(BlackwellGemm, F32OperandsAreTf32) {
  const Result<const GemmConfig*> config = find_gemm_config("tf32-kk-128x128-1sm-1x1");
  ASSERT_TRUE(config);
  GemmData data({.m = 140, .n = 136, .k = 100, .a = DType::f32, .b = DType::f32, .d = DType::f32});
  const GemmProblem problem = data.problem();
  const Result<GemmPlan> plan = plan_gemm(problem, **config, 1, ChipLimits::of(Chip::sm100));
  ASSERT_TRUE(plan) << plan.error();
  const Result<loom::Outcome> outcome = run_on_loom(problem, *plan);
  ASSERT_TRUE(outcome && outcome->ok());
  EXPECT_LT(data.compare().diff, 1e-12);
}

/// Few rows: the first weights are asked for before earlier grids are done; with many they are not.
TEST(BlackwellGemm, AsksForWeightsAhead) {
  for (int m : {16, 128}) {
    GemmData data({.m = m, .n = 300, .k = 1000, .fill = Fill::integer});
    const GemmProblem problem = data.problem();
    const Result<GemmPlan> plan = plan_gemm_on_loom(problem, ChipLimits::of(Chip::sm100));
    ASSERT_TRUE(plan) << plan.error();
    EXPECT_EQ(plan->weight_blocks > 0, m < 128);
    const Result<loom::Outcome> outcome = run_on_loom(problem, *plan);
    ASSERT_TRUE(outcome && outcome->ok());
    EXPECT_TRUE(data.acceptable(data.compare()));
  }
}

/// A function object of the user's in place of the activation, through the public header.
struct HardClamp {
  WARPLOOM_FN float operator()(float x) const noexcept { return arch::minimum(arch::maximum_or_nan(x, -4.0f), 6.0f); }
};
using ClampedGemm = BlackwellGemm<bf16, bf16, Major::k, Major::k, Scaling::none, 128, 64, 1, 1, 1, TileSource::fixed, 1,
                                  false, Elementwise<HardClamp>>;
using ClampedHopperGemm = HopperGemm<bf16, bf16, Major::k, Major::k, Scaling::none, 128, 64, HopperSchedule::ping_pong,
                                     1, 1, 1, false, Elementwise<HardClamp>>;

TEST(OwnGemm, TakesAUsersFunction) {
  const GemmConfig own[] = {own_gemm<ClampedGemm>("clamped"), own_gemm<ClampedHopperGemm>("clamped-hopper")};
  for (const GemmConfig& config : own)
    for (const DType d : {DType::bf16, DType::f32})
      for (const float beta : {0.0f, 1.0f}) {
        SCOPED_TRACE(std::string(config.key) + (d == DType::f32 ? " f32" : " bf16") + (beta == 0.0f ? "" : " C"));
        // Small integers are exact in bf16 within the clamp, and beyond it they are not asked for.
        GemmData data({.m = 150, .n = 72, .k = 100, .d = d, .beta = beta, .fill = Fill::integer});
        const auto run = [&](const GemmConfig& with) {
          const GemmProblem problem = data.problem();
          const Result<GemmPlan> plan = plan_gemm(problem, with, 1, ChipLimits::of(with.shape.chip));
          EXPECT_TRUE(plan) << plan.error();
          const Result<loom::Outcome> outcome = run_on_loom(problem, *plan, {.check = true});
          EXPECT_TRUE(outcome) << outcome.error();
          EXPECT_TRUE(outcome->ok()) << to_text(outcome->report);
          std::vector<float> values;
          for (int row = 0; row < problem.m; ++row)
            for (int column = 0; column < problem.n; ++column) {
              const int64_t at = row * problem.d.stride + column;
              values.push_back(d == DType::f32 ? static_cast<const float*>(problem.d.data)[at]
                                               : to_float(static_cast<const bf16*>(problem.d.data)[at]));
            }
          return values;
        };
        const Result<const GemmConfig*> shipped =
            find_gemm_config(config.shape.chip == Chip::sm100 ? "bf16-kk-128x64-1sm-1x1" : "bf16-kk-128x64-coop-1x1");
        ASSERT_TRUE(shipped);
        std::vector<float> plain = run(**shipped);
        const std::vector<float> clamped = run(config);
        EXPECT_GT(std::count_if(plain.begin(), plain.end(), [](float x) { return x > 6.0f; }), 0);
        for (float& x : plain) x = std::clamp(x, -4.0f, 6.0f);
        EXPECT_EQ(plain, clamped);
      }
}

template <HopperSchedule schedule, int cluster_k = 1, bool swap = false>
using SmallTiles = HopperGemm<e4m3, e4m3, Major::k, Major::k, Scaling::none, 64, 64, schedule, 1, 1, cluster_k, swap>;
static_assert(SmallTiles<HopperSchedule::one_group>::rehearses);
static_assert(!SmallTiles<HopperSchedule::one_group, 2>::rehearses);
static_assert(!SmallTiles<HopperSchedule::one_group, 1, true>::rehearses);

TEST(OwnGemm, GroupsThatTakeTurnsMayHaveNoTile) {
  using Turns = SmallTiles<HopperSchedule::ping_pong>;
  static_assert(!Turns::rehearses, "a group without a tile would never pass its turn back");
  const GemmConfig config = own_gemm<Turns>("turns");
  for (const int n : {64, 192}) {
    GemmData data({.m = 64, .n = n, .k = 256, .a = DType::e4m3, .b = DType::e4m3, .fill = Fill::integer});
    const GemmProblem problem = data.problem();
    const Result<GemmPlan> plan = plan_gemm(problem, config, 1, ChipLimits::of(Chip::sm90));
    ASSERT_TRUE(plan) << plan.error();
    const Result<loom::Outcome> outcome = run_on_loom(problem, *plan, {.check = true});
    ASSERT_TRUE(outcome) << outcome.error();
    EXPECT_TRUE(outcome->ok()) << to_text(outcome->report);
    EXPECT_EQ(data.compare().rounding_mismatches, 0);
  }
}

}  // namespace
}  // namespace warploom::test
