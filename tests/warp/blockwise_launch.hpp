// Runs kernels that have the shape of examples/blockwise_fp8_kernel.hpp (its parameters, perhaps more) on the loom.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <tuple>
#include <vector>

#include "../../examples/blockwise_fp8_kernel.hpp"
#include "loom/units/tma.hpp"
#include "warploom/kernels/gemm_data.hpp"

namespace warploom::test {

using examples::BlockwiseFP8;
using examples::BlockwiseFP8Params;

/// Every policy, and a few random seeds.
inline const std::vector<loom::Schedule>& schedules() {
  static const std::vector<loom::Schedule> all = {{loom::Policy::eager},       {loom::Policy::lazy},
                                                  {loom::Policy::adversarial}, {loom::Policy::random, 1},
                                                  {loom::Policy::random, 2},   {loom::Policy::random, 3}};
  return all;
}

inline loom::Options on(const loom::Schedule& schedule) {
  loom::Options options;
  options.schedule = schedule;
  return options;
}

inline Result<TensorMap> encode(const TensorMapArgs& args) { return loom::encode_tensor_map(args, loom::Chip::sm100); }

/// The kernel's parameters for a problem in e4m3 with scales, C and D in bf16.
template <class Kernel>
BlockwiseFP8Params blockwise_params(const GemmProblem& p) {
  using Payload = typename Kernel::Payload;
  auto map = [](TmaType type, const void* data, int64_t columns, int64_t rows, int64_t stride_bytes,
                uint32_t box_columns, uint32_t box_rows, Swizzle swizzle) {
    TensorMapArgs args;
    args.type = type;
    args.address = data;
    args.dims = {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), 1, 1, 1};
    args.strides[0] = static_cast<uint64_t>(stride_bytes);
    args.box = {box_columns, box_rows, 1, 1, 1};
    args.swizzle = swizzle;
    const Result<TensorMap> made = encode(args);
    EXPECT_TRUE(made) << made.error();
    return made ? *made : TensorMap{};
  };
  BlockwiseFP8Params params{};
  params.a = map(TmaType::u8, p.a.data, p.k, p.m, p.a.stride, 128, Payload::a_slice_rows, Swizzle::b128);
  params.b = map(TmaType::u8, p.b.data, p.k, p.n, p.b.stride, 128, Payload::b_slice_rows, Swizzle::b128);
  params.a_scales = map(TmaType::f32, p.a_scales.data, p.m, ceil_div(p.k, 128), p.a_scales.stride * 4, Kernel::tile_m,
                        1, Swizzle::none);
  params.c =
      map(TmaType::bf16, p.c.data, p.n, p.m, p.c.stride * 2, Kernel::strip_columns, Kernel::tile_m, Swizzle::b128);
  params.d =
      map(TmaType::bf16, p.d.data, p.n, p.m, p.d.stride * 2, Kernel::strip_columns, Kernel::tile_m, Swizzle::b128);
  params.b_scales = p.b_scales.data;
  params.d_data = static_cast<bf16*>(p.d.data);
  params.d_stride = p.d.stride;
  params.m = p.m, params.n = p.n, params.k = p.k;
  params.alpha = p.alpha, params.beta = p.beta;
  return params;
}

/// One cluster runs the whole problem, so that every CTA has all the tiles there are for it. Parameters beyond those of
/// the example are taken from `extra`.
template <class Kernel>
loom::Outcome launch_blockwise(const GemmProblem& p, loom::Entry entry, const loom::Options& options,
                               const typename Kernel::Params& extra = {}) {
  using Cluster = typename Kernel::Cluster;
  typename Kernel::Params params = extra;
  static_cast<BlockwiseFP8Params&>(params) = blockwise_params<Kernel>(p);
  const auto k_blocks = static_cast<size_t>(ceil_div(p.k, 128));
  auto span = [](int rows, int64_t stride, size_t bytes) { return static_cast<size_t>(rows * stride) * bytes; };
  const loom::TensorRef tensors[] = {
      {p.d.data, span(p.m, p.d.stride, 2), loom::Access::write, "D"},
      {p.a.data, span(p.m, p.a.stride, 1), loom::Access::read, "A"},
      {p.b.data, span(p.n, p.b.stride, 1), loom::Access::read, "B"},
      {p.a_scales.data, k_blocks * static_cast<size_t>(p.a_scales.stride) * 4, loom::Access::read, "a_scales"},
      {p.b_scales.data, static_cast<size_t>(ceil_div(p.n, 128)) * k_blocks * 4, loom::Access::read, "b_scales"},
      {p.c.data, span(p.m, p.c.stride, 2), loom::Access::read, "C"},
  };
  const loom::LaunchConfig config{.kernel = "test",
                                  .grid = {Cluster::m, Cluster::n, 1},
                                  .cluster = {Cluster::m, Cluster::n, 1},
                                  .threads = Skeleton<Kernel>::threads,
                                  .shared_bytes = sizeof(typename Kernel::Storage)};
  return loom::launch(config, entry, &params, tensors, options);
}

inline GemmData blockwise_data(int m, int n, int k, Fill fill, float beta, uint64_t seed) {
  return GemmData({.m = m,
                   .n = n,
                   .k = k,
                   .a = DType::e4m3,
                   .b = DType::e4m3,
                   .scaling = Scaling::a_rows_b_blocks,
                   .beta = beta,
                   .fill = fill,
                   .seed = seed});
}

/// D as the shipped kernel computes it.
inline void run_shipped(const GemmProblem& problem) {
  const Result<GemmPlan> plan = plan_gemm_on_loom(problem, ChipLimits::of(Chip::sm100));
  ASSERT_TRUE(plan) << plan.error();
  const Result<loom::Outcome> outcome = run_on_loom(problem, *plan);
  ASSERT_TRUE(outcome && outcome->ok());
}

/// A problem whose answer the shipped kernel has computed and the double-precision reference has confirmed.
struct Reference {
  GemmData data;
  std::vector<std::byte> answer;

  GemmProblem problem() { return data.problem(); }
  bool right() const { return data.dense_d() == answer; }
};

/// Integers must be right to the bit, standard-normal data to what one rounding to bf16 costs.
inline Reference& reference(int m, int n, int k, Fill fill) {
  static std::map<std::tuple<int, int, int, Fill>, Reference> known;
  auto [entry, added] = known.try_emplace({m, n, k, fill}, Reference{blockwise_data(m, n, k, fill, 0.5f, 17), {}});
  Reference& r = entry->second;
  if (!added) return r;
  run_shipped(r.problem());
  EXPECT_TRUE(r.data.acceptable(r.data.compare()));
  r.answer = r.data.dense_d();
  return r;
}

}  // namespace warploom::test
