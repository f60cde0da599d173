// Blockwise-scaled FP8 GEMM for sm_100: D = alpha * (A * B^T) + beta * C, A and B in e4m3 with one fp32 scale per 1 x
// 128 block of A and per 128 x 128 block of B, C and D in bf16.
//
// Every 128-wide K block has scales of its own, so the tensor core never adds two of them up: it writes each block's
// product to tensor memory, and the epilogue warps scale it and add it to a sum in registers.
// kernels/blackwell_gemm.hpp does the same for every epilogue; here all of it is on one screen.
#pragma once

#include "warploom/epilogue/accumulator.hpp"
#include "warploom/epilogue/writer.hpp"
#include "warploom/pipeline/epi_load.hpp"
#include "warploom/pipeline/load_order.hpp"
#include "warploom/schedule/clc.hpp"
#include "warploom/schedule/static_persistent.hpp"
#include "warploom/types/raster.hpp"
#include "warploom/types/tensor_map.hpp"
#include "warploom/types/unrolled.hpp"
#include "warploom/warp/skeleton.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

/// What the host hands the kernel; the same bytes on both machines.
struct BlockwiseFP8Params {
  TensorMap a, b, a_scales, c, d;
  const float* b_scales;
  bf16* d_data;
  int64_t d_stride;
  int m, n, k;
  float alpha, beta;
  Raster raster;
};

/// How tiles come to the clusters: a fixed share for each (schedule/static_persistent.hpp), or by launch control.
template <class Cluster>
using PersistentTiles = StaticPersistent<Cluster>;
template <class Cluster>
using LaunchControlTiles = ClcScheduler<Cluster>;

template <class Cluster_, template <class> class Tiles = PersistentTiles>
struct BlockwiseFP8 {
  using Cluster = Cluster_;
  using Schedule = Tiles<Cluster>;
  using Params = BlockwiseFP8Params;
  static constexpr int tile_m = 128, tile_n = 128, scale_block = 128, strip_columns = 64;
  static constexpr OutputPipelineConfig opc{
      .num_stages = 4, .stage_stride_cols = tile_n, .cta_group = Cluster::cta_group};

  using Payload = BlockwiseFP8TilePayload<e4m3, e4m3, tile_m, tile_n, Cluster>;
  using StripTile = SmemTile<bf16, tile_m, strip_columns, Swizzle::b128>;
  using Residual = EpiLoadPipeline<2, StripTile>;
  using Writer = TileWriter<StripTile>;
  template <int stages>
  using InputOf = InputTilePipeline<Payload, stages, filled_by<tma_bytes<Load>>,
                                    freed_by<mma_commit<Mma, to_operand_sources>, lane_per_warp<Epilogue>>>;
  template <int stages>
  struct StorageOf {
    typename InputOf<stages>::Storage input;
    typename Residual::Storage residual;
    LoadOrder<>::Storage order;
    typename Writer::Storage writer;
    OutputStorage<opc> output;
    typename Schedule::Storage schedule;
  };
  /// As many slots as shared memory holds.
  static constexpr int stages = [] {
    constexpr size_t slot = sizeof(StorageOf<3>) - sizeof(StorageOf<2>);
    return static_cast<int>((arch::shared_capacity - sizeof(StorageOf<2>)) / slot) + 2;
  }();
  using Input = InputOf<stages>;
  using Storage = StorageOf<stages>;

  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept {
    Input::init_barriers(storage.input);
    Residual::init_barriers(storage.residual);
    LoadOrder<>::init_barriers(storage.order);
    Schedule::init_barriers(storage.schedule);
  }

  // ---- the roles

  WARPLOOM_FN void load(Tile tile) noexcept {           // one lane
    auto first = order.first_loads(stages);             // the residual waits for them
    for (auto slot : input.produce(tile.k_blocks())) {  // a free slot, armed
      slot.load(a[tile.m], b[tile.n], a_scales[tile.m]);
      first.issued();
    }
  }

  template <class Context>
  WARPLOOM_FN void mma(Context& context, Tile tile) noexcept {  // one lane
    for (auto acc : context.per_k_stages(tile.k_blocks())) {    // an accumulator the epilogue has freed
      auto in = input.consume();
      umma(acc, in.a(), in.b(), Accumulate::fresh);
    }  // both commits arrive when this MMA is done
  }

  WARPLOOM_FN void epilogue_load(Tile tile) noexcept {  // one lane
    order.wait();
    if (params.beta == 0.0f) return;
    for (int strip = 0; strip < tile_n / strip_columns; ++strip) {
      auto slot = residual.produce();  // a free slot, armed
      residual.load(slot, c[tile.m], tile.n * tile_n + strip * strip_columns);
    }
  }

  template <class Context>
  WARPLOOM_FN void epilogue(Context& context, Tile tile) noexcept {  // four warps
    BlockwiseFP8Accumulator<tile_n> sum;
    for (auto part : context.per_k_stages(input, tile.k_blocks()))  // waits for accumulator and scales
      sum.promote(part, b_scale(tile.n, part.k()));                 // slot and accumulator are free early

    unrolled<tile_n / strip_columns>([&](int index) WARPLOOM_LAMBDA {
      Strip<strip_columns> strip(sum, index * strip_columns, params.alpha);
      if (params.beta != 0.0f) {
        auto slot = residual.consume();  // leaving frees it
        strip.add(params.beta, residual.tile(slot.index()), arch::thread_index());
      }
      writer.write(strip, tile.m * tile_m, tile.n * tile_n + index * strip_columns);
    });
  }

  // ---- what they work on

  WARPLOOM_FN BlockwiseFP8(const Params& p, Storage& storage) noexcept
      : params(p),
        schedule(storage.schedule, ceil_div(p.m, tile_m), ceil_div(p.n, tile_n), k_blocks(), p.raster),
        input(storage.input),
        residual(storage.residual),
        order(storage.order),
        writer({&p.d, p.d_data, p.d_stride, p.m, p.n}, storage.writer),
        a{&p.a, tile_m},
        b{&p.b, tile_n},
        a_scales{&p.a_scales, tile_m},
        c{&p.c, tile_m} {}

  template <class Role = void>
  WARPLOOM_FN decltype(auto) tiles() const noexcept {
    return schedule.template tiles<Role>();
  }
  WARPLOOM_FN int k_blocks() const noexcept { return ceil_div(params.k, scale_block); }
  /// A border cluster may hold tiles beyond the last column; their product is dropped, any scale will do.
  WARPLOOM_FN float b_scale(int n, int k) const noexcept {
    const int last = (params.n - 1) / scale_block;
    return arch::load_global(params.b_scales + (n < last ? n : last) * k_blocks() + k);
  }

  const Params& params;
  Schedule schedule;
  Input input;
  Residual residual;
  LoadOrder<> order;
  Writer writer;
  TileLoader a, b, a_scales, c;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
