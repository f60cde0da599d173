// The loom's instantiations of blockwise FP8, one per row of kernels.def.
#include "warploom/kernels/blockwise_fp8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kernels/blockwise_fp8_params.hpp"
#include "warploom/loom/tensor_map.hpp"

namespace warploom {
namespace {

template <class Kernel>
void entry(const void* params) {
  Skeleton<Kernel>::run(*static_cast<const typename Kernel::Params*>(params));
}

struct Row {
  BlockwiseFP8Config config;
  BlockwiseFP8Boxes boxes;
  uint32_t threads;
  int tile_m, tile_n;
  loom::Entry entry;
};

template <int cta_group, int cluster_m, int cluster_n, template <class> class Tiles>
constexpr Row row(const char* key) {
  using Kernel = BlockwiseFP8<ClusterShape<cta_group, cluster_m, cluster_n>, Tiles>;
  using Payload = typename Kernel::Payload;
  return {{key, cta_group, cluster_m, cluster_n, Kernel::stages, sizeof(typename Kernel::Storage),
           Kernel::Schedule::uses_launch_control},
          {Payload::a_slice_rows, Payload::b_slice_rows, Kernel::tile_m, Kernel::strip_columns},
          Skeleton<Kernel>::threads,
          Kernel::tile_m,
          Kernel::tile_n,
          &entry<Kernel>};
}

#define WARPLOOM_BLOCKWISE_FP8(key, cta_group, cluster_m, cluster_n, tiles) \
  row<cta_group, cluster_m, cluster_n, tiles>(key),
constexpr Row rows[] = {
#include "warploom/kernels/kernels.def"
};
#undef WARPLOOM_BLOCKWISE_FP8

#define WARPLOOM_BLOCKWISE_FP8(key, cta_group, cluster_m, cluster_n, tiles) \
  row<cta_group, cluster_m, cluster_n, tiles>(key).config,
constexpr BlockwiseFP8Config configs[] = {
#include "warploom/kernels/kernels.def"
};
#undef WARPLOOM_BLOCKWISE_FP8

const Row* find(std::string_view key) {
  const Row* found = std::find_if(std::begin(rows), std::end(rows), [&](const Row& r) { return r.config.key == key; });
  return found == std::end(rows) ? nullptr : found;
}

Error unknown(std::string_view key) {
  std::string keys;
  for (const BlockwiseFP8Config& config : configs) keys += fmt::format("{}{}", keys.empty() ? "" : ", ", config.key);
  return {fmt::format("there is no configuration '{}'; blockwise-fp8 has {}", key, keys)};
}

Result<TensorMap> encode(const TensorMapArgs& args) { return loom::encode_tensor_map(args, loom::Chip::sm100); }

}  // namespace

std::span<const BlockwiseFP8Config> blockwise_fp8_configs() { return configs; }

Result<BlockwiseFP8Config> find_blockwise_fp8_config(std::string_view key) {
  const Row* row = find(key);
  if (row == nullptr) return unknown(key);
  return row->config;
}

Result<loom::Outcome> run_on_loom(const BlockwiseFP8Problem& problem, std::string_view key, const LoomTarget& target) {
  const Row* row = find(key);
  if (row == nullptr) return unknown(key);
  Result<BlockwiseFP8Params> params = make_params(problem, row->boxes, &encode);
  if (!params) return Error{params.error()};

  const int cluster_m = row->config.cluster_m, cluster_n = row->config.cluster_n;
  const int size = cluster_m * cluster_n;
  if (target.sms < size)
    return Error{fmt::format("a chip of {} SMs cannot hold a cluster of {} CTAs", target.sms, size)};
  const int cluster_tiles =
      ceil_div(ceil_div(problem.m, row->tile_m), cluster_m) * ceil_div(ceil_div(problem.n, row->tile_n), cluster_n);
  // With launch control every cluster tile has a cluster of its own, and the chip decides how many of them run.
  const bool launch_control = row->config.launch_control;
  const int clusters = launch_control ? cluster_tiles : std::min(cluster_tiles, target.sms / size);

  const auto k_blocks = static_cast<size_t>(ceil_div(problem.k, 128));
  auto span = [](int rows_, int64_t stride, size_t bytes) {
    return static_cast<size_t>(rows_) * static_cast<size_t>(stride) * bytes;
  };
  const loom::TensorRef tensors[] = {
      {problem.d.data, span(problem.m, problem.d.stride, 2), loom::Access::write, "D"},
      {problem.a.data, span(problem.m, problem.a.stride, 1), loom::Access::read, "A"},
      {problem.b.data, span(problem.n, problem.b.stride, 1), loom::Access::read, "B"},
      {problem.a_scales.data, k_blocks * static_cast<size_t>(problem.a_scales.stride) * 4, loom::Access::read,
       "a_scales"},
      {problem.b_scales, static_cast<size_t>(ceil_div(problem.n, 128)) * k_blocks * 4, loom::Access::read, "b_scales"},
      {problem.c.data, problem.beta != 0.0f ? span(problem.m, problem.c.stride, 2) : 0, loom::Access::read, "C"},
  };
  const loom::LaunchConfig config{
      .kernel = "blockwise-fp8",
      .grid = {static_cast<uint32_t>(cluster_m * clusters), static_cast<uint32_t>(cluster_n), 1},
      .cluster = {static_cast<uint32_t>(cluster_m), static_cast<uint32_t>(cluster_n), 1},
      .threads = row->threads,
      .shared_bytes = row->config.shared_bytes,
      .launch_control = launch_control};
  loom::Options options = target.options;
  options.processors = static_cast<uint32_t>(target.sms / size);
  return loom::launch(config, row->entry, &*params, tensors, options);
}

}  // namespace warploom
