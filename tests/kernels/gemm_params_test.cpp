// A launch's parameters: tensor maps as GemmShape promises them, paths by TMA's rules, tensors to the byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "loom/units/tma.hpp"
#include "plan/gemm_problems.hpp"

namespace warploom::test {
namespace {

bool empty(const TensorMap& map) {
  for (uint64_t word : map.opaque)
    if (word != 0) return false;
  return true;
}

void expect_map(const char* what, const TensorMap& map, std::array<uint64_t, 3> dims, std::array<uint32_t, 3> box,
                Swizzle swizzle) {
  SCOPED_TRACE(what);
  ASSERT_FALSE(empty(map));
  const TensorMapArgs args = loom::decode_tensor_map(map).args;
  EXPECT_EQ(args.rank, 3u);
  for (size_t d = 0; d < 3; ++d) {
    EXPECT_EQ(args.dims[d], dims[d]) << d;
    EXPECT_EQ(args.box[d], box[d]) << d;
  }
  EXPECT_EQ(args.swizzle, swizzle);
}

TEST(GemmParams, MapsAreWhatTheShapeSays) {
  constexpr int m = 300, n = 512, k = 1000;
  for (const GemmConfig& config : configs_of_both_chips())
    for (DType d : {DType::bf16, DType::f16, DType::f32, DType::e4m3}) {
      SCOPED_TRACE(std::string(config.key) + " " + name_of(d));
      const GemmShape& s = config.shape;
      const int batch = config.scaling == Scaling::none ? 3 : 1;
      GemmProblem p = dense_problem(m, n, k, batch, types_of(config, d));
      p.beta = 1.0f;
      Result<GemmPlan> plan = plan_gemm(p, config, 1);
      ASSERT_TRUE(plan) << plan.error();
      Result<GemmLaunch> launch = make_launch(p, *plan, nullptr, encode_for(s.chip));
      ASSERT_TRUE(launch) << launch.error();
      const GemmParams& params = launch->params;
      auto operand = [&](const char* what, const TensorMap& map, Major major, int rows, int box_rows) {
        const auto r = static_cast<uint64_t>(rows), b = static_cast<uint64_t>(batch);
        const auto tile_k = static_cast<uint32_t>(s.tile_k);
        if (major == Major::k)
          expect_map(what, map, {k, r, b}, {tile_k, static_cast<uint32_t>(box_rows), 1}, Swizzle::b128);
        else
          expect_map(what, map, {r, k, b}, {64, tile_k, 1}, Swizzle::b128);
      };
      operand("left", params.left, s.swap ? config.b_major : config.a_major, s.swap ? n : m, s.left_box_rows);
      operand("right", params.right, s.swap ? config.a_major : config.b_major, s.swap ? m : n, s.right_box_rows);

      const TensorMap& a_scales = s.swap ? params.right_scales : params.left_scales;
      const TensorMap& b_scales = s.swap ? params.left_scales : params.right_scales;
      const auto a_rows = static_cast<uint32_t>(s.swap ? s.tile_right : s.tile_left);
      const auto b_rows = static_cast<uint32_t>(s.swap ? s.tile_left : s.tile_right);
      EXPECT_EQ(empty(a_scales), config.scaling == Scaling::none);
      EXPECT_EQ(empty(b_scales), config.scaling == Scaling::none);
      if (!empty(a_scales)) expect_map("a_scales", a_scales, {m, 8, 1}, {a_rows, 1, 1}, Swizzle::none);
      if (config.scaling == Scaling::a_rows_b_rows)
        expect_map("b_scales", b_scales, {n, 8, 1}, {b_rows, 1, 1}, Swizzle::none);
      if (config.scaling == Scaling::a_rows_b_blocks)
        expect_map("b_scales", b_scales, {n / 128 * 8, 1, 1}, {4, 1, 1}, Swizzle::none);

      const auto unit = static_cast<uint32_t>(params.fused ? s.plain_columns : s.unit_columns);
      auto output = [&](const char* what, const TensorMap& map, DType type, Path path, uint32_t unswapped_rows) {
        const uint32_t columns = (s.swap ? 64 : unit) / (type == DType::f32 ? 2 : 1);
        const uint32_t rows = s.swap ? unit : unswapped_rows;
        const bool tma = columns * size_of(type) % 16 == 0;
        EXPECT_EQ(path, tma ? Path::tma : Path::plain) << what;
        EXPECT_EQ(empty(map), !tma) << what;
        if (tma)
          expect_map(what, map, {n, m, static_cast<uint64_t>(batch)}, {columns, rows, 1},
                     size_of(type) == 1 ? Swizzle::b64 : Swizzle::b128);
      };
      output("d", params.d, p.d.type, params.d_path, 16);  // a warp's rows
      // Rows that follow each other come at once, those of tensor memory with 128 rows warp by warp.
      EXPECT_EQ(s.load_rows, s.swap                                                            ? s.unit_columns
                             : s.chip == Chip::sm90 || (s.tile_left == 64 && s.cta_group == 1) ? 64
                                                                                               : 16);
      output("c", params.c, p.c.type, params.c_path, static_cast<uint32_t>(s.load_rows));
      EXPECT_EQ(params.k_blocks, (k + s.tile_k - 1) / s.tile_k);
      EXPECT_EQ(launch->grid.count(), static_cast<uint32_t>(plan->ctas));
      EXPECT_EQ(launch->cluster.count(), static_cast<uint32_t>(s.cluster_size()));
    }
}

TEST(GemmParams, PlainOutputsAreStoredInWideBoxes) {
  for (const GemmConfig& config : configs_of_both_chips()) {
    SCOPED_TRACE(config.key);
    const GemmShape& s = config.shape;
    EXPECT_EQ(s.plain_columns, std::min(s.tile_right, 64));
    EXPECT_TRUE(s.plain_rows == s.store_rows || (s.plain_rows == 64 && s.load_rows == 64 && !s.swap));
    if (config.key == std::string_view("bf16-kk-64x64-one-1x1") ||
        config.key == std::string_view("e4m3-blocks-256x128-coop-1x2")) {
      EXPECT_EQ(s.plain_rows, 64);
    }
    if (config.key == std::string_view("bf16-kk-128x176-pp-2x1")) {
      EXPECT_EQ(s.plain_rows, 16);
    }
    auto launched = [&](GemmProblem p, int splits) {
      Result<GemmPlan> plan = plan_gemm(p, config, splits);
      EXPECT_TRUE(plan) << plan.error();
      alignas(128) static std::array<char, 1 << 24> workspace;
      Result<GemmLaunch> launch = make_launch(p, *plan, workspace.data(), encode_for(s.chip));
      EXPECT_TRUE(launch) << launch.error();
      return launch->params;
    };
    const GemmProblem plain = dense_problem(300, 512, 1024, 1, types_of(config, DType::f16));
    const GemmParams params = launched(plain, 1);
    EXPECT_EQ(params.plain, !s.swap);
    if (!s.swap)
      expect_map("d", params.d, {512, 300, 1},
                 {static_cast<uint32_t>(s.plain_columns), static_cast<uint32_t>(s.plain_rows), 1}, Swizzle::b128);
    GemmProblem other = plain;
    other.activation = Activation::relu;
    EXPECT_FALSE(launched(other, 1).plain);
    other = plain;
    other.beta = 1.0f;
    EXPECT_FALSE(launched(other, 1).plain);
    if (s.partial_floats > 0) {
      EXPECT_FALSE(launched(plain, 2).plain);
    }
    EXPECT_FALSE(launched(dense_problem(300, 512, 1024, 1, types_of(config, DType::f32)), 1).plain);
  }
}

// What few clusters read leaves the L2 cache first, and the other operand last; where many read both, neither.
TEST(GemmParams, AStreamedOperandLeavesTheCacheFirst) {
  for (const GemmConfig& config : configs_of_both_chips()) {
    SCOPED_TRACE(config.key);
    const GemmShape& s = config.shape;
    const auto hints = [&](int m, int n, int batch = 1, bool shared = false) {  // of A and B
      GemmProblem p = dense_problem(m, n, 1024, batch, types_of(config, DType::bf16));
      if (shared) p.a.batch_stride = p.b.batch_stride = 0;
      const Result<GemmPlan> plan = plan_gemm(p, config, 1);
      EXPECT_TRUE(plan) << plan.error();
      const Result<GemmLaunch> launch = make_launch(p, *plan, nullptr, encode_for(s.chip));
      EXPECT_TRUE(launch) << launch.error();
      const GemmParams& params = launch->params;
      EXPECT_EQ(params.d_hint, CacheHint::normal);
      return s.swap ? std::pair(params.right_hint, params.left_hint) : std::pair(params.left_hint, params.right_hint);
    };
    const int a_rows = (s.swap ? s.tile_right * s.cluster_right : s.tile_left * s.cluster_left),
              b_rows = (s.swap ? s.tile_left * s.cluster_left : s.tile_right * s.cluster_right);
    const std::pair stream_b{CacheHint::evict_last, CacheHint::evict_first},
        stream_a{CacheHint::evict_first, CacheHint::evict_last}, neither{CacheHint::normal, CacheHint::normal};
    EXPECT_EQ(hints(8, 3 * b_rows), stream_b);
    EXPECT_EQ(hints(2 * a_rows, 2 * b_rows + 8), stream_b);
    EXPECT_EQ(hints(2 * a_rows + 8, 2 * b_rows + 8), neither);
    EXPECT_EQ(hints(2 * a_rows + 8, 2 * b_rows), stream_a);
    EXPECT_EQ(hints(2 * a_rows, 2 * b_rows), neither);
    if (config.scaling != Scaling::none) continue;
    // In a batch the other operand is another one soon; and what all matrices share is no stream.
    EXPECT_EQ(hints(8, 3 * b_rows, 3), (std::pair{CacheHint::normal, CacheHint::evict_first}));
    EXPECT_EQ(hints(2 * a_rows + 8, 2 * b_rows, 3), (std::pair{CacheHint::evict_first, CacheHint::normal}));
    EXPECT_EQ(hints(8, 3 * b_rows, 3, true), neither);
  }
}

TEST(GemmParams, TheLastUnitOfATileMayBeNarrow) {
  const Result<const GemmConfig*> config = find_gemm_config("bf16-kk-128x176-pp-2x1");
  ASSERT_TRUE(config);
  const GemmShape& s = (*config)->shape;
  EXPECT_EQ(s.unit_columns, 32);
  EXPECT_EQ(s.rest_columns, 16);
  for (const DType type : {DType::bf16, DType::e4m3, DType::f32}) {
    GemmProblem p = dense_problem(300, 512, 1024, 1, types_of(**config, type));
    p.activation = Activation::relu;
    const Result<GemmPlan> plan = plan_gemm(p, **config, 1);
    ASSERT_TRUE(plan) << plan.error();
    const Result<GemmLaunch> launch = make_launch(p, *plan, nullptr, &encode_sm90);
    ASSERT_TRUE(launch) << launch.error();
    EXPECT_EQ(empty(launch->params.d_rest), type == DType::f32) << "16 columns of f32 are a box of D";
    if (type != DType::f32)
      expect_map("d_rest", launch->params.d_rest, {512, 300, 1}, {16, 16, 1},
                 size_of(type) == 1 ? Swizzle::b64 : Swizzle::b128);
  }
}

TEST(GemmParams, WhatMostLaunchesAddIsFusedInWideBoxes) {
  int fusing = 0;
  for (const GemmConfig& config : gemm_configs()) {
    SCOPED_TRACE(config.key);
    const GemmShape& s = config.shape;
    EXPECT_EQ(s.fuses, s.ping_pong && s.tile_right <= 176);
    fusing += s.fuses;
    if (config.scaling != Scaling::none) continue;
    auto launched = [&](auto change) {
      GemmProblem p = dense_problem(300, 512, 1024, 1, types_of(config, config.a));
      p.beta = 1.0f;
      p.c.type = p.d.type;
      p.bias = {p.c.data, p.d.type, BiasAlong::n};
      p.activation = Activation::silu;
      change(p);
      Result<GemmPlan> plan = plan_gemm(p, config, 1);
      EXPECT_TRUE(plan) << plan.error();
      Result<GemmLaunch> launch = make_launch(p, *plan, nullptr, &encode_sm90);
      EXPECT_TRUE(launch) << launch.error();
      return launch->params;
    };
    if (size_of(config.a) != 2) continue;
    const GemmParams params = launched([](GemmProblem&) {});
    EXPECT_EQ(params.fused, s.fuses);
    if (!s.fuses) continue;
    expect_map("c", params.c, {512, 300, 1}, {64, 64, 1}, Swizzle::b128);
    expect_map("d", params.d, {512, 300, 1}, {64, 16, 1}, Swizzle::b128);
    const auto rest = static_cast<uint32_t>(s.tile_right % 64);
    EXPECT_EQ(empty(params.d_rest), rest == 0);
    if (rest != 0) expect_map("d_rest", params.d_rest, {512, 300, 1}, {rest, 16, 1}, Swizzle::b128);

    EXPECT_TRUE(launched([](GemmProblem& p) { p.beta = 0.0f; }).fused);
    EXPECT_TRUE(launched([](GemmProblem& p) { p.bias.along = BiasAlong::none; }).fused);
    EXPECT_TRUE(launched([](GemmProblem& p) { p.activation = Activation::none; }).fused);
    EXPECT_FALSE(launched([](GemmProblem& p) { p.alpha = 2.0f; }).fused);
    EXPECT_FALSE(launched([](GemmProblem& p) { p.bias.along = BiasAlong::m; }).fused);
    EXPECT_FALSE(launched([](GemmProblem& p) { p.activation = Activation::gelu; }).fused);
    EXPECT_FALSE(launched([](GemmProblem& p) { p.c.data = static_cast<const char*>(p.c.data) + 2; }).fused);
    EXPECT_FALSE(launched([](GemmProblem& p) { p.d.type = p.c.type = DType::f32; }).fused);
    EXPECT_FALSE(launched([](GemmProblem& p) { p.n = 508; }).fused) << "TMA cannot write such rows to their ends";
    EXPECT_FALSE(launched([](GemmProblem& p) {
                   p.beta = 0.0f;
                   p.bias.along = BiasAlong::none;
                   p.activation = Activation::none;
                 }).fused)
        << "that is a plain product";
  }
  EXPECT_GE(fusing, 3);
}

TEST(GemmParams, PathsFollowTheSixteenByteRules) {
  const GemmShape& s = gemm_configs()[0].shape;
  GemmProblem p = dense_problem(100, 200, 300, 2);
  EXPECT_EQ(d_path(p, s), Path::tma);
  EXPECT_EQ(c_path(p, s), Path::none) << "beta is 0";
  p.beta = 1.0f;
  EXPECT_EQ(c_path(p, s), Path::tma);
  p.d.stride = 201;
  EXPECT_EQ(d_path(p, s), Path::plain);
  p.d.stride = 208;
  p.d.batch_stride += 1;
  EXPECT_EQ(d_path(p, s), Path::plain);
  p.batch = 1;
  EXPECT_EQ(d_path(p, s), Path::tma) << "a batch of one has no batch stride";
  p.d.data = static_cast<char*>(p.d.data) + 2;
  EXPECT_EQ(d_path(p, s), Path::plain);
  EXPECT_EQ(c_path(p, s), Path::tma) << "each for itself";
}

TEST(GemmParams, WithoutKThereAreNoOperandMaps) {
  GemmProblem p = dense_problem(100, 200, 0);
  p.a.data = p.b.data = nullptr;
  const Result<GemmPlan> plan = plan_gemm(p);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->splits, 1);
  const Result<GemmLaunch> launch = make_launch(p, *plan, nullptr, &encode_sm90);
  ASSERT_TRUE(launch) << launch.error();
  EXPECT_TRUE(empty(launch->params.left));
  EXPECT_TRUE(empty(launch->params.right));
  EXPECT_EQ(launch->params.k_blocks, 0);
  EXPECT_GT(launch->grid.x, 0u) << "D is still to be written";
}

size_t bytes_of(const std::vector<loom::TensorRef>& tensors, std::string_view name) {
  for (const loom::TensorRef& tensor : tensors)
    if (tensor.name == name) return tensor.bytes;
  return 0;
}

TEST(GemmParams, TensorsEndWithTheirLastElement) {
  GemmProblem p = dense_problem(10, 24, 40, 3);
  p.a.stride = 48;
  p.a.batch_stride = 1000;
  p.bias.along = BiasAlong::m;
  GemmPlan plan;
  plan.config = gemm_configs().data();
  auto tensors = gemm_tensors(p, plan, nullptr);
  EXPECT_EQ(bytes_of(tensors, "A"), (2 * 1000 + 9 * 48 + 40) * 2u);
  EXPECT_EQ(bytes_of(tensors, "B"), 3 * 24 * 40 * 2u);
  EXPECT_EQ(bytes_of(tensors, "D"), 3 * 10 * 24 * 2u);
  EXPECT_EQ(bytes_of(tensors, "C"), 0u);
  EXPECT_EQ(bytes_of(tensors, "bias"), 40u);
  EXPECT_EQ(bytes_of(tensors, "workspace"), 0u);
  p.beta = 1.0f;
  p.a.major = Major::mn;
  plan.workspace_bytes = 4096;
  tensors = gemm_tensors(p, plan, place(7));
  EXPECT_EQ(bytes_of(tensors, "A"), (2 * 1000 + 39 * 48 + 10) * 2u);
  EXPECT_EQ(bytes_of(tensors, "C"), 3 * 10 * 24 * 2u);
  EXPECT_EQ(bytes_of(tensors, "workspace"), 4096u);
  p.scaling = Scaling::a_rows_b_blocks;
  p.n = 136;
  p.k = 300;
  p.a_scales.batch_stride = 40;
  p.b_scales.batch_stride = 8;
  tensors = gemm_tensors(p, plan, nullptr);
  EXPECT_EQ(bytes_of(tensors, "a_scales"), (2 * 40 + 2 * 12 + 10) * 4u);
  EXPECT_EQ(bytes_of(tensors, "b_scales"), (2 * 8 + 2 * 3) * 4u);
}

TEST(GemmParams, SplitsHaveCountersThenPartialSums) {
  for (const GemmConfig& config : configs_of_both_chips()) {
    if (config.a != DType::bf16 || config.scaling != Scaling::none) continue;
    const GemmProblem p = dense_problem(300, 500, 4096, 2, types_of(config));
    const Result<GemmPlan> plan = plan_gemm(p, config, 3);
    const GemmShape& s = config.shape;
    EXPECT_EQ(static_cast<bool>(plan), s.partial_floats != 0) << config.key;
    if (!plan) continue;
    const auto tiles = static_cast<size_t>(gemm_tiles(p, s).ctas) * 2;
    const size_t counters = gemm_counter_bytes(p, s, 3);
    EXPECT_EQ(counters % 1024, 0u);
    EXPECT_GE(counters, tiles * static_cast<size_t>(s.groups) * 4);
    EXPECT_EQ(plan->workspace_bytes, counters + tiles * 3 * s.partial_floats * 4);
    char* const workspace = static_cast<char*>(place(7));
    const Result<GemmLaunch> launch = make_launch(p, *plan, workspace, encode_for(s.chip));
    ASSERT_TRUE(launch) << launch.error();
    EXPECT_EQ(static_cast<void*>(launch->params.counters), workspace);
    EXPECT_EQ(static_cast<void*>(launch->params.partials), workspace + counters);
    EXPECT_FALSE(make_launch(p, *plan, nullptr, &encode_sm90));
    EXPECT_FALSE(make_launch(p, *plan, workspace + 16, &encode_sm90));
  }
}

TEST(GemmParams, ALineOfTilesIsWalkedInTheOrderOfTheRaster) {
  int along_m = 0, along_n = 0;
  for (const GemmConfig& config : configs_of_both_chips())
    for (const auto& [m, n] : {std::pair{64, 2112}, {7, 600}, {2000, 8}, {300, 520}, {1, 1}}) {
      SCOPED_TRACE(std::string(config.key) + " " + std::to_string(m) + "x" + std::to_string(n));
      const GemmProblem p = dense_problem(m, n, 1000, 1, types_of(config));
      Result<GemmPlan> plan = plan_gemm(p, config, 1);
      if (!plan) continue;  // blockwise, N no multiple of 8
      const auto params_of = [&](const GemmPlan& made) {
        return make_launch(p, made, nullptr, encode_for(config.shape.chip))->params;
      };
      const GemmTiles tiles = gemm_tiles(p, config.shape);
      const TileLine line = params_of(*plan).line;
      EXPECT_EQ(line.items, tiles.clusters);
      EXPECT_EQ(line.k_blocks, (1000 + config.shape.tile_k - 1) / config.shape.tile_k);
      if (!line.straight) {
        EXPECT_TRUE((tiles.left_clusters > 1 && tiles.right_clusters > 1) ||
                    plan->ctas < tiles.clusters * config.shape.cluster_size());
        continue;
      }
      ++(line.along_m ? along_m : along_n);
      for (const Raster raster : {Raster{}, Raster{Raster::Along::n, 0}, Raster{Raster::Along::m, 2}, {plan->raster}}) {
        plan->raster = raster;
        const PreparedTiles order = params_of(*plan).tiles;
        for (int i = 0; i < line.items; ++i) {
          EXPECT_EQ(order[i].m, line.along_m ? i : 0);
          EXPECT_EQ(order[i].n, line.along_m ? 0 : i);
        }
      }
      if (!config.shape.launch_control && plan->ctas > config.shape.cluster_size()) {  // several tiles for a cluster
        plan->ctas = config.shape.cluster_size();
        EXPECT_FALSE(params_of(*plan).line.straight);
      }
    }
  EXPECT_GT(along_m, 20);
  EXPECT_GT(along_n, 20);
}

TEST(GemmParams, NeitherBatchesNorSplitsAreALine) {
  const Result<const GemmConfig*> found = find_gemm_config("bf16-kk-64x64-one-1x1");
  ASSERT_TRUE(found) << found.error();
  const GemmConfig& config = **found;
  for (const auto& [batch, splits] : {std::pair{1, 1}, {2, 1}, {1, 2}}) {
    const GemmProblem p = dense_problem(64, 520, 4096, batch, types_of(config));
    const Result<GemmPlan> plan = plan_gemm(p, config, splits);
    ASSERT_TRUE(plan) << plan.error();
    const Result<GemmLaunch> launch = make_launch(p, *plan, place(7), encode_for(config.shape.chip));
    ASSERT_TRUE(launch) << launch.error();
    EXPECT_EQ(launch->params.line.items, 9 * batch * splits);
    EXPECT_EQ(launch->params.line.straight, batch == 1 && splits == 1);
  }
}

}  // namespace
}  // namespace warploom::test
