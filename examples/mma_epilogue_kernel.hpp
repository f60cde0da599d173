// MMA and epilogue hand over a tile at a time, for sm_100: D = alpha * A * B^T in bf16, any M and N, rows of K whole 16
// bytes.
//
// The tensor core adds up all K blocks of a tile in one stage of the accumulator ring. Leaving the stage commits: the
// epilogue sees it when the last product is done, and the MMA warp is already in the next stage. The epilogue frees it
// as soon as it has it in registers, before it rounds and stores.
#pragma once

#include "warploom/epilogue/writer.hpp"
#include "warploom/schedule/static_persistent.hpp"
#include "warploom/types/unrolled.hpp"
#include "warploom/warp/skeleton.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

struct MmaEpilogueParams {
  TensorMap a, b, d;
  bf16* d_data;
  int64_t d_stride;
  int m, n, k;
  float alpha;
};

template <class Cluster_>
struct MmaEpilogue {
  static constexpr char name[] = "mma-epilogue";
  static constexpr bool waits_for_earlier_grids = true;
  using Cluster = Cluster_;
  using Params = MmaEpilogueParams;
  static constexpr int tile_m = 128, tile_n = 128, strip_columns = 64, stages = 4;
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
    Row row;
    {
      auto acc = context.output_pipeline.consumer();  // a finished accumulator
      row.load(acc.tmem().address());
    }  // leaving frees it: the MMA warp may go on while we store
    unrolled<tile_n / strip_columns>([&](int index) WARPLOOM_LAMBDA {
      const Strip<strip_columns> strip(row, index * strip_columns, params.alpha);
      writer.write(strip, tile.m * tile_m, tile.n * tile_n + index * strip_columns);
    });
  }

  // ---- what they work on

  /// The accumulator row of one thread, in registers.
  struct Row {
    arch::Fragment<uint32_t, tile_n / 2> halves[2];

    WARPLOOM_FN void load(arch::TmemAddress accumulator) noexcept {
      const arch::TmemAddress lanes = accumulator.lane(32 * (arch::warp_index() % 4));
      arch::tmem_load_32x32b(halves[0], lanes);
      arch::tmem_load_32x32b(halves[1], lanes.column(tile_n / 2));
      arch::tmem_wait_load();
    }
    WARPLOOM_FN float operator[](int column) const noexcept {
      return arch::as_float(halves[column / (tile_n / 2)][column % (tile_n / 2)]);
    }
  };

  WARPLOOM_FN MmaEpilogue(const Params& p, Storage& storage) noexcept
      : params(p),
        input(storage.input),
        writer({&p.d, p.d_data, p.d_stride, p.m, p.n}, storage.writer),
        a{&p.a, tile_m},
        b{&p.b, tile_n},
        schedule(ceil_div(p.m, tile_m), ceil_div(p.n, tile_n), ceil_div(p.k, Payload::tile_k)) {}
  WARPLOOM_FN const StaticPersistent<Cluster>& tiles() const noexcept { return schedule; }

  static WARPLOOM_FN void run(const Params& params) noexcept { Skeleton<MmaEpilogue>::run(params); }

  const Params& params;
  Input input;
  Writer writer;
  TileLoader a, b;
  StaticPersistent<Cluster> schedule;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
