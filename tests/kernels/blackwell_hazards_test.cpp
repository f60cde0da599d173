// What has gone wrong in kernels like these, one by one: the Blackwell GEMM has none of it, and where that hangs on one
// instruction, leaving it out is reported.
#include <fmt/ranges.h>

#include <set>

#include "kernels/gemm_cases.hpp"
#include "kernels/gemm_entry.hpp"
#include "kernels/gemm_params.hpp"
#include "warploom/loom/tensor_map.hpp"

namespace warploom::test {
namespace {

const GemmConfig& config_of(const char* key) {
  const Result<const GemmConfig*> config = find_gemm_config(key);
  EXPECT_TRUE(config) << key;
  return **config;
}

/// Integers, with the configuration's types and scales.
GemmDataSpec spec_for(const GemmConfig& config, int m, int n, int k, float beta) {
  GemmDataSpec spec{.m = m, .n = n, .k = k, .a = config.a, .b = config.b, .beta = beta, .fill = Fill::integer};
  spec.scaling = config.scaling;
  return spec;
}

struct Ran {
  loom::Outcome outcome;
  bool right = false;
};
Ran run(const GemmConfig& config, const GemmDataSpec& spec, int sms, const loom::Options& options) {
  GemmData data(spec);
  const GemmProblem problem = data.problem();
  const Result<GemmPlan> plan = plan_gemm(problem, config, 1, {sms, Chip::sm100});
  EXPECT_TRUE(plan) << plan.error();
  Result<loom::Outcome> outcome = run_on_loom(problem, *plan, options);
  EXPECT_TRUE(outcome) << outcome.error();
  return {std::move(*outcome), data.acceptable(data.compare())};
}

/// Leaves out each place where a kernel does `operation`, one run each; the codes that are reported.
std::set<std::string> codes_without(const char* operation, const GemmConfig& config, const GemmDataSpec& spec,
                                    int& places) {
  const int sms = config.shape.cluster_size();
  loom::Options options;
  options.check = true;
  options.record_sites = true;
  const Ran original = run(config, spec, sms, options);
  EXPECT_TRUE(original.outcome.ok() && original.right) << to_text(original.outcome.report);
  options.record_sites = false;
  std::set<std::string> codes;
  places = 0;
  for (const loom::Site& site : original.outcome.sites) {
    if (site.operation != operation) continue;
    ++places;
    options.mutation = loom::Mutation{site.key(), loom::MutationKind::drop};
    const Ran mutated = run(config, spec, sms, options);
    codes.insert(mutated.outcome.ok() ? "not seen: " + site.key() : mutated.outcome.report.findings.front().code);
  }
  return codes;
}

// 1. The order of the two roles that load cannot be lost: a tile has fewer K blocks than any ring has slots, there is a
// residual, and the load role runs ahead as far as it may.
TEST(BlackwellHazards, LoadOrderDoesNotDeadlock) {
  for (const char* key : {"bf16-kk-128x64-1sm-1x1", "bf16-kk-64x256-2sm-2x1", "bf16-kk-128x16-1sm-1x1-k4-clc",
                          "e4m3-blocks-128x128-2sm-2x1"}) {
    const GemmConfig& config = config_of(key);
    const GemmShape& s = config.shape;
    const GemmDataSpec spec = spec_for(config, 5 * s.tile_left * s.cluster_left, s.tile_right, s.tile_k / 2, 1.0f);
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      loom::Options options;
      options.schedule = {loom::Policy::random, seed};
      const Ran one = run(config, spec, s.cluster_size(), options);
      ASSERT_TRUE(one.outcome.ok()) << key << " seed " << seed << '\n' << to_text(one.outcome.report);
      ASSERT_TRUE(one.right);
    }
  }
}

// 2. No CTA of a pair leaves while the other may still signal it, whichever of them is late; without the load role's
// last waits for its slots that happens.
TEST(BlackwellHazards, PairsLeaveTogether) {
  for (const char* key : {"bf16-kk-64x256-2sm-2x1", "bf16-kk-128x256-2sm-2x1-clc", "e4m3-blocks-128x128-2sm-2x1",
                          "e4m3-rows-128x128-2sm-2x1-clc"}) {
    const GemmConfig& config = config_of(key);
    const GemmDataSpec spec = spec_for(config, 300, 272, 200, 1.0f);
    for (const char* text : {"eager:0:skew=0", "eager:0:skew=1", "lazy:0:skew=0", "lazy:0:skew=1", "adversarial"}) {
      loom::Options options;
      options.schedule = *loom::Schedule::parse(text);
      options.check = true;
      const Ran one = run(config, spec, 2, options);
      ASSERT_TRUE(one.outcome.ok()) << key << " under " << text << '\n' << to_text(one.outcome.report);
      ASSERT_TRUE(one.right);
    }
  }
  int places = 0;
  for (const char* key : {"bf16-kk-64x256-2sm-2x1", "e4m3-blocks-128x128-2sm-2x1"}) {
    const GemmConfig& config = config_of(key);
    const auto codes = codes_without("mbarrier.wait", config, spec_for(config, 256, 128, 200, 0.0f), places);
    EXPECT_GE(places, 4) << key;
    EXPECT_TRUE(codes.contains("EXIT-REMOTE")) << key << ": " << fmt::format("{}", fmt::join(codes, ", "));
  }
}

// 3. 17 K blocks in 7 shares leave the last one empty. Nobody waits for it.
TEST(BlackwellHazards, EmptySplitsDoNotHang) {
  for (const GemmConfig* config : built_of({"bf16-kk-64x64-1sm-1x1-k2", "bf16-kk-128x256-2sm-2x1",
                                            "bf16-kk-64x16-1sm-1x1-k4-swap", "bf16-kk-128x256-2sm-2x1-clc"})) {
    for (const char* text : {"eager", "lazy", "adversarial", "random:3"})
      expect_right(*config, {.spec = {.m = 130, .n = 140, .k = 17 * config->shape.tile_k, .fill = Fill::integer},
                             .splits = 7,
                             .sms = 2 * config->shape.cluster_size(),
                             .schedule = *loom::Schedule::parse(text)});
  }
}

// 4. Every load of tensor memory is waited for before its registers are read.
TEST(BlackwellHazards, EveryLoadOfTensorMemoryIsWaitedFor) {
  for (const char* key :
       {"bf16-kk-128x64-1sm-1x1", "bf16-kk-64x256-2sm-2x1", "bf16-kk-128x256-2sm-2x1-clc",
        "bf16-kk-64x16-1sm-1x1-k4-swap", "e4m3-blocks-128x128-2sm-2x1", "e4m3-rows-128x128-2sm-2x1-clc"}) {
    const GemmConfig& config = config_of(key);
    int places = 0;
    const auto codes = codes_without("tcgen05.wait::ld", config, spec_for(config, 256, 64, 256, 1.0f), places);
    EXPECT_GE(places, 1) << key;
    EXPECT_EQ(codes, std::set<std::string>{"FRAGMENT"}) << key;
  }
}

// 5. Tensor memory changes hands through fences on both sides: the checker, which asks for them (TMEM-FENCE), has
// nothing to say, though every accumulator is used several times.
TEST(BlackwellHazards, TensorMemoryIsFenced) {
  for (const char* key :
       {"bf16-kk-128x64-1sm-1x1", "bf16-kk-64x64-1sm-1x1-k2", "bf16-kk-64x256-2sm-2x1", "bf16-kk-128x256-2sm-2x1-clc",
        "e4m3-blocks-128x128-2sm-2x1", "e4m3-rows-128x128-2sm-2x1-clc"}) {
    const GemmConfig& config = config_of(key);
    const GemmShape& s = config.shape;
    for (const char* text : {"eager", "lazy", "adversarial", "random:4"}) {
      loom::Options options;
      options.schedule = *loom::Schedule::parse(text);
      options.check = true;
      const Ran one = run(config, spec_for(config, 5 * s.tile_left * s.cluster_left, s.tile_right, 3 * s.tile_k, 0.0f),
                          s.cluster_size(), options);
      EXPECT_TRUE(one.outcome.ok()) << key << " under " << text << '\n' << to_text(one.outcome.report);
    }
  }
}

// Scales are read by another role than the operands: it waits for them itself, lets go of them itself, and takes every
// K block out of tensor memory before the next comes there.
TEST(BlackwellHazards, ScalesAreWaitedForAndGivenBack) {
  const GemmConfig& config = config_of("e4m3-blocks-128x128-2sm-2x1");
  const GemmDataSpec spec{.m = 256,
                          .n = 128,
                          .k = (config.shape.stages + 3) * 128,
                          .a = DType::e4m3,
                          .b = DType::e4m3,
                          .scaling = config.scaling,
                          .fill = Fill::integer};
  loom::Options options;
  options.check = true;
  options.record_sites = true;
  const Ran original = run(config, spec, 2, options);
  ASSERT_TRUE(original.outcome.ok() && original.right) << to_text(original.outcome.report);
  options.record_sites = false;
  const auto code_without = [&](const char* operation, const char* object) {
    for (const loom::Site& site : original.outcome.sites) {
      if (site.operation != operation || site.object != object) continue;
      options.mutation = loom::Mutation{site.key(), loom::MutationKind::drop};
      const loom::Outcome mutated = run(config, spec, 2, options).outcome;
      return mutated.ok() ? std::string("not seen") : mutated.report.findings.front().code;
    }
    return std::string("no such place");
  };
  EXPECT_EQ(code_without("mbarrier.wait", "input.scales.full"), "RACE-SMEM");
  EXPECT_EQ(code_without("mbarrier.arrive.expect_tx", "input.scales.full"), "DEADLOCK");
  EXPECT_EQ(code_without("mbarrier.arrive", "input.empty"), "DEADLOCK");
  EXPECT_EQ(code_without("mbarrier.arrive", "accum.empty"), "DEADLOCK");
  EXPECT_EQ(code_without("tcgen05.commit", "accum.full"), "DEADLOCK");
  EXPECT_EQ(code_without("tcgen05.wait::ld", ""), "FRAGMENT");
}

// 6. What the grid before writes is read after it is done, by every role that reads it (PDL-EARLY otherwise); only
// weights are asked for earlier, which is a hint.
struct CopyParams {
  const uint32_t* from;
  uint32_t* to;
  int words;
};
void copy_entry(const void* params) {
  const auto& p = *static_cast<const CopyParams*>(params);
  arch::grid_dependency_wait();
  arch::grid_launch_dependents();  // early: the GEMM may start while this grid still writes
  for (int i = static_cast<int>(arch::thread_index()); i < p.words; i += 32)
    arch::store_global(p.to + i, arch::load_global(p.from + i));
}

TEST(BlackwellHazards, TheResidualOfAnEarlierGridIsWaitedFor) {
  const GemmConfig& config = config_of("bf16-kk-128x64-1sm-1x1");
  using Kernel =
      BlackwellGemm<bf16, bf16, Major::k, Major::k, Scaling::none, 128, 64, 1, 1, 1, TileSource::fixed, 1, false>;
  GemmData data({.m = 128, .n = 64, .k = 128, .bias = BiasAlong::n, .beta = 1.0f, .fill = Fill::integer});
  GemmProblem problem = data.problem();
  Result<GemmPlan> plan = plan_gemm(problem, config, 1, ChipLimits::of(Chip::sm100));
  ASSERT_TRUE(plan);
  plan->weight_blocks = 2;  // and the weights are asked for before
  const size_t bytes = span_bytes(problem.n, problem.m, problem.c.stride, 1, 0, problem.c.type);
  AlignedBytes residual(bytes);
  const void* const source = problem.c.data;
  problem.c.data = residual.data();
  const Result<GemmLaunch> launch = make_launch(
      problem, *plan, nullptr, [](const TensorMapArgs& args) { return loom::encode_tensor_map(args, Chip::sm100); });
  ASSERT_TRUE(launch) << launch.error();
  EXPECT_EQ(launch->params.weight_blocks, 2);
  const CopyParams copy{static_cast<const uint32_t*>(source), reinterpret_cast<uint32_t*>(residual.data()),
                        static_cast<int>(bytes / 4)};
  const loom::TensorRef copied[] = {{residual.data(), bytes, loom::Access::write, "C"},
                                    {source, bytes, loom::Access::read, "source"}};
  const std::vector<loom::TensorRef> tensors = gemm_tensors(problem, *plan, nullptr);
  const loom::GridLaunch grids[] = {
      {{.kernel = "copy", .grid = {1}, .cluster = {1}, .threads = 32, .shared_bytes = 16}, &copy_entry, &copy, copied},
      {{.kernel = config.key,
        .grid = launch->grid,
        .cluster = launch->cluster,
        .threads = launch->threads,
        .shared_bytes = launch->shared_bytes},
       &gemm_entry<Kernel>,
       &launch->params,
       tensors}};
  for (const char* text : {"eager", "lazy", "adversarial", "random:1", "random:2"}) {
    loom::Options options;
    options.schedule = *loom::Schedule::parse(text);
    for (const loom::Outcome& outcome : loom::launch_dependent(grids, options))
      ASSERT_TRUE(outcome.ok()) << text << '\n' << to_text(outcome.report);
    EXPECT_TRUE(data.acceptable(data.compare()));
  }
}

// 7. Slots of several K blocks, where the last slot of a tile, or of a split, is not full: its bytes are those that
// were announced, and what lies beyond the range adds nothing.
TEST(BlackwellHazards, KGroupsEndAnywhere) {
  for (const char* key :
       {"bf16-kk-64x16-1sm-1x1-k4-swap", "bf16-kk-128x16-1sm-1x1-k4-clc", "bf16-kk-64x64-1sm-1x1-k2"}) {
    const GemmConfig& config = config_of(key);
    EXPECT_GT(config.shape.k_group, 1);
    for (int blocks = 1; blocks <= 9; ++blocks)
      for (int splits : {1, 3})
        expect_right(config, {.spec = {.m = 20, .n = 70, .k = blocks * config.shape.tile_k - 8, .fill = Fill::integer},
                              .splits = splits});
  }
}

}  // namespace
}  // namespace warploom::test
