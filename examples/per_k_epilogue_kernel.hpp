// MMA and epilogue hand over a K block at a time, for sm_100: D = alpha * A * B^T with e4m3 operands and fp32 scales,
// one per 1 x 128 block of A and per 128 x 128 block of B; D in bf16, any M and N, rows of K whole 16 bytes.
//
// No two K blocks have the same scales, so the tensor core never adds them up: every block is a stage of the
// accumulator ring, and the epilogue promotes it to a sum in registers. It waits for two rings at once, the accumulator
// and the slot that brought the scales, and gives each back as soon as it has what it needs from it.
#pragma once

#include "warploom/epilogue/accumulator.hpp"
#include "warploom/epilogue/writer.hpp"
#include "warploom/schedule/static_persistent.hpp"
#include "warploom/types/unrolled.hpp"
#include "warploom/warp/skeleton.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

struct PerKEpilogueParams {
  TensorMap a, b, a_scales, d;
  const float* b_scales;  ///< [N / 128][K / 128], rounded up
  bf16* d_data;
  int64_t d_stride;
  int m, n, k;
  float alpha;
};

template <class Cluster_>
struct PerKEpilogue {
  static constexpr char name[] = "per-k-epilogue";
  static constexpr bool waits_for_earlier_grids = true;
  using Cluster = Cluster_;
  using Params = PerKEpilogueParams;
  static constexpr int tile_m = 128, tile_n = 128, strip_columns = 64, stages = 4;
  static constexpr int threads = threads_of<Epilogue, Load, Mma, EpilogueLoad>;
  static constexpr OutputPipelineConfig opc{
      .num_stages = 4, .stage_stride_cols = tile_n, .cta_group = Cluster::cta_group};
  using Payload = BlockwiseFP8TilePayload<e4m3, e4m3, tile_m, tile_n, Cluster>;
  using Input = InputTilePipeline<Payload, stages, filled_by<tma_bytes<Load>>,
                                  freed_by<mma_commit<Mma, to_operand_sources>, lane_per_warp<Epilogue>>>;
  using Writer = TileWriter<SmemTile<bf16, tile_m, strip_columns, Swizzle::b128>>;

  struct Storage {
    typename Input::Storage input;
    typename Writer::Storage writer;
    OutputStorage<opc> output;
  };
  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept { Input::init_barriers(storage.input); }

  // ---- the roles

  WARPLOOM_FN void load(Tile tile) noexcept {         // one lane
    for (auto slot : input.produce(tile.k_blocks()))  // a free slot, armed
      slot.load(a[tile.m], b[tile.n], a_scales[tile.m]);
  }

  template <class Context>
  WARPLOOM_FN void mma(Context& context, Tile tile) noexcept {  // one lane
    for (auto acc : context.per_k_stages(tile.k_blocks())) {    // an accumulator the epilogue has freed
      auto in = input.consume();
      umma(acc, in.a(), in.b(), Accumulate::fresh);
    }  // both commits arrive when this MMA is done
  }

  template <class Context>
  WARPLOOM_FN void epilogue(Context& context, Tile tile) noexcept {  // four warps
    BlockwiseFP8Accumulator<tile_n> sum;
    for (auto part : context.per_k_stages(input, tile.k_blocks()))  // waits for accumulator and scales
      sum.promote(part, b_scale(tile.n, part.k()));                 // slot and accumulator are free early
    unrolled<tile_n / strip_columns>([&](int index) WARPLOOM_LAMBDA {
      const Strip<strip_columns> strip(sum, index * strip_columns, params.alpha);
      writer.write(strip, tile.m * tile_m, tile.n * tile_n + index * strip_columns);
    });
  }

  // ---- what they work on

  WARPLOOM_FN PerKEpilogue(const Params& p, Storage& storage) noexcept
      : params(p),
        input(storage.input),
        writer({&p.d, p.d_data, p.d_stride, p.m, p.n}, storage.writer),
        a{&p.a, tile_m},
        b{&p.b, tile_n},
        a_scales{&p.a_scales, tile_m},
        schedule(ceil_div(p.m, tile_m), ceil_div(p.n, tile_n), ceil_div(p.k, 128)) {}
  WARPLOOM_FN const StaticPersistent<Cluster>& tiles() const noexcept { return schedule; }
  /// A border cluster may hold tiles beyond the last column; their product is dropped, any scale will do.
  WARPLOOM_FN float b_scale(int n, int k) const noexcept {
    const int last = (params.n - 1) / 128;
    return arch::load_global(params.b_scales + (n < last ? n : last) * ceil_div(params.k, 128) + k);
  }

  static WARPLOOM_FN void run(const Params& params) noexcept { Skeleton<PerKEpilogue>::run(params); }

  const Params& params;
  Input input;
  Writer writer;
  TileLoader a, b, a_scales;
  StaticPersistent<Cluster> schedule;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
