// The Hopper GEMMs on the loom: every configuration, types, tails, strides, epilogues and schedules.
#include <array>
#include <cstring>

#include "kernels/gemm_cases.hpp"
#include "kernels/gemm_entry.hpp"
#include "kernels/gemm_params.hpp"
#include "warploom/loom/tensor_map.hpp"

namespace warploom {

using SmallKernel = HopperGemm<bf16, bf16, Major::k, Major::k, Scaling::none, 64, 64, HopperSchedule::one_group, 1, 1,
                               1, false>;  // bf16-kk-64x64-one-1x1
extern template void gemm_entry<SmallKernel>(const void*);
using WideKernel = HopperGemm<bf16, bf16, Major::k, Major::k, Scaling::none, 128, 256, HopperSchedule::cooperative, 2,
                              1, 1, false>;  // bf16-kk-128x256-coop-2x1
extern template void gemm_entry<WideKernel>(const void*);

namespace test {
namespace {

class HopperGemms : public testing::TestWithParam<const GemmConfig*> {};
class HopperGemmsFull : public testing::TestWithParam<const GemmConfig*> {};

TEST_P(HopperGemms, AnyProblem) { run_random(*GetParam(), 8, 1); }
TEST_P(HopperGemmsFull, AnyProblem) { run_random(*GetParam(), 150, 2); }

TEST_P(HopperGemms, EmptyAndTiny) {
  const GemmConfig& config = *GetParam();
  expect_right(config, {.spec = {.m = 0, .n = 8, .k = 8}});
  expect_right(config, {.spec = {.m = 8, .n = 0, .k = 8}});
  expect_right(config, {.spec = {.m = 8, .n = 8, .k = 8, .batch = 0}});
  expect_right(config, {.spec = {.m = 1, .n = 1, .k = 1, .fill = Fill::integer}});
  // A product over nothing leaves the epilogue.
  expect_right(config, {.spec = {.m = 5, .n = 16, .k = 0, .bias = BiasAlong::n, .beta = 1.0f, .fill = Fill::integer}});
  expect_right(config, {.spec = {.m = 5, .n = 16, .k = 0, .fill = Fill::integer}, .splits = 2});
}

TEST_P(HopperGemms, SplitsInAnyOrder) {
  const GemmConfig& config = *GetParam();
  if (config.shape.partial_floats == 0) {  // large tiles: refused in a sentence
    GemmDataSpec spec{.m = 70, .n = 72, .k = 64};
    spec.a = config.a, spec.b = config.b, spec.a_major = config.a_major, spec.b_major = config.b_major;
    spec.scaling = config.scaling;
    GemmData data(spec);
    const Result<GemmPlan> plan = plan_gemm(data.problem(), config, 2);
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().find(config.shape.cluster_k > 1 ? "CTAs of a cluster" : "does not split"), std::string::npos)
        << plan.error();
    return;
  }
  for (const char* schedule : {"eager", "lazy", "adversarial", "random:5"})
    for (int splits : {2, 5, 16})  // more than there are K blocks, too
      expect_right(config,
                   {.spec = {.m = 70, .n = 72, .k = 4 * config.shape.tile_k + 3, .beta = 0.5f, .fill = Fill::integer},
                    .splits = splits,
                    .sms = 4 * config.shape.cluster_size(),
                    .schedule = *loom::Schedule::parse(schedule)});
}

/// D of data on which every order of addition gives other bits.
std::vector<std::byte> product(const char* key, int splits, const char* schedule = "eager") {
  const Result<const GemmConfig*> config = find_gemm_config(key);
  if (!config) {
    ADD_FAILURE() << config.error();
    return {};
  }
  GemmDataSpec spec{.m = 100, .n = 136, .k = 7 * 64 + 8, .d = DType::f32};
  spec.a = (*config)->a, spec.b = (*config)->b, spec.scaling = (*config)->scaling;
  GemmData data(spec);
  const GemmProblem problem = data.problem();
  const Result<GemmPlan> plan = plan_gemm(problem, **config, splits, ChipLimits::of((*config)->shape.chip));
  if (!plan) {
    ADD_FAILURE() << plan.error();
    return {};
  }
  loom::Options options;
  options.schedule = *loom::Schedule::parse(schedule);
  const Result<loom::Outcome> outcome = run_on_loom(problem, *plan, options);
  EXPECT_TRUE(outcome && outcome->ok());
  return data.dense_d();
}

/// Splits are added in one order, whichever of them is ready first.
TEST(GemmSplits, AnyScheduleGivesTheSameBits) {
  for (const GemmConfig* config :
       built_of({"bf16-kk-64x64-one-1x1", "e4m3-blocks-64x64-one-1x1", "bf16-kk-64x16-one-1x1-swap",
                 "bf16-kk-64x128-1sm-1x1", "bf16-kk-128x16-1sm-1x1-k4-clc", "bf16-kk-64x16-1sm-1x1-k4-swap",
                 "tf32-kk-128x128-1sm-1x1"})) {
    const char* const key = config->key;
    const std::vector<std::byte> expected = product(key, 3);
    for (const char* schedule : {"lazy", "adversarial", "random:1", "random:2", "random:3", "random:4", "lazy:5"})
      EXPECT_TRUE(product(key, 3, schedule) == expected) << key << " under " << schedule;
    EXPECT_FALSE(product(key, 1) == expected) << key << ": the data does not tell orders of addition apart";
  }
}

/// What CTAs of a cluster copy for each other may land after everything else.
TEST(GemmClusters, CopiesForOthersMayBeLate) {
  for (const GemmConfig* config :
       built_of({"bf16-kk-128x256-coop-2x1", "bf16-kk-64x112-one-2x1", "bf16-kk-128x128-pp-1x2",
                 "e4m3-blocks-256x128-coop-1x2", "bf16-kk-64x128-2sm-2x2-clc", "bf16-kk-128x256-2sm-4x4"})) {
    const char* const key = config->key;
    const std::vector<std::byte> expected = product(key, 1);
    for (const char* schedule : {"eager:faults=multicast", "lazy:faults=multicast", "adversarial:faults=multicast",
                                 "random:1:faults=multicast"})
      EXPECT_TRUE(product(key, 1, schedule) == expected) << key << " under " << schedule;
  }
}

/// Sums that meet within a cluster are those of as many splits in a workspace, bit for bit.
TEST(GemmSplits, WithinAClusterAndThroughAWorkspace) {
  const std::pair<const char*, const char*> pairs[] = {
      {"bf16-kk-64x64-one-1x1", "bf16-kk-64x64-one-1x1x2"},
      {"bf16-kk-64x8-one-1x1-swap", "bf16-kk-64x8-one-1x1x2-swap"},
      {"bf16-kk-128x64-coop-1x1", "bf16-kk-128x64-coop-1x1x2"},
      {"e4m3-blocks-64x64-one-1x1", "e4m3-blocks-64x64-one-1x1x2"},
      {"e4m3-blocks-128x64-coop-1x1", "e4m3-blocks-128x64-coop-1x1x2"}};
  for (const auto& [workspace, cluster] : pairs) {
    if (!built_for_loom(**find_gemm_config(cluster)) || !built_for_loom(**find_gemm_config(workspace))) continue;
    const std::vector<std::byte> split = product(workspace, 2);
    EXPECT_TRUE(split == product(cluster, 1)) << cluster;
    EXPECT_FALSE(split == product(workspace, 1)) << "the data does not tell orders of addition apart";
  }
}

INSTANTIATE_TEST_SUITE_P(Every, HopperGemms, testing::ValuesIn(built_configs(Chip::sm90)), name_of_config);
INSTANTIATE_TEST_SUITE_P(Every, HopperGemmsFull, testing::ValuesIn(built_configs(Chip::sm90)), name_of_config);

/// Every type of output with every path, bias and residual, on the smallest tiles either way round.
TEST(GemmEpilogues, EveryCombination) {
  for (const GemmConfig& config : gemm_configs()) {
    if (config.shape.tile_left != 64 || config.a != DType::bf16 || !built_for_loom(config)) continue;
    uint64_t seed = 1;
    for (DType d : {DType::bf16, DType::f16, DType::f32, DType::e4m3})
      for (BiasAlong bias : {BiasAlong::none, BiasAlong::n, BiasAlong::m})
        for (float beta : {0.0f, -0.5f})
          for (bool odd : {false, true})
            for (Activation activation : {Activation::none, Activation::relu}) {
              expect_right(config, {.spec = {.m = 67,
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

/// A CTA's last tile: two groups that share it finish it one after the other, in places where operands were; in a
/// ping-pong kernel both write it, if it has enough K blocks and an epilogue that is worth it.
TEST(GemmEpilogues, TheLastTileOfACta) {
  const char* const schedules[] = {"eager", "lazy", "adversarial", "random:7"};
  size_t turn = 0;
  for (const GemmConfig* config :
       built_of({"bf16-kk-128x256-coop-2x1", "bf16-kk-128x224-coop-2x1", "bf16-kk-128x176-pp-2x1",
                 "bf16-kk-128x160-pp-2x1", "bf16-kk-128x128-pp-1x2", "e4m3-blocks-128x192-coop-2x1"})) {
    const GemmShape& s = config->shape;
    for (int tiles : {1, 2, 3})
      for (int k_blocks : {1, s.stages - 2, s.stages - 1, s.stages, s.stages + 1, 2 * s.stages + 1})
        for (bool fused : {false, true}) {
          GemmDataSpec spec{.m = tiles * s.cluster_left * s.tile_left - 3,
                            .n = s.cluster_right * s.tile_right,
                            .k = k_blocks * s.tile_k,
                            .fill = turn % 2 == 0 ? Fill::normal : Fill::integer,
                            .seed = turn};
          if (fused) spec.bias = BiasAlong::n, spec.bias_type = DType::bf16, spec.activation = Activation::silu;
          if (fused && turn % 3 != 0) spec.beta = 1.0f;
          if (fused && turn % 5 == 0) spec.bias = BiasAlong::none;
          if (turn % 7 == 0) spec.batch = 2;
          expect_right(*config, {.spec = spec,
                                 .sms = s.cluster_size(),
                                 .schedule = *loom::Schedule::parse(schedules[turn++ % std::size(schedules)])});
          if (HasFailure()) return;
        }
  }
}

TEST(GemmEpilogues, InPlaceNoTileReadsItsNeighbours) {
  for (const GemmConfig& config : gemm_configs()) {
    const GemmShape& shape = config.shape;
    if (shape.tile_right % 64 == 0 || shape.swap || !built_for_loom(config)) continue;
    for (const bool quick : {false, true})  // as `fused` wants it, also where both groups write a tile
      expect_right(config, {.spec = {.m = 130,
                                     .n = 3 * shape.tile_right - 16,
                                     .k = quick ? (shape.stages + 1) * shape.tile_k : 64,
                                     .d = config.scaling == Scaling::none && quick ? config.a : DType::bf16,
                                     .bias = BiasAlong::n,
                                     .activation = Activation::silu,
                                     .alpha = quick ? 1.0f : 0.5f,
                                     .beta = -1.0f,
                                     .in_place = true}});
  }
}

TEST(GemmEpilogues, Activations) {
  for (const GemmConfig& config : gemm_configs()) {
    if (config.shape.tile_left != 64 || config.a != DType::bf16 || !built_for_loom(config)) continue;
    for (Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
      for (DType d : {DType::bf16, DType::f16, DType::f32})
        expect_right(config, {.spec = {.m = 64,
                                       .n = 80,
                                       .k = 64,
                                       .d = d,
                                       .bias = BiasAlong::n,
                                       .activation = activation,
                                       .alpha = 0.25f,
                                       .beta = 1.0f}});
  }
}

/// Runs a split product in a workspace that somebody else left behind; whether its counters are zero afterwards.
bool counters_end_at_zero(uint32_t first_counter) {
  GemmData data({.m = 64, .n = 64, .k = 256, .fill = Fill::integer});
  const GemmProblem problem = data.problem();
  const Result<const GemmConfig*> config = find_gemm_config("bf16-kk-64x64-one-1x1");
  EXPECT_TRUE(config);
  const Result<GemmPlan> plan = plan_gemm(problem, **config, 2);
  EXPECT_TRUE(plan);
  AlignedBytes workspace(plan->workspace_bytes);
  std::memcpy(workspace.data(), &first_counter, sizeof first_counter);
  const Result<GemmLaunch> launch = make_launch(problem, *plan, workspace.data(), [](const TensorMapArgs& args) {
    return loom::encode_tensor_map(args, loom::Chip::sm90);
  });
  EXPECT_TRUE(launch);
  const loom::Outcome outcome =
      loom::launch({.grid = launch->grid,
                    .cluster = launch->cluster,
                    .threads = launch->threads,
                    .shared_bytes = launch->shared_bytes,
                    .talks_across_clusters = true},
                   &gemm_entry<SmallKernel>, &launch->params, gemm_tensors(problem, *plan, workspace.data()));
  EXPECT_TRUE(outcome.ok()) << to_text(outcome.report);
  return gemm_counters_zero(workspace.data(), gemm_counter_bytes(problem, (*config)->shape, 2));
}

TEST(GemmOnTheLoom, CountersThatWereNotZeroAreSeen) {
  EXPECT_TRUE(counters_end_at_zero(0));
  EXPECT_FALSE(counters_end_at_zero(1));
}

/// Runs 16 tiles on four clusters that begin where they are told.
GemmData::Accuracy begun_at(std::array<uint8_t, 4> places) {
  GemmData data({.m = 1024, .n = 1024, .k = 64, .fill = Fill::integer});
  const GemmProblem problem = data.problem();
  const Result<const GemmConfig*> config = find_gemm_config("bf16-kk-128x256-coop-2x1");
  EXPECT_TRUE(config);
  const Result<GemmPlan> plan = plan_gemm(problem, **config, 1, {8});
  EXPECT_TRUE(plan);
  Result<GemmLaunch> launch = make_launch(problem, *plan, nullptr, [](const TensorMapArgs& args) {
    return loom::encode_tensor_map(args, loom::Chip::sm90);
  });
  EXPECT_TRUE(launch);
  std::copy(places.begin(), places.end(), launch->params.places.places);
  launch->params.places.count = 4;
  const loom::Outcome outcome =
      loom::launch({.grid = launch->grid,
                    .cluster = launch->cluster,
                    .threads = launch->threads,
                    .shared_bytes = launch->shared_bytes},
                   &gemm_entry<WideKernel>, &launch->params, gemm_tensors(problem, *plan, nullptr));
  EXPECT_TRUE(outcome.ok()) << to_text(outcome.report);
  return data.compare();
}

TEST(GemmOnTheLoom, ClustersBeginAtTheirPlaces) {
  EXPECT_EQ(begun_at({2, 0, 3, 1}).rounding_mismatches, 0);
  EXPECT_GT(begun_at({0, 1, 2, 2}).rounding_mismatches, 0) << "a quarter of the tiles is nobody's";
}

/// A build may have a part of the configurations: a plan names what it would take, and nothing else runs in its place
/// without a word.
TEST(GemmOnTheLoom, SaysWhatIsNotBuilt) {
  size_t built = 0, all = 0;
  for (Chip chip : {Chip::sm90, Chip::sm100})
    for (const GemmConfig& config : gemm_configs(chip)) {
      ++all;
      built += built_for_loom(config);
      GemmData data({.m = 40,
                     .n = 136,
                     .k = 200,
                     .a = config.a,
                     .b = config.b,
                     .a_major = config.a_major,
                     .b_major = config.b_major,
                     .scaling = config.scaling});
      const GemmProblem problem = data.problem();
      const Result<GemmPlan> plan = plan_gemm(problem, config, 1, ChipLimits::of(chip));
      ASSERT_TRUE(plan) << plan.error();
      if (!built_for_loom(config)) {
        const Result<loom::Outcome> refused = run_on_loom(problem, *plan);
        ASSERT_FALSE(refused) << config.key;
        EXPECT_NE(refused.error().find(config.key), std::string::npos) << refused.error();
        EXPECT_NE(refused.error().find("-DWARPLOOM_KERNELS=all"), std::string::npos) << refused.error();
      }
      const Result<GemmPlan> best = plan_gemm(problem, ChipLimits::of(chip));
      ASSERT_TRUE(best);
      const Result<GemmPlan> taken = plan_gemm_on_loom(problem, ChipLimits::of(chip));
      if (!taken) {
        EXPECT_NE(taken.error().find(best->config->key), std::string::npos) << taken.error();
        continue;
      }
      EXPECT_TRUE(built_for_loom(*taken->config));
      EXPECT_EQ(taken->instead_of, taken->config == best->config ? nullptr : best->config);
      EXPECT_EQ(taken->instead_of != nullptr, taken->why.find("which is not built") != std::string::npos) << taken->why;
    }
  EXPECT_GE(built * 4, all) << "a representative part is not as small as that";
}

TEST(GemmOnTheLoom, SayingWhatIsMissing) {
  GemmData data({.m = 64, .n = 64, .k = 256});
  GemmProblem problem = data.problem();
  EXPECT_FALSE(run_on_loom(problem, GemmPlan{}));
  Result<GemmPlan> plan = plan_gemm_on_loom(problem);
  ASSERT_TRUE(plan);
  plan->ctas = 0;
  EXPECT_FALSE(run_on_loom(problem, *plan));
  problem.a.stride = 3;
  const Result<loom::Outcome> refused = run_on_loom(problem, *plan);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("rows of A are 3 elements apart"), std::string::npos) << refused.error();
}

}  // namespace
}  // namespace test
}  // namespace warploom
