// A plain GEMM for sm_100: D = A * B^T in bf16, A [M, K], B [N, K], D [M, N], any M and N, rows of K whole 16 bytes.
//
// One warp loads, one lane multiplies, four warps store. The accumulator of a tile, 128 x 256 in fp32, takes half of
// tensor memory, so that there are two of them: while the epilogue empties one, strip by strip, the tensor core fills
// the other. With CTA pairs, two SMs work on 256 x 256, and each holds half of B.
#pragma once

#include "warploom/epilogue/writer.hpp"
#include "warploom/schedule/static_persistent.hpp"
#include "warploom/types/unrolled.hpp"
#include "warploom/warp/skeleton.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

struct BlackwellGemmParams {
  TensorMap a, b, d;
  bf16* d_data;
  int64_t d_stride;
  int m, n, k;
};

template <class Cluster_>
struct BlackwellGemm {
  static constexpr char name[] = "blackwell-gemm";
  static constexpr bool waits_for_earlier_grids = false;
  using Cluster = Cluster_;
  using Params = BlackwellGemmParams;
  static constexpr int tile_m = 128, tile_n = 256, strip_columns = 64, stages = 4;
  static constexpr int threads = threads_of<Epilogue, Load, Mma, EpilogueLoad>;
  static constexpr OutputPipelineConfig opc{
      .num_stages = 2, .stage_stride_cols = tile_n, .cta_group = Cluster::cta_group};
  using Payload = StandardTilePayload<bf16, bf16, tile_m, tile_n, Cluster>;
  using Input =
      InputTilePipeline<Payload, stages, filled_by<tma_bytes<Load>>, freed_by<mma_commit<Mma, to_operand_sources>>>;
  using Writer = TileWriter<SmemTile<bf16, tile_m, strip_columns, Swizzle::b128>>;

  struct Storage {
    typename Input::Storage input;
    typename Writer::Storage writer;
    OutputStorage<opc> output;
  };
  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept { Input::init_barriers(storage.input); }

  // ---- the roles

  WARPLOOM_FN void load(Tile tile) noexcept {                                          // one lane
    for (auto slot : input.produce(tile.k_blocks())) slot.load(a[tile.m], b[tile.n]);  // a free slot, armed
  }

  template <class Context>
  WARPLOOM_FN void mma(Context& context, Tile tile) noexcept {  // one lane
    auto acc = context.output_pipeline.producer();              // an accumulator the epilogue has freed
    for (int k = 0; k < tile.k_blocks(); ++k) {
      auto in = input.consume();  // leaving commits: the slot is free when these products are done
      umma(acc.tmem(), in.a(), in.b(), k == 0 ? Accumulate::fresh : Accumulate::onto);
    }
  }  // leaving commits: once per tile

  template <class Context>
  WARPLOOM_FN void epilogue(Context& context, Tile tile) noexcept {  // four warps
    auto acc = context.output_pipeline.consumer();                   // a finished accumulator
    unrolled<strips>([&](int index) WARPLOOM_LAMBDA {
      Columns part;
      part.load(acc.tmem().address(), index * strip_columns);
      if (index + 1 == strips) acc.free();  // all of it is in registers, or stored
      writer.write({part, 0, 1.0f}, tile.m * tile_m, tile.n * tile_n + index * strip_columns);
    });
  }

  // ---- what they work on

  static constexpr int strips = tile_n / strip_columns;

  /// Some columns of one accumulator row, in the registers of its thread.
  struct Columns {
    arch::Fragment<uint32_t, strip_columns> values;

    WARPLOOM_FN void load(arch::TmemAddress accumulator, int column) noexcept {
      const arch::TmemAddress lanes = accumulator.lane(32 * (arch::warp_index() % 4));
      arch::tmem_load_32x32b(values, lanes.column(static_cast<uint32_t>(column)));
      arch::tmem_wait_load();
    }
    WARPLOOM_FN float operator[](int column) const noexcept { return arch::as_float(values[column]); }
  };

  WARPLOOM_FN BlackwellGemm(const Params& p, Storage& storage) noexcept
      : input(storage.input),
        writer({&p.d, p.d_data, p.d_stride, p.m, p.n}, storage.writer),
        a{&p.a, tile_m},
        b{&p.b, tile_n},
        schedule(ceil_div(p.m, tile_m), ceil_div(p.n, tile_n), ceil_div(p.k, Payload::tile_k)) {}
  WARPLOOM_FN const StaticPersistent<Cluster>& tiles() const noexcept { return schedule; }

  static WARPLOOM_FN void run(const Params& params) noexcept { Skeleton<BlackwellGemm>::run(params); }

  Input input;
  Writer writer;
  TileLoader a, b;
  StaticPersistent<Cluster> schedule;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
