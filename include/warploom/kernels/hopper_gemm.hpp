// GEMM for sm_90: D = act(alpha * A * B^T + beta * C + bias), dense or with fp32 scales per 128-wide K block.
//
// Cooperative: two math warpgroups share every tile. Ping-pong: they take tiles in turn, and one multiplies while the
// other runs its epilogue. CTAs of a cluster share their operands by multicast; with few tiles several CTAs share the K
// blocks of one, or the CTAs of a cluster do; with few rows of A the operands change sides.
#pragma once

#include "warploom/kernels/gemm/patch_writer.hpp"
#include "warploom/kernels/gemm/payload.hpp"
#include "warploom/kernels/gemm/split_sum.hpp"
#include "warploom/kernels/gemm/split_tiles.hpp"
#include "warploom/kernels/gemm_params.hpp"
#include "warploom/kernels/hopper/cluster_sum.hpp"
#include "warploom/kernels/hopper/group_bias.hpp"
#include "warploom/kernels/hopper/promoted.hpp"
#include "warploom/kernels/hopper/shared_last_tile.hpp"
#include "warploom/kernels/hopper/slot_operand.hpp"
#include "warploom/pipeline/load_order.hpp"
#include "warploom/warp/hopper_skeleton.hpp"
#include "warploom/warp/turns.hpp"

namespace warploom {

enum class HopperSchedule : uint8_t { one_group, cooperative, ping_pong };

/// Patches of 64 columns, where that divides a tile; of 32 otherwise, for which there are registers beside any tile,
/// and a narrower one at the end. Narrow tiles are one patch.
WARPLOOM_CONST_FN int patch_columns_of(int tile) { return tile < 64 ? tile : tile % 64 == 0 ? 64 : 32; }

}  // namespace warploom

namespace warploom::inline WARPLOOM_MACHINE {

template <class A, class B, Major a_major, Major b_major, Scaling scaling, int tile_left_, int tile_right_,
          HopperSchedule schedule, int cluster_left, int cluster_right, int cluster_k, bool swap,
          class Function = ChosenActivation>
struct HopperGemm {
  static constexpr char name[] = "hopper-gemm";
  using Params = GemmParams;
  static constexpr GemmOperands operands{dtype_of<A>, dtype_of<B>, a_major, b_major, scaling};
  /// CTAs that share operands, and all of a cluster: where K is split too, the latter are more.
  using Sharing = ClusterShape<1, cluster_left, cluster_right>;
  using Cluster = std::conditional_t<cluster_k == 1, Sharing, ClusterShape<1, cluster_k, 1>>;
  static_assert(cluster_k == 1 || Sharing::size == 1, "warploom: a cluster shares operands or K, not both");
  using Left = std::conditional_t<swap, B, A>;
  using Right = std::conditional_t<swap, A, B>;
  static constexpr int tile_left = tile_left_, tile_right = tile_right_;
  static constexpr bool ping_pong = schedule == HopperSchedule::ping_pong;
  static constexpr bool waits_for_earlier_grids = true;
  /// Before the CTA meets, while others make barriers. Where there is one group that is too early: the CTA would meet
  /// later for it, and begin no sooner.
  static constexpr bool first_tile_early = schedule != HopperSchedule::one_group;
  using Roles = HopperRoles<schedule == HopperSchedule::one_group ? 1 : 2>;
  static constexpr int threads = Roles::threads;
  static constexpr int group_rows = ping_pong ? tile_left : tile_left / Roles::groups;
  /// A group that promotes 128 rows or more than 160 columns, or scales both ways, has no registers to spare: nothing
  /// is kept for later, there is one matrix whose tiles nobody shares, and registers come from the loading warps.
  static constexpr bool crowded = scaling != Scaling::none && schedule != HopperSchedule::one_group &&
                                  (group_rows > 64 || tile_right > 160 || scaling == Scaling::a_rows_b_rows);
  /// Tiles worth sharing are small; and beside the scaled sums of 128 x 128 there is no room for adding up parts.
  static constexpr bool splits = !crowded && !ping_pong && cluster_k == 1 &&
                                 tile_left * tile_right <= (scaling == Scaling::none ? 128 * 128 : 64 * 128);
  /// Small tiles are for few rows of A: mostly one row of tiles, and a launch that is over in microseconds.
  static constexpr bool short_launches = schedule == HopperSchedule::one_group || tile_left * tile_right <= 128 * 64;
  using Schedule = SplitTiles<Sharing, !crowded, splits, cluster_k, short_launches>;
  using Reader = std::conditional_t<ping_pong, typename Roles::Group, typename Roles::Math>;

  using Scales = GemmScales<scaling, tile_left, tile_right, swap>;
  static constexpr bool scaled = Scales::any, straddles = Scales::straddle;
  using Payload = GemmPayload<Left, Right, tile_left, tile_right, Sharing, swap ? b_major : a_major,
                              swap ? a_major : b_major, Scales::left, Scales::right, Scales::blocks>;
  // Scales are read with ordinary loads too; PromotedAccumulator fences them off itself.
  using Freed = freed_by<wgmma_warps<Reader, to_operand_sources>>;
  template <int stages>
  using InputOf = InputTilePipeline<Payload, stages, filled_by<tma_bytes<typename Roles::Load>>, Freed>;
  using Accumulator =
      std::conditional_t<scaled, PromotedAccumulator<group_rows, tile_right, Scales::left, Scales::right, straddles>,
                         WarpgroupAccumulator<group_rows, tile_right>>;
  static constexpr int patch_columns = patch_columns_of(tile_right);
  /// Where two groups share a tile of many bytes, and slots are enough to let one of them go ahead.
  static constexpr bool ends_in_turn =
      schedule == HopperSchedule::cooperative && scaling == Scaling::none && tile_left * tile_right > 128 * 128;
  static constexpr uint32_t turn_barrier = 5;
  static constexpr bool own_function = !std::is_same_v<Function, ChosenActivation>;
  /// Ping-pong hides an epilogue that is quick enough.
  static constexpr bool fuses = ping_pong && !scaled && sizeof(Left) == 2 && tile_right <= 176 && cluster_k == 1;
  /// The bias comes after the product where its two registers are too many beside the accumulator's.
  static constexpr bool late_bias = fuses && !own_function && tile_right > 160;
  using Fused = std::conditional_t<fuses && !own_function, Left, void>;
  template <int slots>
  using WriterOf = PatchWriter<Params, group_rows, tile_right, patch_columns, Roles::groups, slots, swap, Roles,
                               BlockAfterBlock, Function, Fused>;
  using Bias = GroupBias<Params, group_rows, tile_right, Roles::groups, swap>;
  using Order = LoadOrder<typename Roles::Load, typename Roles::EpilogueLoad>;
  using Meeting = ClusterSum<Accumulator, Roles::groups, cluster_k>;
  using Split = SplitSum<Accumulator, Roles::groups, int64_t{tile_left} * tile_right>;

  template <int stages, int slots>
  struct StorageOf {  // what is aligned first, so that no room is lost
    typename InputOf<stages>::SlotStorage input;
    typename WriterOf<slots>::SlotStorage writer_slots;
    typename Bias::Storage bias;
    typename WriterOf<slots>::SmallStorage writer;
    typename InputOf<stages>::BarrierStorage input_barriers;
    typename Order::Storage order;
    typename Turns<Roles::groups>::Storage turns;
    typename Meeting::Storage meeting;
    uint32_t last[Roles::groups];
  };
  /// More slots of operands than this are of no use. The small tiles of one group are for few rows and many weights:
  /// there loads that are all on their way at once wait for each other, and barriers take longer to make.
  static constexpr int most_stages = schedule == HopperSchedule::one_group && (scaled || swap) ? 8 : 12;
  /// As many as shared memory holds beside those of the writer.
  template <int slots>
  static constexpr int stages_beside = [] {
    constexpr size_t slot = sizeof(StorageOf<3, slots>) - sizeof(StorageOf<2, slots>);
    constexpr int most = static_cast<int>((arch::shared_capacity - sizeof(StorageOf<2, slots>)) / slot) + 2;
    return most < most_stages ? most : most_stages;
  }();
  /// Of 64 x 64 in 16 bits, for each group. With four, all of C is there before the product of 128 x 128 is; but what
  /// is more than needed is better spent on stages. Where it takes none of them, each patch of a tile has its own, and
  /// none waits until another's store has read its slot.
  static constexpr int store_slots = [] {
    constexpr int needed = group_rows * tile_right >= 128 * 128 && tile_right <= 128 ? 4 : 2;
    constexpr int all = WriterOf<2>::plain_patches;
    if constexpr (!swap && all > needed && all <= 4)
      if (stages_beside<all> == stages_beside<needed>) return all;
    return needed;
  }();
  static constexpr int stages = stages_beside<store_slots>;
  using Writer = WriterOf<store_slots>;
  /// A launch finds its code in no cache, and nothing hides that of its epilogue. So while the first operands are on
  /// their way it is run for a tile of nothing, beyond the output, from which TMA takes nothing away.
  /// Groups that take turns do not: one that has no tile would never pass its turn back.
  static constexpr bool rehearses =
      short_launches && !ping_pong && !swap && cluster_k == 1 && Writer::plain_patches == 1;
  using Input = InputOf<stages>;
  using Storage = StorageOf<stages, store_slots>;

  static constexpr GemmShape shape{.chip = Chip::sm90,
                                   .tile_left = tile_left,
                                   .tile_right = tile_right,
                                   .tile_k = Payload::tile_k,
                                   .left_box_rows = Payload::a_slice_rows,
                                   .right_box_rows = Payload::b_slice_rows,
                                   .unit_columns = patch_columns,
                                   .rest_columns = tile_right % patch_columns,
                                   .plain_columns = Writer::plain_columns,
                                   .load_rows = Writer::load_rows,
                                   .store_rows = Writer::store_rows,
                                   .plain_rows = Writer::plain_rows,
                                   .groups = Roles::groups,
                                   .cta_group = 1,
                                   .cluster_left = cluster_left,
                                   .cluster_right = cluster_right,
                                   .cluster_k = cluster_k,
                                   .stages = stages,
                                   .k_group = 1,
                                   .threads = threads,
                                   .shared_bytes = sizeof(Storage),
                                   .partial_floats = splits ? tile_left * tile_right : 0,
                                   .ping_pong = ping_pong,
                                   .launch_control = false,
                                   .swap = swap,
                                   .placed = !short_launches,
                                   .fuses = Writer::fuses,
                                   .own_function = own_function};

  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept { Input::init_barriers(storage.input_barriers); }
  static WARPLOOM_FN void init_more_barriers(Storage& storage) noexcept {
    Writer::init_barriers(storage.writer);
    Order::init_barriers(storage.order);
    Meeting::init_barriers(storage.meeting);
    if constexpr (ping_pong) Turns<Roles::groups>::init_barriers(storage.turns);
  }

  // ---- the roles

  /// One thread, first of all: what TMA will read is on its way.
  static WARPLOOM_FN void prefetch(const Params& p) noexcept {
    arch::prefetch_tensor_map(p.left);
    arch::prefetch_tensor_map(p.right);
    if constexpr (scaled) {
      arch::prefetch_tensor_map(p.left_scales);
      arch::prefetch_tensor_map(p.right_scales);
    }
    arch::prefetch_tensor_map(p.d);
    if (p.c_path == Path::tma) arch::prefetch_tensor_map(p.c);
  }

  WARPLOOM_FN void load(Tile tile) noexcept {  // one lane
    if (ordered()) {
      auto first = order.first_loads(stages);  // C waits for them
      for (auto slot : input.produce(tile.k_blocks())) {
        bring(slot, tile);
        first.issued();
      }
    } else {
      for (auto slot : input.produce(tile.k_blocks())) bring(slot, tile);  // a free slot, armed
    }
  }

  WARPLOOM_FN void epilogue_load(Tile tile) noexcept {  // one lane
    if (!residual()) return;
    if (ordered()) order.wait();
    if constexpr (ping_pong) {
      loader.load(turn, left_of(tile), right_of(tile), tile.batch, shares(tile));
      turn = turn + 1 == Roles::groups ? 0 : turn + 1;
    } else {
      WARPLOOM_ROLLED
      for (int patch = 0; patch < Writer::all_patches; ++patch) {
        WARPLOOM_UNROLL
        for (int i = 0; i < Roles::groups; ++i)
          if (cluster_k == 1 || finishes(cluster_k, arch::cluster_rank(), i))
            loader.load_patch(i, patch, left_of(tile) + i * group_rows, right_of(tile), tile.batch);
      }
    }
  }

  WARPLOOM_FN void math(Tile tile, bool mine = true) noexcept {  // a warpgroup; not `mine`: one that helps
    if constexpr (rehearses) {
      WARPLOOM_ROLLED
      for (bool real = rehearsed || !params.plain;; real = true) {
        whole_tile(real ? tile : Tile{.m = (params.m + tile_left - 1) / tile_left});
        rehearsed = true;
        if (real) break;
      }
    } else {
      whole_tile(tile, mine);
    }
  }
  WARPLOOM_FN void whole_tile(Tile tile, bool mine = true) noexcept {
    const int left = left_of(tile) + rows_before, right = right_of(tile);
    if constexpr (!crowded && !late_bias) bias.prepare(left, right);
    Accumulator sum;
    if (mine) {
      multiply(sum, tile);
      if constexpr (Writer::fuses)
        if (shares(tile)) SharedLastTile<Accumulator>::give(sum, input, group);
    } else if constexpr (Writer::fuses) {
      pass_over(tile);
      SharedLastTile<Accumulator>::take(sum, input);
    }
    PartialSums parts;
    if constexpr (splits) {
      if (params.splits > 1) {
        parts = meet(sum, tile);
        if (parts.splits == 0) return;  // another CTA finishes the tile
      }
    }
    if constexpr (crowded) bias.prepare(left, right);  // not `bring`: ptxas would free slots later in the main loop
    if constexpr (cluster_k > 1) {
      typename Meeting::Whole whole;
      if (!meeting.meet(sum, whole)) return;  // another CTA has it all
      meeting.done();
      stage_bias(left, right);
      write(whole, parts, left, right, tile);
    } else {
      stage_bias(left, right);
      write(sum, parts, mine ? left : left + SharedLastTile<Accumulator>::given_rows, right, tile);
    }
  }
  WARPLOOM_FN void pass_over(Tile tile) noexcept {  // another group's tile
    input.pipeline.consumer_skip(Input::slots_of(tile.k_blocks()));
  }
  /// Whether both groups write a tile that one of them multiplies: the last one, where an epilogue is long. It has
  /// filled every slot anew, so that no product of the tile before it still reads one.
  WARPLOOM_FN bool shares(const Tile& tile) const noexcept {
    return Writer::fuses && tile.last && params.fused && tile.k_count >= stages;
  }

  WARPLOOM_FN void drain() const noexcept { meeting.drain(); }  // a warpgroup, after its last tile

  // ---- their parts

  WARPLOOM_FN void stage_bias(int left, int right) noexcept {
    if (!swap && params.plain) return;
    if constexpr (late_bias)
      bias.bring(left, right);
    else
      bias.stage();
  }
  template <class Sum>
  WARPLOOM_FN void write(Sum& sum, const PartialSums& parts, int left, int right, const Tile& tile) noexcept {
    writer.write(sum, parts, bias.values(), left, right, tile.batch,
                 {tile.last, spare(tile), shares(tile) ? 1 : group_rows / 64});
  }
  /// After the last product slots of operands are free: of a tile that is shared all but those that half of it went
  /// through, otherwise the rows of the left operand that this group alone has read.
  WARPLOOM_FN typename Writer::Spare spare(const Tile& tile) const noexcept {
    constexpr uint32_t step = sizeof(typename Payload::Slot);
    if constexpr (Writer::fuses) {
      constexpr uint32_t place = sizeof(typename Writer::SlotTile::Storage);
      static_assert(Writer::fused_per_row + SharedLastTile<Accumulator>::slots <= stages && step >= 2 * place);
      if (shares(tile))
        return {reinterpret_cast<char*>(&input.slot(0)) + group * place, step, input.consumer_stage(), stages};
    }
    if constexpr (Writer::spare_places > 0 && !ping_pong && group_rows == 64 && !swap && a_major == Major::k) {
      static_assert(Writer::spare_places <= stages);
      if (tile.last) return {reinterpret_cast<char*>(input.a(0).template part<group_rows>(rows_before).data), step};
    }
    return {};
  }

  template <class Slot>
  WARPLOOM_FN void bring(Slot& slot, const Tile& tile) noexcept {
    const Source l{&params.left, left_of(tile), tile.batch, params.left_hint},
        r{&params.right, right_of(tile), tile.batch, params.right_hint};
    if constexpr (scaled)
      slot.load(l, r, Source{&params.left_scales, l.row, 0}, Source{&params.right_scales, r.row, 0},
                block_scales(tile, 0), block_scales(tile, straddles ? 1 : 0));
    else
      slot.load(l, r);
  }
  /// The scales of the blocks of B that the tile begins in, or those after. Beyond the last column any will do.
  WARPLOOM_FN Source block_scales(const Tile& tile, int after) const noexcept {
    const int block = (swap ? left_of(tile) : right_of(tile)) / Scales::block + after,
              last = (params.n - 1) / Scales::block;
    return {swap ? &params.left_scales : &params.right_scales, (block < last ? block : last) * params.k_blocks, 0};
  }

  WARPLOOM_FN void multiply(Accumulator& sum, const Tile& tile) noexcept {
    if constexpr (scaled) {
      sum.template multiply<Reader>(input, tile.k_blocks(), rows_before, block_places(tile));
    } else {
      const SlotOperand a(input, input.a(0).template part<group_rows>(rows_before));
      const SlotOperand b(input, input.b(0));
      if constexpr (ping_pong) {
        auto its_turn = turns.take();  // the other group has waited for all its slots
        auto products = sum.template over<Reader>(input, tile.k_blocks());
        for (auto in : products) sum.mma(a.of(in), b.of(in));  // a filled slot; the one before is freed
        its_turn.pass();                                       // its products queue up behind ours
      } else {
        auto products = sum.template over<Reader>(input, tile.k_blocks());
        // The last tile's last products one group after the other, so that one is stored while the other multiplies.
        // Where the second group waits it holds the slot before the one it waits at, and there are slots for as many
        // K blocks more as the first group then goes ahead: one fewer than all.
        const bool in_turn = ends_in_turn && tile.last;
        int until = in_turn && group == 1 ? (tile.k_count < stages ? 0 : tile.k_count - (stages - 1)) : -1;
        for (auto in : products) {
          if (ends_in_turn && until-- == 0) arch::bar_sync(turn_barrier, 256);
          sum.mma(a.of(in), b.of(in));
        }
        if (in_turn && group == 0 && tile.k_count > 0) arch::bar_arrive(turn_barrier, 256);
      }
    }
  }
  WARPLOOM_FN BlockPlaces block_places(const Tile& tile) const noexcept {
    if constexpr (Scales::rows_of_b) return {};
    const uint32_t first = block_scales(tile, 0).row + tile.k_begin;
    if constexpr (!straddles) return {first};
    return {first, static_cast<uint32_t>(block_scales(tile, 1).row + tile.k_begin),
            Scales::block - right_of(tile) % Scales::block};
  }

  WARPLOOM_FN PartialSums meet(const Accumulator& sum, const Tile& tile) noexcept {
    return Split::meet(sum, params, schedule_.number_of(tile), tile.split, group, 2 + group, arch::thread_index() % 128,
                       &storage_->last[group]);
  }

  /// Of the CTAs that share K, each group's part of the tile is written by one.
  static WARPLOOM_FN bool writes() noexcept { return cluster_k == 1 || arch::cluster_rank() < Roles::groups; }
  WARPLOOM_FN bool residual() const noexcept { return params.c_path == Path::tma && writes(); }
  WARPLOOM_FN bool ordered() const noexcept { return !crowded && residual(); }
  WARPLOOM_FN int left_of(const Tile& tile) const noexcept { return tile.m * tile_left; }
  WARPLOOM_FN int right_of(const Tile& tile) const noexcept { return tile.n * tile_right; }

  // ---- what they work on

  static WARPLOOM_FN void run(const Params& params) noexcept { HopperSkeleton<HopperGemm>::run(params); }

  WARPLOOM_FN HopperGemm(const Params& p, Storage& storage, uint32_t group_index) noexcept
      : params(p),
        group(group_index),
        rows_before(ping_pong ? 0 : static_cast<int>(group_index) * group_rows),
        schedule_(p.tiles, p.places, p.by_splits, p.k_blocks, p.splits, p.batch, p.line),
        input(storage.input, storage.input_barriers),
        order(storage.order),
        turns(storage.turns, group_index),
        writer(p, storage.writer_slots, storage.writer,
               group_index < static_cast<uint32_t>(Roles::groups) ? group_index : 0),
        bias(p, storage.bias, group_index < static_cast<uint32_t>(Roles::groups) ? group_index : 0),
        loader(p, storage.writer_slots, storage.writer),
        meeting(storage.meeting, group_index),
        storage_(&storage) {}

  WARPLOOM_FN const Schedule& tiles() const noexcept { return schedule_; }

  const Params& params;
  uint32_t group;   ///< this warpgroup
  int rows_before;  ///< of a tile, that belong to the groups before this one
  Schedule schedule_;
  Input input;
  Order order;
  Turns<Roles::groups> turns;
  Writer writer;
  Bias bias;
  typename Writer::Loader loader;
  Meeting meeting;
  Storage* storage_;
  uint32_t turn = 0;       ///< epilogue-load: whose tile is next
  bool rehearsed = false;  ///< math: the epilogue, before the first tile
};

}  // namespace warploom::inline WARPLOOM_MACHINE
