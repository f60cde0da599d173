// From the accumulator of a group of four warps, in registers or in tensor memory, to global memory, patch by patch,
// each through a shared-memory slot and a TMA store that overlaps with the next patch and with the next tile.
//
// With a residual the slots are a ring: the epilogue-load role brings a patch of C, the group turns it into a patch of
// D in the same place and stores it, and gives the slot back once the store has read it. Operands that a last tile does
// not need any more leave other places for D.
//
//   using Writer = PatchWriter<Params, 64, 256, 64, 2, 2, false, Roles>;
//   writer.write(sum, {}, bias, left, right, batch);  // every thread of the group; and finish() before the role ends
//   loader.load(group, left, right, batch);           // epilogue-load: one lane
#pragma once

#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/arch/tma.hpp"
#include "warploom/kernels/gemm/patch.hpp"
#include "warploom/pipeline/epi_load.hpp"
#include "warploom/types/epilogue.hpp"
#include "warploom/types/unrolled.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

// Where in a tile the rows and columns of a block of the accumulator lie: each warp has 16 rows of it. `together`: they
// follow each other, so that one copy brings all of them.

/// Registers of wgmma, or tensor memory of 64 rows: a block is 64 rows.
struct BlockAfterBlock {
  static constexpr bool together = true;
  static WARPLOOM_CONST_FN int row(int block, uint32_t warp) { return 64 * block + 16 * static_cast<int>(warp); }
  static WARPLOOM_CONST_FN int column(uint32_t) { return 0; }
};
/// Tensor memory of 128 rows (hardware.md §4.8, layouts A and D): a warp has 32 rows, half of them in each block.
struct WarpAfterWarp {
  static constexpr bool together = false;
  static WARPLOOM_CONST_FN int row(int block, uint32_t warp) { return 16 * block + 32 * static_cast<int>(warp); }
  static WARPLOOM_CONST_FN int column(uint32_t) { return 0; }
};
/// Tensor memory of a pair's 128 rows, 64 of them in each CTA (layout B): the last two warps have the second half of
/// the columns.
template <int half>
struct HalfBesideHalf {
  static constexpr bool together = false;
  static WARPLOOM_CONST_FN int row(int block, uint32_t warp) { return 16 * block + 32 * static_cast<int>(warp % 2); }
  static WARPLOOM_CONST_FN int column(uint32_t warp) { return static_cast<int>(warp / 2) * half; }
};

/// Warps whose TMA store is the last to read a slot: what they did there themselves they have fenced off before it.
template <class Role>
struct storing_warps : lane_per_warp<Role> {
  static constexpr bool reads_generic = false;
};

/// What is applied to every element before it is rounded: the launch's activation, or a function object of the user's.
struct ChosenActivation {
  template <bool compact, class Patch, class Params>
  static WARPLOOM_FN void apply(Patch& patch, const Params& params) noexcept {
    patch.template apply<compact>(params.activation, params.d_type);
  }
};
template <class Function>
struct Elementwise {
  template <bool compact, class Patch, class Params>
  static WARPLOOM_FN void apply(Patch& patch, const Params&) noexcept {
    patch.each(Function{});
  }
};

/// `rows` x `columns` per group, in patches of 64 x `patch_columns`, and narrower ones for the columns that are left;
/// `slots` per group, two or more. An accumulator that is not in registers brings any patch of itself (`take`), and
/// hears when the last one has been taken (`done`). `Fused`: a type of 16 bits for which what most launches add to a
/// product has code of its own (Params::fused); void: none has.
template <class Params, int rows, int columns, int patch_columns, int groups, int slots, bool swap, class Roles,
          class Places = BlockAfterBlock, class Function = ChosenActivation, class Fused = void>
class PatchWriter {
 public:
  using Patch = warploom::Patch<patch_columns, swap>;
  static constexpr int per_row = columns / patch_columns;
  static constexpr int patches = rows / 64 * per_row;
  static constexpr int rest_columns = columns % patch_columns;  ///< of the narrow patches, which come last
  static constexpr int all_patches = patches + (rest_columns != 0 ? rows / 64 : 0);
  static constexpr int plain_columns = columns < 64 ? columns : 64;
  /// Rows of C that one copy brings, and of D that one takes away: a warp's, or all.
  static constexpr int store_rows = swap ? Patch::output_rows : static_cast<int>(Patch::warp_rows);
  static constexpr int load_rows = Places::together ? Patch::output_rows : store_rows;
  /// The same of D where nothing but the product is stored. All of them: a warp waits for TMA to take its order, and
  /// the group meets sooner than four warps get through with theirs. Larger tiles have no register to spare for it.
  static constexpr bool plain_together = Places::together && !swap && rows * columns <= 128 * 128;
  static constexpr int plain_rows = plain_together ? Patch::output_rows : store_rows;
  static constexpr int plain_per_row = (columns + plain_columns - 1) / plain_columns;
  static constexpr int plain_patches = rows / 64 * plain_per_row;
  static_assert(!swap || Places::together, "warploom: only rows that follow each other can change sides");
  static_assert(rows % 64 == 0 && (!swap || rest_columns == 0), "warploom: the tile does not divide into patches");
  static_assert(rest_columns % 16 == 0 && (rest_columns == 0 || 2 * rest_columns >= patch_columns),
                "warploom: narrow patches have 16, 32 or 48 columns, and at least half of the others'");
  static_assert(slots >= 2, "warploom: an f32 patch takes two slots");
  static constexpr bool fuses = !std::is_void_v<Fused>;
  static_assert(!fuses || (!swap && Places::together),
                "warploom: only unswapped rows that follow each other are fused");

  /// A patch, or one warp's part of it, by the rows of the operands it starts at.
  struct At {
    int left, right;
    WARPLOOM_FN int row() const noexcept { return swap ? right : left; }  ///< of the output
    WARPLOOM_FN int column() const noexcept { return swap ? left : right; }
    WARPLOOM_FN bool inside(const Params& params) const noexcept { return row() < params.m && column() < params.n; }
  };
  static WARPLOOM_FN int block_of(int index) noexcept {
    return rest_columns != 0 && index >= patches ? index - patches : index / per_row;
  }
  static WARPLOOM_FN int column_of(int index) noexcept {
    return rest_columns != 0 && index >= patches ? columns - rest_columns : patch_columns * (index % per_row);
  }
  static WARPLOOM_FN At patch_at(int index, int left, int right) noexcept {
    return {left + Places::row(block_of(index), 0), right + column_of(index)};
  }
  static WARPLOOM_FN At part_of(const At& patch, uint32_t warp) noexcept {
    return {patch.left + Places::row(0, warp), patch.right + Places::column(warp)};
  }

  /// One slot: what TMA brings of C in 16 bits, or half of it in 32.
  struct SlotTile {
    using Element = char;
    static constexpr uint32_t bytes = 64 * patch_columns * 2;
    struct alignas(1024) Storage {
      char data[Patch::output_rows * 128];
    };
    char* data;
    WARPLOOM_FN explicit SlotTile(Storage& storage) noexcept : data(storage.data) {}
    WARPLOOM_FN arch::SharedAddress address() const noexcept { return arch::shared_address(data); }
  };
  using Storing = typename Roles::Group;
  using Ring = EpiLoadPipeline<slots, SlotTile, freed_by<storing_warps<Storing>>,
                               filled_by<tma_bytes<typename Roles::EpilogueLoad>>>;

  /// Places, each as large as a slot: those of a ring, from one of it on.
  struct Spare {
    char* first = nullptr;
    uint32_t step = 0;  ///< from one to the next
    uint32_t from = 0, count = ~0u;
    WARPLOOM_FN char* operator[](int index) const noexcept {
      const uint32_t place = from + static_cast<uint32_t>(index);
      return first + (place < count ? place : place - count) * step;
    }
  };
  static constexpr int fused_per_row = (columns + 63) / 64, fused_patches = rows / 64 * fused_per_row;
  /// Whether a tile is the group's last: nothing hides its epilogue then, and operands have left room.
  struct Ending {
    bool last = false;
    Spare spare = {};  ///< fused: `fused_per_row` places, one per patch; else `spare_places`, for those without slot
    int blocks = rows / 64;  ///< fused: of 64 rows, to be written; one, if there are places
  };
  static constexpr int spare_places = plain_together && plain_patches % slots == 0 ? plain_patches - slots : 0;

  struct SlotStorage {
    typename Ring::TileStorage rings[groups];
  };
  struct SmallStorage {
    typename Ring::BarrierStorage barriers[groups];
  };
  static WARPLOOM_FN void init_barriers(SmallStorage& storage) noexcept {
    for (int i = 0; i < groups; ++i) Ring::init_barriers(storage.barriers[i]);
  }

  WARPLOOM_FN PatchWriter(const Params& params, SlotStorage& slot_storage, SmallStorage& storage,
                          uint32_t group) noexcept
      : params_(params), group_(group), ring_(slot_storage.rings[group], storage.barriers[group]) {}

  /// The tile that starts at these rows of the operands. `bias`: in shared memory, of the tile's right or left rows.
  template <class Accumulator>
  WARPLOOM_FN void write(Accumulator& sum, const PartialSums& parts, const float* bias, int left, int right, int batch,
                         const Ending& ending = {}) noexcept {
    static_assert(Accumulator::rows == rows && Accumulator::columns == columns,
                  "warploom: the accumulator is not the writer's tile");
    if constexpr (in_registers<Accumulator>)
      if (params_.alpha != 1.0f) scale(sum, params_.alpha);
    // A function of the user's is applied to all there is.
    if (!swap && std::is_same_v<Function, ChosenActivation> && params_.plain) {
      const auto bf16s = [](float x, float y) WARPLOOM_LAMBDA { return arch::pack_bf16(x, y); };
      const auto f16s = [](float x, float y) WARPLOOM_LAMBDA { return arch::pack_f16(x, y); };
      params_.d_type == DType::bf16 ? write_halves(sum, left, right, batch, ending, bf16s)
                                    : write_halves(sum, left, right, batch, ending, f16s);
      return;
    }
    if constexpr (fuses) {
      if (params_.fused) {
        if (params_.activation == Activation::none)
          residual() ? write_fused<true, false>(sum, bias, left, right, batch, ending)
                     : write_fused<false, false>(sum, bias, left, right, batch, ending);
        else
          residual() ? write_fused<true, true>(sum, bias, left, right, batch, ending)
                     : write_fused<false, true>(sum, bias, left, right, batch, ending);
        return;
      }
    }
    const int last = in_registers<Accumulator> ? 0 : last_patch(all_patches, [&](int index) WARPLOOM_LAMBDA {
      return patch_at(index, left, right);
    });
    write_patches<Patch, 0, patches>(sum, parts, bias, last, left, right, batch);
    if constexpr (rest_columns != 0)
      write_patches<warploom::Patch<rest_columns, swap, patch_columns / 2>, patches, all_patches>(
          sum, parts, bias, last, left, right, batch);
    if (residual()) release_stored(0);
  }

  /// Before the role ends: shared memory stays until the stores have read it.
  WARPLOOM_FN void finish() const noexcept {
    if (stores()) arch::bulk_wait_group_read<0>();
  }

  /// The epilogue-load role's side: brings C for the patches of one group's tile.
  class Loader {
   public:
    WARPLOOM_FN Loader(const Params& params, SlotStorage& slot_storage, SmallStorage& storage) noexcept
        : params_(params), rings_{make<0>(slot_storage, storage), make<groups - 1>(slot_storage, storage)} {
      static_assert(groups <= 2, "warploom: a loader serves two groups at most");
    }

    /// The tile of group `group` that starts at these rows. One lane. `shared`: the other group writes its second
    /// half, and patches come for both in turn.
    WARPLOOM_FN void load(uint32_t group, int left, int right, int batch, bool shared = false) noexcept {
      if constexpr (fuses) {
        if (params_.fused) {
          WARPLOOM_ROLLED
          for (int i = 0; i < fused_patches; ++i) {
            const int half = shared ? i % 2 : 0, index = shared ? i / 2 + half * fused_patches / 2 : i;
            in_ring(group ^ static_cast<uint32_t>(half), [&](Ring& ring) WARPLOOM_LAMBDA {
              bring<fused_bytes>(ring, fused_at(index, left, right), 0, batch);
            });
          }
          return;
        }
      }
      WARPLOOM_ROLLED
      for (int index = 0; index < all_patches; ++index) load_patch(group, index, left, right, batch);
    }
    /// One patch, so that groups that share a tile get theirs in turn.
    WARPLOOM_FN void load_patch(uint32_t group, int index, int left, int right, int batch) noexcept {
      const At at = patch_at(index, left, right);
      if (!at.inside(params_)) return;
      in_ring(group, [&](Ring& ring) WARPLOOM_LAMBDA {
        bring<SlotTile::bytes>(ring, at, 0, batch);
        if (params_.c_type == DType::f32) bring<SlotTile::bytes>(ring, at, Patch::output_columns / 2, batch);
      });
    }

   private:
    template <int i>
    static WARPLOOM_FN Ring make(SlotStorage& slot_storage, SmallStorage& storage) noexcept {
      return Ring(slot_storage.rings[i], storage.barriers[i]);
    }
    /// Each ring by name, so that their states stay registers.
    template <class F>
    WARPLOOM_FN void in_ring(uint32_t group, F&& f) noexcept {
      unrolled<groups>([&](int i) WARPLOOM_LAMBDA {
        if (static_cast<uint32_t>(i) == group) f(rings_[i]);
      });
    }
    template <uint32_t bytes>
    WARPLOOM_FN void bring(Ring& ring, const At& at, int columns_on, int batch) noexcept {
      if constexpr (bytes > SlotTile::bytes) {  // the slot is armed with these: the others are announced before
        ring.wait_consumer();
        arch::mbarrier_expect_tx(arch::shared_address(ring.producer_mbar()), bytes - SlotTile::bytes);
      }
      auto slot = ring.produce();
      WARPLOOM_UNROLL
      for (uint32_t warp = 0; warp < (Places::together ? 1 : 4); ++warp) {
        const At part = part_of(at, warp);
        arch::tma_load<1>(ring.tile(slot.index()).address() + warp * Patch::warp_bytes, params_.c,
                          arch::shared_address(slot.mbar()),
                          arch::Coord3{part.column() + columns_on, part.row(), batch});
      }
    }
    const Params& params_;
    Ring rings_[2];
  };

 private:
  template <class Accumulator>
  static constexpr bool in_registers = !requires(Accumulator& sum) { sum.done(); };
  static constexpr int first_barrier = 2;

  /// Where it lies: alpha is 1 in most launches, and code for both would be twice as much of all that follows.
  template <class Accumulator>
  static WARPLOOM_FN void scale(Accumulator& sum, float alpha) noexcept {
    WARPLOOM_UNROLL
    for (int i = 0; i < rows / 64 * (columns / 2); ++i) {
      const int block = i / (columns / 2), at = i % (columns / 2);
      sum.set(block, at, arch::multiply(alpha, sum.value(block, at)));
    }
  }
  /// Registers of the product times alpha, from the first of a block on.
  template <class P, class Accumulator>
  WARPLOOM_FN void take(P& patch, const Accumulator& sum, int block, int first) const noexcept {
    if constexpr (in_registers<Accumulator>)
      patch.take(sum, block, first);
    else
      patch.take(sum, block, first, params_.alpha);
  }

  WARPLOOM_FN bool residual() const noexcept { return params_.c_path == Path::tma; }
  /// The last of `count` patches that is not wholly beyond the output; -1: all are.
  template <class PlaceOf>
  WARPLOOM_FN int last_patch(int count, PlaceOf&& place_of) const noexcept {
    WARPLOOM_ROLLED
    while (--count >= 0)
      if (place_of(count).inside(params_)) break;
    return count;
  }
  /// Who stages together, and which of them stores: a warp, or swapped the group.
  WARPLOOM_FN bool stores() const noexcept { return swap ? place_.thread() == 0 : place_.lane == 0; }
  WARPLOOM_FN void sync() const noexcept {
    if constexpr (swap)
      group_sync();
    else
      arch::syncwarp();
  }
  WARPLOOM_FN void group_sync() const noexcept { arch::bar_sync(first_barrier + group_, 128); }

  /// What most launches do, nothing but a product in 16 bits, without a branch per patch, in rounds of all slots. A
  /// group that stores together lets its patches go one by one where it has more of them than slots, so that a slot is
  /// free sooner, and those of its last tile: 64 KB per SM take longer to leave than to stage.
  template <class Accumulator, class Pack>
  WARPLOOM_FN void write_halves(Accumulator& sum, int left, int right, int batch, const Ending& ending,
                                Pack&& pack) noexcept {
    constexpr bool one_by_one = plain_together && plain_patches > slots && plain_patches % slots == 0;
    constexpr int at_a_time = one_by_one ? 1 : slots, rounds = (plain_patches + at_a_time - 1) / at_a_time;
    const bool all_placed = spare_places > 0 && ending.spare.first != nullptr;
    const bool singly = plain_together && plain_patches <= slots && in_registers<Accumulator> && ending.last;
    // The last of a row may begin before the one before it ends: both store the same there.
    const auto column_of = [](int index) WARPLOOM_LAMBDA {
      const int end = (index % plain_per_row + 1) * plain_columns;
      return (end < columns ? end : columns) - plain_columns;
    };
    const auto place_of = [&](int index) WARPLOOM_LAMBDA {
      return At{left + Places::row(index / plain_per_row, 0), right + column_of(index)};
    };
    const auto slot_of = [&](int index) WARPLOOM_LAMBDA {
      return all_placed && index >= slots ? ending.spare[index - slots] : ring_.tile(index % slots).data;
    };
    const auto one_round = [&](int round, int last) WARPLOOM_LAMBDA {
      const auto each = [&](auto&& f) WARPLOOM_LAMBDA {  // patch of the round, with its slot
        unrolled<at_a_time>([&](int i) WARPLOOM_LAMBDA {
          const int index = round * at_a_time + i;
          if (index >= plain_patches) return;
          const At at = place_of(index);
          // A tile of one patch may lie beyond the output as a whole (a rehearsal does): TMA takes nothing from there.
          if (plain_patches == 1 || at.inside(params_)) f(index, at, slot_of(index));
        });
      };
      const auto meet = [&]() WARPLOOM_LAMBDA {
        if constexpr (plain_together)
          group_sync();
        else
          arch::syncwarp();
      };
      // What has been staged: the patch with this number, or all of the round.
      const auto send = [&](int only) WARPLOOM_LAMBDA {
        arch::fence_proxy_async_shared();  // the dearest part of all: once for all slots, if others multiply meanwhile
        meet();
        if (!stores()) return;
        each([&](int index, const At& at, char* slot) WARPLOOM_LAMBDA {
          if (singly && index != only) return;
          if (plain_together && static_cast<uint32_t>(index % 4) != place_.warp) return;  // a warp each
          const uint32_t part = plain_together ? 0 : place_.warp;
          const At from = plain_together ? at : part_of(at, part);
          arch::tma_store(params_.d, arch::shared_address(slot) + Patch::warp_bytes * part,
                          arch::Coord3{from.column(), from.row(), batch}, params_.d_hint);
        });
        arch::bulk_commit_group();
      };
      // Those with a slot come first: no place is written before all warps have met, their products complete.
      if (!all_placed || round < slots) {
        if (stores()) arch::bulk_wait_group_read<one_by_one ? slots - 1 : 0>();
        meet();
      }
      each([&](int index, const At&, char* slot) WARPLOOM_LAMBDA {
        warploom::Patch<plain_columns, swap> patch(place_);
        take(patch, sum, index / plain_per_row, column_of(index) / 2);
        if constexpr (!in_registers<Accumulator>)
          if (index == last) sum.done();
        patch.stage_halves({slot, slot}, pack);
        if (singly && index + 1 < plain_patches) send(index);
      });
      send(plain_patches - 1);
    };
    if constexpr (in_registers<Accumulator>) {
      unrolled<rounds>([&](int round) WARPLOOM_LAMBDA { one_round(round, 0); });
    } else {
      const int last = last_patch(plain_patches, place_of);
      WARPLOOM_ROLLED
      for (int round = 0; round < rounds; ++round) one_round(round, last);
    }
  }

  // ---- fused: C (`adds`), a bias along the right rows, silu (`activates`), in a type of 16 bits, without a branch or
  // a copy per patch, so that instructions of several values overlap: one warp per scheduler has nobody else to wait
  // with. Patches of 64 columns, and what is left; also those beyond the output, where TMA brings zeros and takes
  // nothing away. Blocks are a loop: straight code for a whole tile does not stay in the instruction cache from one
  // launch to the next, and where L2 has lost it too it takes longer to fetch than to run.
  static constexpr uint32_t fused_bytes = 64 * 64 * 2;
  static WARPLOOM_FN At fused_at(int index, int left, int right) noexcept {
    return {left + 64 * (index / fused_per_row), right + 64 * (index % fused_per_row)};
  }

  template <bool adds, bool activates, class Accumulator>
  WARPLOOM_FN void write_fused(Accumulator& sum, const float* bias, int left, int right, int batch,
                               const Ending& ending) noexcept {
    WARPLOOM_ROLLED
    for (int block = 0;;) {
      fused_row<adds, activates>(sum, bias, left + 64 * block, right, batch, ending.spare, block == 0);
      if (++block == ending.blocks) break;
      // Registers have no index at run time: the next block's values become the first's.
      WARPLOOM_UNROLL
      for (int i = 0; i < (rows / 64 - 1) * (columns / 2); ++i) {
        const int to = i / (columns / 2), at = i % (columns / 2);
        sum.set(to, at, sum.value(to + 1, at));
      }
    }
    if (adds && ending.spare.first == nullptr) give_back(1);
  }
  /// The patches of the accumulator's first block.
  template <bool adds, bool activates, int column = 0, class Accumulator>
  WARPLOOM_FN void fused_row(const Accumulator& sum, const float* bias, int left, int right, int batch,
                             const Spare& spare, bool first) noexcept {
    if constexpr (column < columns) {
      constexpr int width = columns - column < 64 ? columns - column : 64;
      warploom::Patch<width, false> patch(place_);
      patch.take(sum, 0, column / 2);
      char* const slot = take_slot();
      const bool placed = spare.first != nullptr;
      char* const to = placed ? spare[column / 64] : slot;
      if constexpr (adds) {
        patch.template add_residual<Fused>(params_.beta, {slot, slot});
        if (placed) {  // nothing is stored from the slot: more of C may come there at once
          arch::fence_proxy_async_shared();
          sync();
          free_slot(1);
        } else if (column > 0 || !first) {
          // The last store has had time to read its slot, and what C comes there next has until the next patch.
          give_back(2);
        }
      }
      if (params_.bias_along != BiasAlong::none) patch.add_bias(bias + column, true);
      if constexpr (activates) patch.each([](float x) WARPLOOM_LAMBDA { return narrow::silu(x); });
      if (!adds && !placed) wait_for_slot(false);
      sync();
      patch.template stage<Fused>({to, to});
      arch::fence_proxy_async_shared();
      sync();
      if (stores()) {
        const At at = part_of({left, right + column}, place_.warp);
        arch::tma_store(width == 64 ? params_.d : params_.d_rest,
                        arch::shared_address(to) + Patch::warp_bytes * place_.warp,
                        arch::Coord3{at.column(), at.row(), batch}, params_.d_hint);
        arch::bulk_commit_group();
      }
      fused_row<adds, activates, column + 64>(sum, bias, left, right, batch, spare, first);
    }
  }
  /// The slot that was taken so many slots ago, once its store has read it.
  WARPLOOM_FN void give_back(int ago) noexcept {
    if (stores()) arch::bulk_wait_group_read<0>();
    sync();
    free_slot(ago);
  }

  /// Patches [first, end), all of one kind. `last`: of an accumulator that is not in registers.
  template <class P, int first, int end, class Accumulator>
  WARPLOOM_FN void write_patches(Accumulator& sum, const PartialSums& parts, const float* bias, int last, int left,
                                 int right, int batch) noexcept {
    WARPLOOM_ROLLED
    for (int index = first; index < end; ++index) {
      const At at = patch_at(index, left, right);
      if (!at.inside(params_)) continue;
      P patch(place_);
      if (parts.splits > 1) {
        patch.take(parts, block_of(index) * columns / 2 + column_of(index) / 2, params_.alpha);
      } else if constexpr (in_registers<Accumulator>) {
        // One branch per patch instead of as many copies of what follows.
        unrolled<end, first>([&](int i) WARPLOOM_LAMBDA {
          if (i == index) take(patch, sum, block_of(i), column_of(i) / 2);
        });
      } else {
        take(patch, sum, block_of(index), column_of(index) / 2);
        if (index == last) sum.done();
      }
      // Compact where sums are not in registers, or the kernel has quick code for most of what goes this way. Beside
      // others what moves a patch's values moves where sums are, too.
      finish<!in_registers<Accumulator> || fuses>(patch, at, index, bias, batch);
    }
  }

  template <bool compact, class P>
  WARPLOOM_FN void finish(P& patch, const At& at, int index, const float* bias, int batch) noexcept {
    const bool wide = params_.d_type == DType::f32;
    if (residual()) release_stored(slots > 2 && !wide ? 1 : 0);
    const PatchSlots in = next_slots(wide);
    if (params_.c_path == Path::plain) bring_plain<P>(in, at, batch, wide);
    if (params_.c_path != Path::none) patch.add_residual(params_.beta, params_.c_type, in);
    if (params_.bias_along != BiasAlong::none) {
      const bool along_right = bias_along_right<swap>(params_);
      patch.add_bias(bias + (along_right ? column_of(index) + Places::column(place_.warp)
                                         : Places::row(block_of(index), place_.warp)),
                     along_right);
    }
    Function::template apply<compact>(patch, params_);
    if (!residual()) wait_for_slot(wide);
    sync();
    patch.stage(params_.d_type, in);
    arch::fence_proxy_async_shared();
    sync();
    store<P>(in, at, batch, wide);
  }

  /// The slots of the next patch, filled where there is a residual.
  WARPLOOM_FN PatchSlots next_slots(bool wide) noexcept {
    char* const first = take_slot();
    if (residual()) held_ += wide ? 2 : 1;
    return {first, wide ? take_slot() : first};
  }
  WARPLOOM_FN char* take_slot() noexcept {
    const uint32_t stage = ring_.consumer_stage();
    if (residual()) ring_.wait_producer();
    ring_.consumer_step();
    return ring_.tile(stage).data;
  }
  /// Until the store that used these slots last has read them.
  WARPLOOM_FN void wait_for_slot(bool wide) const noexcept {
    if (!stores()) return;
    if (wide)
      arch::bulk_wait_group_read<slots / 2 - 1>();
    else
      arch::bulk_wait_group_read<slots - 1>();
  }
  /// Gives slots back once their stores have read them, all but the last one or none.
  WARPLOOM_FN void release_stored(int keep) noexcept {
    if (held_ <= keep) return;
    if (stores()) {
      if (keep == 0)
        arch::bulk_wait_group_read<0>();
      else
        arch::bulk_wait_group_read<1>();
    }
    release(keep);
  }
  WARPLOOM_FN void release(int keep) noexcept {
    sync();
    for (; held_ > keep; --held_) free_slot(held_);
  }
  WARPLOOM_FN void free_slot(int ago) noexcept {
    ring_.pipeline.template signal_free<Storing>((ring_.consumer_stage() + slots - ago) % slots);
  }

  /// Where line 0 of a patch's slots would lie if all its lines were as this warp's are: where the patch begins, if its
  /// rows follow each other.
  WARPLOOM_FN At line_0(const At& patch) const noexcept {
    if constexpr (Places::together) return patch;
    const At part = part_of(patch, place_.warp);
    return {part.left - static_cast<int>(Patch::warp_rows * place_.warp), part.right};
  }

  /// C, where TMA cannot read it or nobody could know in time that it is needed.
  template <class P>
  WARPLOOM_FN void bring_plain(const PatchSlots& in, const At& patch, int batch, bool wide) const noexcept {
    wait_for_slot(wide);
    sync();
    const At at = line_0(patch);
    const int64_t first = batch * params_.c_batch_stride + at.row() * params_.c_stride + at.column();
    const auto* c = static_cast<const char*>(params_.c_data) + first * static_cast<int64_t>(size_of(params_.c_type));
    P::copy_in(params_.c_type, in, c, params_.c_stride, params_.m - at.row(), params_.n - at.column(), place_);
    sync();
  }

  template <class P>
  WARPLOOM_FN void store(const PatchSlots& in, const At& patch, int batch, bool wide) const noexcept {
    const At at = line_0(patch);
    const auto size = static_cast<int64_t>(size_of(params_.d_type));
    // TMA clips columns in units of 16 bytes: a row that ends inside one would be written beyond its end.
    const bool ragged =
        params_.d_path == Path::plain || (params_.n * size % 16 != 0 && at.column() + P::output_columns > params_.n);
    if (ragged) {
      const int64_t first = batch * params_.d_batch_stride + at.row() * params_.d_stride + at.column();
      P::copy_out(params_.d_type, in, static_cast<char*>(params_.d_data) + first * size, params_.d_stride,
                  params_.m - at.row(), params_.n - at.column(), place_);
      if (residual()) arch::fence_proxy_async_shared();  // before C comes there again
    }
    if (stores()) {
      if (!ragged) {
        const uint32_t share = swap ? 0 : Patch::warp_bytes * place_.warp;
        const int row = at.row() + (swap ? 0 : static_cast<int>(Patch::warp_rows * place_.warp));
        // A narrow patch ends in a narrower box, in f32 perhaps with its first slot.
        constexpr int half = Patch::output_columns / 2;
        const TensorMap& last = std::is_same_v<P, Patch> ? params_.d : params_.d_rest;
        arch::tma_store(wide ? params_.d : last, arch::shared_address(in.first) + share,
                        arch::Coord3{at.column(), row, batch}, params_.d_hint);
        if (wide && P::output_columns > half)
          arch::tma_store(last, arch::shared_address(in.second) + share, arch::Coord3{at.column() + half, row, batch},
                          params_.d_hint);
      }
      arch::bulk_commit_group();  // also an empty one: groups count slots
    }
  }

  const Params& params_;
  uint32_t group_;
  Ring ring_;
  GroupPlace place_;
  int held_ = 0;  ///< slots of the last patches, with a residual not yet given back
};

}  // namespace warploom::inline WARPLOOM_MACHINE
