// A plain GEMM, D = A * B^T in bf16: the accumulator ring used once per tile, K added up in tensor memory. For tests of
// the once-per-tile handles; it also takes the roads that the blockwise kernel does not: MMA kind f16, accumulation
// onto, tcgen05.ld 16x256b, stmatrix.
#pragma once

#include "warp/seed_examples_kernel.hpp"  // the checks
#include "warploom/arch/matrix.hpp"

namespace warploom::test {

enum class TileMmaUse { producer, linear, acquire_release };
enum class TileEpilogueUse { consumer, consumer_free, linear, acquire_release };

struct PlainGemmParams {
  TensorMap a, b, d;
  int m, n, k;
  TileMmaUse mma;
  TileEpilogueUse epilogue;
};

template <class Cluster_>
struct PlainGemm {
  using Cluster = Cluster_;
  using Params = PlainGemmParams;
  static constexpr int g = Cluster::cta_group;
  static constexpr int tile_m = 128, tile_n = 128, strip_columns = 64, strips = tile_n / strip_columns;
  // Three stages: a number that divides nothing else here.
  static constexpr OutputPipelineConfig opc{.num_stages = 3, .stage_stride_cols = tile_n, .cta_group = g};
  using Payload = StandardTilePayload<bf16, bf16, tile_m, tile_n, Cluster>;
  static constexpr int stages = 3;
  using Input =
      InputTilePipeline<Payload, stages, filled_by<tma_bytes<Load>>, freed_by<mma_commit<Mma, to_operand_sources>>>;
  using StripTile = SmemTile<bf16, tile_m, strip_columns, Swizzle::b128>;
  using Output = OutputTilePipeline<opc>;

  struct Storage {
    typename Input::Storage input;
    typename StripTile::Storage strips[PlainGemm::strips];
    OutputStorage<opc> output;
  };
  static void init_barriers(Storage& storage) noexcept { Input::init_barriers(storage.input); }

  PlainGemm(const Params& p, Storage& storage) noexcept : params(p), input(storage.input), storage_(storage) {}

  StaticPersistent<Cluster> tiles() const noexcept {
    return {params.m / tile_m, params.n / tile_n, params.k / Payload::tile_k};
  }

  // ---- the roles

  void load(Tile tile) noexcept {
    const TileLoader a{&params.a, tile_m}, b{&params.b, tile_n};
    for (auto slot : input.produce(tile.k_blocks())) slot.load(a[tile.m], b[tile.n]);
  }

  void mma(MmaWarpContext<opc>& context, Tile tile) noexcept {
    Output& output_pipeline = context.output_pipeline;
    switch (params.mma) {
      case TileMmaUse::producer: {
        auto stage = output_pipeline.producer();
        WARPLOOM_KERNEL_CHECK(stage.index() == output_pipeline.pipeline.producer_stage());
        accumulate(stage.tmem(), tile);
        break;
      }
      case TileMmaUse::linear: {
        auto stage = output_pipeline.acquire_mma_linear();
        accumulate(stage.tmem(), tile);
        stage.release();
        break;
      }
      case TileMmaUse::acquire_release: {
        const OutputStage<opc> stage = output_pipeline.acquire_for_mma();
        accumulate(stage.tmem, tile);
        output_pipeline.release_from_mma(stage);
        break;
      }
    }
  }

  void epilogue_load(Tile) noexcept {}

  void epilogue(EpilogueWarpContext<opc>& context, Tile tile) noexcept {
    Output& output_pipeline = context.output_pipeline;
    Fragments values;
    switch (params.epilogue) {
      case TileEpilogueUse::consumer: {
        auto stage = output_pipeline.consumer();
        WARPLOOM_KERNEL_CHECK(stage.index() == output_pipeline.pipeline.consumer_stage());
        values.load(stage.tmem().address());
        break;
      }
      case TileEpilogueUse::consumer_free: {
        auto stage = output_pipeline.consumer();
        const uint32_t index = stage.index();
        values.load(stage.tmem().address());
        stage.free();
        stage.free();  // only what is still held is signalled
        // The stage is still in scope, and yet the MMA warp can fill it again: this wait would never end otherwise.
        if (done_ + opc.num_stages < tiles_of_this_cta()) {
          const auto& ring = output_pipeline.pipeline;
          arch::mbarrier_wait(arch::shared_address(ring.producer_mbar(index)), ring.consumer_lap() + 2);
        }
        break;
      }
      case TileEpilogueUse::linear: {
        auto stage = output_pipeline.acquire_epilogue_linear();
        values.load({stage.tmem_offset()});
        stage.release();
        break;
      }
      case TileEpilogueUse::acquire_release: {
        const OutputStage<opc> stage = output_pipeline.acquire_for_epilogue();
        values.load(stage.tmem.address());
        output_pipeline.release_from_epilogue();
        break;
      }
    }
    ++done_;
    for (int strip = 0; strip < strips; ++strip) writer.write(storage_.strips[strip], params.d, values, tile, strip);
  }

 private:
  void accumulate(const TmemStage<opc>& accumulator, Tile tile) noexcept {
    for (int k = 0; k < tile.k_blocks(); ++k) {
      auto in = input.consume();
      umma(accumulator, in.a(), in.b(), k == 0 ? Accumulate::fresh : Accumulate::onto);
    }
  }

  int tiles_of_this_cta() const noexcept {
    int count = 0;
    for (Tile tile : tiles()) count += tile.k_blocks() > 0;
    return count;
  }

  /// The warp's 32 rows in the shape of stmatrix: per strip the upper and the lower sixteen.
  struct Fragments {
    arch::Fragment<uint32_t, strip_columns / 2> parts[strips][2];

    void load(arch::TmemAddress accumulator) noexcept {
      for (int strip = 0; strip < strips; ++strip)
        for (uint32_t half = 0; half < 2; ++half)
          arch::tmem_load_16x256b(parts[strip][half], accumulator.lane(32 * (arch::warp_index() % 4) + 16 * half)
                                                          .column(static_cast<uint32_t>(strip * strip_columns)));
      arch::tmem_wait_load();
    }
  };

  struct Writer {
    using Sync = WarpGroupBarrier<Epilogue::threads, 2>;

    void write(typename StripTile::Storage& storage, const TensorMap& d, const Fragments& values, Tile tile,
               int strip) noexcept {
      if (arch::thread_index() == 0) arch::bulk_wait_group_read<strips - 1>();
      Sync::sync();
      const StripTile staged(storage);
      const uint32_t lane = arch::lane_index();
      for (uint32_t half = 0; half < 2; ++half) {
        const auto& part = values.parts[strip][half];
        // Four 8 x 8 tiles at a time: rows 0-7 and 8-15 of sixteen columns. Lane l names row l % 8 of tile l / 8.
        for (uint32_t unit = 0; unit < strip_columns / 8; unit += 2) {
          const uint32_t row = 32 * arch::warp_index() + 16 * half + 8 * (lane / 8 % 2) + lane % 8;
          const int first = static_cast<int>(4 * unit);
          uint32_t packed[4];
          for (int i = 0; i < 4; ++i)
            packed[i] = arch::pack_bf16(arch::as_float(part[first + 2 * i]), arch::as_float(part[first + 2 * i + 1]));
          arch::store_matrix<4>(arch::shared_address(staged.unit(row, unit + lane / 16)), packed);
        }
      }
      arch::fence_proxy_async_shared();
      Sync::sync();
      if (arch::thread_index() == 0) {
        arch::tma_store(d, staged.address(), {tile.n * tile_n + strip * strip_columns, tile.m * tile_m});
        arch::bulk_commit_group();
      }
    }
    void finish() const noexcept {
      if (arch::thread_index() == 0) arch::bulk_wait_group_read<0>();
    }
  };

 public:
  const Params& params;
  Input input;
  Writer writer;

 private:
  Storage& storage_;
  int done_ = 0;
};

}  // namespace warploom::test
