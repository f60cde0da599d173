// Runs kernels that have the shape of BlockwiseFP8 (its parameters, perhaps more) on the loom.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "kernels/blockwise_fp8_params.hpp"
#include "loom/units/tma.hpp"
#include "warploom/kernels/blockwise_fp8.hpp"
#include "warploom/kernels/blockwise_fp8_data.hpp"

namespace warploom::test {

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

/// One cluster runs the whole problem, so that every CTA has all the tiles there are for it. Parameters beyond those of
/// the shipped kernel are taken from `extra`.
template <class Kernel>
loom::Outcome launch_blockwise(const BlockwiseFP8Problem& p, loom::Entry entry, const loom::Options& options,
                               const typename Kernel::Params& extra = {}) {
  using Payload = typename Kernel::Payload;
  using Cluster = typename Kernel::Cluster;
  const BlockwiseFP8Boxes boxes{Payload::a_slice_rows, Payload::b_slice_rows, Kernel::tile_m, Kernel::strip_columns};
  Result<BlockwiseFP8Params> made = make_params(p, boxes, &encode);
  if (!made) {
    ADD_FAILURE() << made.error();
    return {};
  }
  typename Kernel::Params params = extra;
  static_cast<BlockwiseFP8Params&>(params) = *made;
  const auto k_blocks = static_cast<size_t>(ceil_div(p.k, 128));
  auto span = [](int rows, int64_t stride, size_t bytes) { return static_cast<size_t>(rows * stride) * bytes; };
  const loom::TensorRef tensors[] = {
      {p.d.data, span(p.m, p.d.stride, 2), loom::Access::write, "D"},
      {p.a.data, span(p.m, p.a.stride, 1), loom::Access::read, "A"},
      {p.b.data, span(p.n, p.b.stride, 1), loom::Access::read, "B"},
      {p.a_scales.data, k_blocks * static_cast<size_t>(p.a_scales.stride) * 4, loom::Access::read, "a_scales"},
      {p.b_scales, static_cast<size_t>(ceil_div(p.n, 128)) * k_blocks * 4, loom::Access::read, "b_scales"},
      {p.c.data, span(p.m, p.c.stride, 2), loom::Access::read, "C"},
  };
  const loom::LaunchConfig config{.kernel = "test",
                                  .grid = {Cluster::m, Cluster::n, 1},
                                  .cluster = {Cluster::m, Cluster::n, 1},
                                  .threads = Skeleton<Kernel>::threads,
                                  .shared_bytes = sizeof(typename Kernel::Storage)};
  return loom::launch(config, entry, &params, tensors, options);
}

/// A problem whose answer the shipped kernel has computed and the double-precision reference has confirmed.
struct Reference {
  BlockwiseFP8Data data;
  float alpha, beta;
  std::vector<bf16> answer;

  BlockwiseFP8Problem problem() { return data.problem(alpha, beta); }
};

/// Integers must be right to the bit, standard-normal data to what one rounding to bf16 costs.
inline Reference& reference(int m, int n, int k, Fill fill) {
  static std::map<std::tuple<int, int, int, Fill>, Reference> known;
  auto [entry, added] =
      known.try_emplace({m, n, k, fill}, Reference{BlockwiseFP8Data(m, n, k, fill, 17), 1.0f, 0.5f, {}});
  Reference& r = entry->second;
  if (!added) return r;
  const auto outcome = run_on_loom(r.problem(), "1sm-1x1");
  EXPECT_TRUE(outcome && outcome->ok());
  const BlockwiseFP8Data::Accuracy accuracy = r.data.compare(r.alpha, r.beta);
  if (fill == Fill::integer) {
    EXPECT_EQ(accuracy.rounding_mismatches, 0);
  }
  EXPECT_LT(accuracy.diff, 1e-5);
  EXPECT_TRUE(accuracy.padding_untouched);
  r.answer = r.data.d;
  return r;
}

}  // namespace warploom::test
