// GEMM for sm_100: D = act(alpha * A * B^T + beta * C + bias), dense or with fp32 scales per 128-wide K block.
//
// One warp loads operands, one lane multiplies, one warp loads bias and residual, four warps run the epilogue on one
// accumulator in tensor memory while the tensor core fills the other. With scales every K block has an accumulator of
// its own, and the epilogue's warps add them up in registers. CTAs of a cluster share their operands by
// multicast; CTA pairs multiply together, each with half of the right operand; with few tiles several CTAs share the K
// blocks of one; with few rows of A the operands change sides.
#pragma once

#include "warploom/kernels/blackwell/bias_ring.hpp"
#include "warploom/kernels/blackwell/promoted_sum.hpp"
#include "warploom/kernels/blackwell/tile_product.hpp"
#include "warploom/kernels/gemm/patch_writer.hpp"
#include "warploom/kernels/gemm/payload.hpp"
#include "warploom/kernels/gemm/split_tiles.hpp"
#include "warploom/kernels/gemm_params.hpp"
#include "warploom/pipeline/load_order.hpp"
#include "warploom/schedule/clc.hpp"
#include "warploom/types/wgmma_types.hpp"
#include "warploom/warp/skeleton.hpp"

namespace warploom {

/// How work items come to the clusters: a fixed share for each, or by cluster launch control.
enum class TileSource : uint8_t { fixed, launch_control };

/// The widest patch, a power of two of at most 64 columns, that divides a tile evenly.
WARPLOOM_CONST_FN int tmem_patch_columns_of(int columns) {
  int patch = 64;
  while (columns % patch != 0) patch /= 2;
  return patch;
}

}  // namespace warploom

namespace warploom::inline WARPLOOM_MACHINE {

/// `tile_left` rows of the left operand per CTA, 64 or 128; `tile_right` of the right one, which a pair shares.
/// `k_group`: K blocks per slot. `Function`: what is applied to every element; the launch's activation, or
/// Elementwise<a function object>.
template <class A, class B, Major a_major, Major b_major, Scaling scaling, int tile_left_, int tile_right_,
          int cta_group_, int cluster_left, int cluster_right, TileSource source, int k_group, bool swap,
          class Function = ChosenActivation>
struct BlackwellGemm {
  static constexpr char name[] = "blackwell-gemm";
  using Params = GemmParams;
  static constexpr GemmOperands operands{dtype_of<A>, dtype_of<B>, a_major, b_major, scaling};
  using Cluster = ClusterShape<cta_group_, cluster_left, cluster_right>;
  using Left = std::conditional_t<swap, B, A>;
  using Right = std::conditional_t<swap, A, B>;
  static constexpr int cta_group = cta_group_, tile_left = tile_left_, tile_right = tile_right_;
  static constexpr bool waits_for_earlier_grids = true, whole_warp_loads = true;
  static_assert(tile_left == 64 || tile_left == 128, "warploom: a CTA's accumulator has 64 or 128 rows");
  static_assert(!swap || (tile_left == 64 && cta_group == 1), "warploom: operands change sides in tiles of 64 rows");

  using Scales = GemmScales<scaling, tile_left, tile_right, swap>;
  static constexpr bool scaled = Scales::any, straddles = Scales::straddle;
  using Payload = GemmPayload<Left, Right, tile_left, tile_right, Cluster, swap ? b_major : a_major,
                              swap ? a_major : b_major, Scales::left, Scales::right, Scales::blocks, scaled>;
  // Scales are the epilogue's to read.
  using Freed = std::conditional_t<scaled, freed_by<mma_commit<Mma, to_operand_sources>, lane_per_warp<Epilogue>>,
                                   freed_by<mma_commit<Mma, to_operand_sources>>>;
  template <int stages>
  using InputOf = InputTilePipeline<Payload, stages, filled_by<tma_bytes<Load>>, Freed, k_group>;

  // Tensor memory: two accumulators, or those of four K blocks. Where a pair has 128 rows, a CTA's 64 take up all lanes
  // and half of the columns.
  static constexpr OutputPipelineConfig opc{
      .num_stages = scaled ? 4 : 2, .stage_stride_cols = tile_right, .cta_group = cta_group};
  static constexpr bool halved = cta_group == 2 && tile_left == 64;
  static_assert(!scaled || (!halved && tile_right <= 128),
                "warploom: with scales a thread sums up 128 columns at most, and a pair has 256 rows");
  static constexpr int blocks = tile_left == 64 && !halved ? 1 : 2;
  static constexpr int columns = halved ? tile_right / 2 : tile_right;
  using Places = std::conditional_t<halved, HalfBesideHalf<columns>,
                                    std::conditional_t<blocks == 1, BlockAfterBlock, WarpAfterWarp>>;
  static constexpr int patch_columns = tmem_patch_columns_of(columns);
  static_assert(scaled || columns % 64 == 0 || columns == patch_columns,
                "warploom: columns of an accumulator are a power of two or a multiple of 64");
  using Product =
      std::conditional_t<scaled, PromotedSum<Places, blocks, columns, Scales::left, Scales::right, straddles>,
                         TileProduct<OutputTilePipeline<opc>, blocks, columns, patch_columns>>;

  struct Roles {
    using Group = Epilogue;
    using EpilogueLoad = warploom::EpilogueLoad;
  };
  static constexpr int store_slots = 4;
  using Writer =
      PatchWriter<Params, 64 * blocks, columns, patch_columns, 1, store_slots, swap, Roles, Places, Function>;
  using Biases = BiasRing<Params, tile_left, tile_right, swap>;
  using Split = SplitSum<Product, 1, int64_t{tile_left} * tile_right>;

  // Every role that takes tiles says so with one lane; epilogue-load with its whole warp.
  using Takers = freed_by<one_thread<Load, to_first>, leader_thread<Mma, to_first>,
                          lane_per_warp<EpilogueLoad, to_first>, lane_per_warp<Epilogue, to_first>>;
  using Items = SplitTiles<Cluster>;
  static constexpr bool launch_control = source == TileSource::launch_control;
  using Schedule = std::conditional_t<launch_control, ClcScheduler<Cluster, 2, Takers, Items>, FixedShare<Items>>;

  template <int stages>
  struct StorageOf {  // what is aligned first, so that no room is lost
    typename InputOf<stages>::SlotStorage input;
    typename Writer::SlotStorage writer_slots;
    typename Biases::Storage bias;
    typename Writer::SmallStorage writer;
    typename InputOf<stages>::BarrierStorage input_barriers;
    LoadOrder<>::Storage order;
    OutputStorage<opc> output;
    typename Schedule::Storage schedule;
    uint32_t last;
  };
  /// As many slots as shared memory holds, up to 16 K blocks.
  static constexpr int stages = [] {
    constexpr size_t slot = sizeof(StorageOf<3>) - sizeof(StorageOf<2>);
    constexpr int most = static_cast<int>((arch::shared_capacity - sizeof(StorageOf<2>)) / slot) + 2;
    return most < 16 / k_group ? most : 16 / k_group;
  }();
  using Input = InputOf<stages>;
  using Storage = StorageOf<stages>;
  static constexpr int threads =
      threads_of<Epilogue, Load, Mma, EpilogueLoad> + (launch_control ? Scheduler::threads : 0);

  static constexpr GemmShape shape{.chip = Chip::sm100,
                                   .tile_left = tile_left,
                                   .tile_right = tile_right,
                                   .tile_k = Payload::tile_k,
                                   .left_box_rows = Payload::a_slice_rows,
                                   .right_box_rows = Payload::b_slice_rows,
                                   .unit_columns = patch_columns,
                                   .rest_columns = 0,
                                   .plain_columns = Writer::plain_columns,
                                   .load_rows = Writer::load_rows,
                                   .store_rows = Writer::store_rows,
                                   .plain_rows = Writer::plain_rows,
                                   .groups = 1,
                                   .cta_group = cta_group,
                                   .cluster_left = cluster_left,
                                   .cluster_right = cluster_right,
                                   .cluster_k = 1,
                                   .stages = stages,
                                   .k_group = k_group,
                                   .threads = threads,
                                   .shared_bytes = sizeof(Storage),
                                   .partial_floats = tile_left * tile_right,
                                   .ping_pong = false,
                                   .launch_control = launch_control,
                                   .swap = swap,
                                   .own_function = !std::is_same_v<Function, ChosenActivation>};

  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept {
    Input::init_barriers(storage.input_barriers);
    Writer::init_barriers(storage.writer);
    Biases::init_barriers(storage.bias);
    LoadOrder<>::init_barriers(storage.order);
    Schedule::init_barriers(storage.schedule);
  }

  // ---- the roles

  /// One thread, first of all: what TMA will read is on its way. Weights are what earlier grids do not write.
  static WARPLOOM_FN void prefetch(const Params& p) noexcept {
    arch::prefetch_tensor_map(p.left);
    arch::prefetch_tensor_map(p.right);
    if constexpr (scaled) {
      arch::prefetch_tensor_map(p.left_scales);
      arch::prefetch_tensor_map(p.right_scales);
    }
    arch::prefetch_tensor_map(p.d);
    if (p.c_path == Path::tma) arch::prefetch_tensor_map(p.c);
    if (p.weight_blocks == 0) return;
    const Tile first = items_of(p)[static_cast<int>(arch::cluster_index().x)];
    for (int k = 0; k < first.k_count && k < p.weight_blocks; ++k)
      Payload::template prefetch<swap>(first.k_begin + k, swap ? Source{&p.left, first.m * tile_left, first.batch}
                                                               : Source{&p.right, first.n * tile_right, first.batch});
  }

  WARPLOOM_FN void load(Tile tile) noexcept {  // one lane
    if (residual()) {
      auto first = order.first_loads(stages);  // C waits for them
      for (auto slot : input.produce(tile.k_blocks())) {
        bring(slot, tile);
        first.issued();
      }
    } else {
      for (auto slot : input.produce(tile.k_blocks())) bring(slot, tile);  // a free slot, armed
    }
  }

  template <class Context>
  WARPLOOM_FN void mma(Context& context, Tile tile) noexcept {  // one lane
    if constexpr (scaled) {
      for (auto acc : context.per_k_stages(tile.k_blocks())) {  // an accumulator the epilogue has freed
        auto in = input.consume();
        umma(acc, in.a(), in.b(), Accumulate::fresh);
      }  // leaving commits both: once per K block
    } else {
      if (tile.k_count == 0) return;                  // nothing to add up: the epilogue knows
      auto acc = context.output_pipeline.producer();  // an accumulator the epilogue has freed
      Accumulate accumulate = Accumulate::fresh;
      for (int slot = 0; slot < Input::slots_of(tile.k_count); ++slot) {
        auto in = input.consume();  // leaving commits: the slot is free when these products are done
        WARPLOOM_UNROLL
        for (int k = 0; k < k_group; ++k, accumulate = Accumulate::onto) umma(acc.tmem(), in.a(k), in.b(k), accumulate);
      }
    }  // leaving commits: once per tile
  }

  WARPLOOM_FN void epilogue_load(Tile tile) noexcept {  // a warp
    biases.load(left_of(tile), right_of(tile));
    if (residual() && arch::lane_index() == 0) {
      order.wait();
      loader.load(0, left_of(tile), right_of(tile), tile.batch);
    }
    arch::syncwarp();
  }

  template <class Context>
  WARPLOOM_FN void epilogue(Context& context, Tile tile) noexcept {  // four warps
    if constexpr (scaled) {
      Product sum;
      sum.add_up(context, input, tile.k_blocks(), scale_places(tile));  // every K block is free once it is in registers
      finish(sum, tile);
    } else {
      Product sum(context.output_pipeline, tile.k_count != 0);  // finished; free once it is in registers
      finish(sum, tile);
    }
  }

  // ---- their parts

  template <class Slot>
  WARPLOOM_FN void bring(Slot& slot, const Tile& tile) noexcept {
    const Source l{&params.left, left_of(tile), tile.batch, params.left_hint},
        r{&params.right, right_of(tile), tile.batch, params.right_hint};
    if constexpr (scaled)
      slot.load(l, r, Source{&params.left_scales, l.row, l.batch}, Source{&params.right_scales, r.row, r.batch},
                block_scales(tile, 0), block_scales(tile, straddles ? 1 : 0));
    else
      slot.load(l, r);
  }
  /// The scales of the blocks of B that the tile begins in, or those after. Beyond the last column any will do.
  WARPLOOM_FN Source block_scales(const Tile& tile, int after) const noexcept {
    const int block = (swap ? left_of(tile) : right_of(tile)) / Scales::block + after,
              last = (params.n - 1) / Scales::block;
    return {swap ? &params.left_scales : &params.right_scales, (block < last ? block : last) * params.k_blocks,
            tile.batch};
  }
  WARPLOOM_FN ScalePlaces scale_places(const Tile& tile) const noexcept {
    if constexpr (Scales::rows_of_b) return {};
    const auto first = static_cast<uint32_t>(block_scales(tile, 0).row);
    if constexpr (!straddles) return {first};
    return {first, static_cast<uint32_t>(block_scales(tile, 1).row), Scales::block - right_of(tile) % Scales::block};
  }

  WARPLOOM_FN void finish(Product& sum, const Tile& tile) noexcept {
    auto bias = biases.of_tile();  // leaving frees it
    PartialSums parts;
    if (params.splits > 1) {
      parts = Split::meet(sum, params, items_of(params).number_of(tile), tile.split, 0, 2, arch::thread_index() % 128,
                          &storage_->last);
      if (parts.splits == 0) return;  // another CTA finishes the tile
    }
    writer.write(sum, parts, bias.values(), left_of(tile), right_of(tile), tile.batch);
  }

  // ---- what they work on

  static WARPLOOM_FN void run(const Params& params) noexcept { Skeleton<BlackwellGemm>::run(params); }

  WARPLOOM_FN BlackwellGemm(const Params& p, Storage& storage) noexcept
      : params(p),
        schedule(storage.schedule, items_of(p)),
        input(storage.input, storage.input_barriers),
        order(storage.order),
        writer(p, storage.writer_slots, storage.writer, 0),
        loader(p, storage.writer_slots, storage.writer),
        biases(p, storage.bias),
        storage_(&storage) {}

  template <class Role>
  WARPLOOM_FN decltype(auto) tiles() const noexcept {
    return schedule.template tiles<Role>();
  }
  static WARPLOOM_FN Items items_of(const Params& p) noexcept {
    return Items(p.tiles, p.places, p.by_splits, p.k_blocks, p.splits, p.batch, p.line);
  }
  WARPLOOM_FN bool residual() const noexcept { return params.c_path == Path::tma; }
  WARPLOOM_FN int left_of(const Tile& tile) const noexcept { return tile.m * tile_left; }
  WARPLOOM_FN int right_of(const Tile& tile) const noexcept { return tile.n * tile_right; }

  const Params& params;
  Schedule schedule;
  Input input;
  LoadOrder<> order;
  Writer writer;
  typename Writer::Loader loader;
  Biases biases;
  Storage* storage_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
