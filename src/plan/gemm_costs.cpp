#include "plan/gemm_costs.hpp"

#include <algorithm>

#include "kernels/gemm_params.hpp"

namespace warploom {
namespace {

double ceil_div(double a, double b) { return static_cast<double>(static_cast<int64_t>((a + b - 1) / b)); }

struct KBlock {
  double cycles = 0;
  const char* bound = "";
};

/// One K block of one CTA's tile.
KBlock k_block(const GemmProblem& p, const GemmShape& s, const GemmCosts& costs) {
  const double left = s.tile_left, right = s.tile_right, depth = s.tile_k;
  const double element = size_of(p.a.type);
  const double rate = element == 1 ? costs.flops_8_bit : costs.flops_16_bit * 2 / element;
  // tcgen05 with 64 rows, in a CTA of its own, takes as long as with 128.
  const double rows = s.chip == Chip::sm100 && s.cta_group == 1 ? std::max(left, 128.0) : left;
  KBlock multiply{2 * rows * right * depth / rate, "tensor"};
  if (s.chip == Chip::sm90) {  // every 64 rows read the right tile again
    const double shared = (left / 64) * (64 + right) * depth * element / costs.shared_bytes;
    if (shared > multiply.cycles) multiply = {shared, "shared-memory"};
  }
  KBlock promotion;
  if (p.scaling != Scaling::none && s.chip == Chip::sm100) {  // has warps of its own
    const double scales = p.scaling == Scaling::a_rows_b_rows ? 2 : 1;
    promotion = {scales * left * right / costs.promoted_per_cycle, "promotion"};
  } else if (p.scaling != Scaling::none) {
    const bool straddles = p.scaling == Scaling::a_rows_b_blocks && !s.swap && 128 % s.tile_right != 0;
    const double exposed = s.groups == 1 ? costs.promotion_alone : costs.promotion_exposed;
    multiply.cycles += exposed * (straddles ? costs.straddling : 1) * left * right / costs.promoted_per_cycle;
  }
  const KBlock parts[] = {
      multiply,
      promotion,
      // A tile is shared along the other axis of the cluster, and each CTA fetches its part.
      {(left / s.cluster_right + right / s.cluster_left) * depth * element / costs.operand_bytes, "operand"},
      {costs.load_latency_cycles / std::max(s.stages * s.k_group, 1), "latency"}};
  KBlock block;
  double sum = 0;
  for (const KBlock& part : parts) {
    sum += part.cycles;
    if (part.cycles > block.cycles) block = part;
  }
  block.cycles += costs.not_hidden * (sum - block.cycles);
  return block;
}

/// Instructions per element (kernels/activation.hpp).
double instructions_of(Activation activation, DType type) {
  const bool narrow = type != DType::f32;
  switch (activation) {
    case Activation::none: return 0;
    case Activation::relu: return 1;
    case Activation::silu: return narrow ? 6 : 16;
    case Activation::gelu_tanh: return narrow ? 8 : 23;
    case Activation::gelu: return narrow ? 16 : 33;
  }
  return 0;
}

/// Of one tile, of the group that has the most to do.
double epilogue(const GemmProblem& p, const GemmShape& s, const GemmCosts& costs) {
  const int sharing = s.ping_pong ? 1 : s.groups;
  const double outputs = static_cast<double>(s.tile_left) * s.tile_right / sharing;
  auto cycles = [&](Path path, DType type) {
    if (path == Path::none) return 0.0;
    return outputs * size_of(type) / (path == Path::tma ? costs.epilogue_bytes : costs.plain_bytes);
  };
  const double sum = costs.epilogue_cycles + cycles(d_path(p, s), p.d.type);
  if (p.beta == 0.0f && p.bias.along == BiasAlong::none && p.activation == Activation::none) return sum;
  const bool fused = fused_output(p, s, 1);
  const double units = outputs / (64.0 * (fused ? s.plain_columns : s.unit_columns));
  const Path c = c_path(p, s);
  return sum +
         units * ((fused ? costs.fused_cycles : costs.unit_cycles) + (c == Path::none ? 0 : costs.residual_cycles)) +
         cycles(c, p.c.type) + outputs * instructions_of(p.activation, p.d.type) / costs.activations_per_cycle;
}

}  // namespace

GemmCosts blackwell_costs() {
  GemmCosts costs;
  costs.clock_ghz = 1.85;
  costs.dram_bytes_per_us = 7.3e6;
  costs.flops_16_bit = 7700;
  costs.flops_8_bit = 15400;
  costs.operand_bytes = 64;
  costs.l2_bytes_per_us = 60e6;  // a guess: so much that it hardly counts
  // Fits to Hopper's sweeps trade these against each other; here they stay what an H200's parts were measured as.
  costs.launch_us = 5.9;
  costs.fill_cycles = 1130;
  costs.load_latency_cycles = 1960;
  costs.promotion_exposed = 0.107;
  costs.straddling = 3.56;
  costs.epilogue_cycles = 1300;
  costs.epilogue_bytes = 38.2;
  costs.unit_cycles = 2300;
  costs.activations_per_cycle = 45;
  costs.partial_bytes = 18.6;
  costs.split_cycles = 5590;
  costs.cluster_sum_cycles = 1270;
  costs.not_hidden = 0.05;
  costs.overlap_loss = 0.35;
  return costs;
}

GemmPrediction predict_gemm(const GemmProblem& p, const GemmShape& s, int splits, int clusters,
                            const GemmCosts& costs) {
  const GemmTiles tiles = gemm_tiles(p, s);
  const int64_t items = tiles.clusters * splits * p.batch;
  if (items == 0) return {0, 0, "nothing to compute"};
  const int64_t waves = (items + clusters - 1) / clusters;
  const double blocks = ceil_div(ceil_div(p.k, s.tile_k), splits * s.cluster_k);

  const KBlock block = k_block(p, s, costs);
  double tail = epilogue(p, s, costs);
  if (splits > 1)
    tail += costs.split_cycles + 4.0 * s.tile_left * s.tile_right * (1 + splits) / (costs.partial_bytes * s.groups);
  if (s.cluster_k > 1) tail += costs.cluster_sum_cycles;
  const double loop = blocks * block.cycles;
  const auto turns = static_cast<double>(waves);
  // With ping-pong a tile's epilogue runs under the other group's main loop, and only the last one shows; with two
  // accumulators in tensor memory it has warps of its own, which with scales have the K blocks to add up, too.
  const bool hidden = s.chip == Chip::sm100 && p.scaling == Scaling::none;
  const double others = hidden ? std::max(loop, tail) : s.ping_pong ? std::max(loop, (loop + tail) / 2) : loop + tail;
  const double m = p.m, n = p.n, k = p.k;
  const double bytes = p.batch * ((m + n) * k * size_of(p.a.type) +
                                  m * n * (size_of(p.d.type) + (p.beta != 0.0f ? size_of(p.c.type) : 0)));
  // A cluster reads its rows of both operands once; every cluster beyond the first that does finds them in L2. Swapped
  // tiles whose K is shared are measured slower than that where several of them read the same left rows, the weights:
  // as if they came from memory again.
  const auto again_us = [&](double rows, double times, double rate) {
    return p.batch * k * size_of(p.a.type) * rows * (times - 1) / rate;
  };
  const double left_rate = s.swap && s.cluster_k > 1 ? costs.dram_bytes_per_us : costs.l2_bytes_per_us;
  const auto lefts = static_cast<double>(tiles.left_clusters), rights = static_cast<double>(tiles.right_clusters);
  const double dram = bytes / costs.dram_bytes_per_us,
               again =
                   again_us(s.swap ? n : m, rights, left_rate) + again_us(s.swap ? m : n, lefts, costs.l2_bytes_per_us),
               memory = dram + again;
  // The last wave may be a few clusters, which do not keep memory busy: it is looked at by itself.
  const double cycles_per_us = costs.clock_ghz * 1e3;
  const double last = 1 - (turns - 1) * clusters / static_cast<double>(items);
  const double before = (turns - 1) * others / cycles_per_us, end = (costs.fill_cycles + loop + tail) / cycles_per_us;
  auto together = [&](double chip, double bytes_us) {
    return std::max(chip, bytes_us) + costs.overlap_loss * std::min(chip, bytes_us);
  };
  const double on_chip = before + end;
  GemmPrediction prediction{costs.launch_us + together(before, memory * (1 - last)) + together(end, memory * last),
                            waves, block.bound};
  if (memory > on_chip)
    prediction.bound = dram >= again ? "DRAM" : "L2";
  else if (tail > loop)
    prediction.bound = "epilogue";
  return prediction;
}

}  // namespace warploom
