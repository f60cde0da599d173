// The input slot of the GEMMs: a left and a right operand tile of one matrix of a batch, K-major or (16-bit elements)
// MN-major, and where the operands are scaled, fp32 scales: one per row of either, or of 128 x 128 blocks. With CTA
// pairs each CTA holds half of the right tile, and scales complete on a barrier of each CTA's own.
//
//   using Payload = GemmPayload<bf16, bf16, 128, 256, ClusterShape<1, 2, 1>, Major::k, Major::mn>;
//   for (auto slot : input.produce(k_blocks)) slot.load(Source{&a, m * 128, batch}, Source{&b, n * 256, batch});
#pragma once

#include <type_traits>

#include "warploom/arch/tma.hpp"
#include "warploom/arch/tma_forms.hpp"
#include "warploom/kernels/gemm/mn_tile.hpp"
#include "warploom/kernels/gemm_params.hpp"
#include "warploom/pipeline/payload.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// The tiles of a matrix that start at this row.
struct Source {
  const TensorMap* map;
  int row;
  int batch;
  CacheHint hint = CacheHint::normal;
};

/// Which sides of a tile have scales: A's rows on A's side; those of B are per row, or per block of 128 x 128.
template <Scaling scaling, int tile_left, int tile_right, bool swap>
struct GemmScales {
  static constexpr int block = 128;
  static constexpr bool any = scaling != Scaling::none, rows_of_b = scaling == Scaling::a_rows_b_rows;
  static constexpr bool left = any && (!swap || rows_of_b), right = any && (swap || rows_of_b);
  static constexpr bool straddle = any && !rows_of_b && !swap && block % tile_right != 0;
  static constexpr int blocks = any && !rows_of_b ? (straddle ? 2 : 1) : 0;  ///< of B that a tile meets
  static_assert(blocks == 0 || (swap ? block % tile_left == 0 : tile_right <= block + (tile_right & -tile_right)),
                "warploom: a tile meets at most two blocks of scales");
};

template <class ElementA, class ElementB, int tile_m_, int tile_n_, class Cluster_, Major a_major = Major::k,
          Major b_major = Major::k, bool a_scaled = false, bool b_scaled = false, int block_scales = 0,
          bool scales_apart = false>
struct GemmPayload {
  using Cluster = Cluster_;
  static constexpr int tile_m = tile_m_;
  static constexpr int tile_n = tile_n_;
  static constexpr int tile_k = 128 / sizeof(ElementA);
  static constexpr int b_rows = tile_n / Cluster::cta_group;  ///< of the right tile, in one CTA
  static_assert(sizeof(ElementA) == sizeof(ElementB), "warploom: A and B tiles must have the same K extent");

  template <class T, int rows, Major major>
  using OperandTile =
      std::conditional_t<major == Major::k, SmemTile<T, rows, tile_k, Swizzle::b128>, MnTile<T, rows, tile_k>>;
  using A = OperandTile<ElementA, tile_m, a_major>;
  using B = OperandTile<ElementB, b_rows, b_major>;
  /// CTAs that share a tile load a slice of it each, for all of them.
  static constexpr int a_slice_rows = tile_m / Cluster::a_sharers;
  static constexpr int b_slice_rows = b_rows / Cluster::b_sharers;
  static_assert(tile_m % Cluster::a_sharers == 0 && a_slice_rows % (a_major == Major::k ? 8 : 64) == 0 &&
                    b_rows % Cluster::b_sharers == 0 && b_slice_rows % (b_major == Major::k ? 8 : 64) == 0,
                "warploom: the CTAs of a cluster must be able to share tiles in slices of 8 rows, MN-major of 64");

  using AScales = SmemTile<float, 1, tile_m, Swizzle::none>;
  using BScales = SmemTile<float, 1, tile_n, Swizzle::none>;
  /// TMA brings 16 bytes at least, from a multiple of 16 to a multiple of 128: a scale, and its neighbours in K.
  using BlockScale = SmemTile<float, 1, 4, Swizzle::none>;
  static constexpr int block_scale_step = 32;
  static constexpr uint32_t scale_bytes =
      (a_scaled ? AScales::bytes : 0) + (b_scaled ? BScales::bytes : 0) + block_scales * BlockScale::bytes;
  static_assert(scale_bytes == 0 || scales_apart || Cluster::cta_group == 1,
                "warploom: the scales of a pair's CTAs are their own");
  /// The bytes of both CTAs of a pair complete on the leader's barrier. Scales that the epilogue reads in a role of its
  /// own are apart from them.
  static constexpr uint32_t operand_bytes =
      Cluster::cta_group * (A::bytes + B::bytes) + (scales_apart ? 0 : scale_bytes);
  static constexpr uint32_t local_bytes = scales_apart ? scale_bytes : 0;
  static constexpr int max_k_group = scale_bytes != 0 ? 1 : 16;

  struct OperandSlot {
    typename A::Storage a;
    typename B::Storage b;
  };
  struct ScaledSlot : OperandSlot {
    static constexpr int of_rows = (a_scaled ? tile_m : 0) + (b_scaled ? (tile_n + 31) / 32 * 32 : 0);
    alignas(128) float scales[of_rows + block_scales * block_scale_step];
    WARPLOOM_FN float* a_scales() noexcept { return scales; }
    WARPLOOM_FN float* b_scales() noexcept { return scales + (a_scaled ? tile_m : 0); }
    /// The scale at this place of the line of all blocks.
    WARPLOOM_FN float* block_scale(int which, uint32_t place) noexcept {
      return scales + of_rows + which * block_scale_step + place % 4;
    }
  };
  using Slot = std::conditional_t<scale_bytes != 0, ScaledSlot, OperandSlot>;

  /// K block k of the rows named: this CTA's slices of A and B, to everyone who shares them.
  template <class... Scales>
  static WARPLOOM_FN void load(Slot& slot, int k, const SlotBarriers& full, const Source& a, const Source& b,
                               const Scales&... scales) noexcept {
    const uint32_t rank = arch::cluster_rank();
    copy<A, a_slice_rows, Cluster::a_sharers>(A(slot.a), a_slice(rank), a, k, full.operands, Cluster::a_mask(rank));
    copy<B, b_slice_rows, Cluster::b_sharers>(B(slot.b), b_slice(rank), own_half(b, rank), k, full.operands,
                                              Cluster::b_mask(rank));
    load_scales(slot, k, full, scales...);
  }

  /// A hint: the L2 cache fetches what load() will bring of one operand.
  template <bool of_a>
  static WARPLOOM_FN void prefetch(int k, const Source& from) noexcept {
    const uint32_t rank = arch::cluster_rank();
    const auto fetch = [&](uint32_t, arch::Coord3 at)
                           WARPLOOM_LAMBDA { arch::tma_prefetch(*from.map, arch::Coord(at.c0, at.c1, at.c2)); };
    if constexpr (of_a)
      each_box<A, a_slice_rows>(a_slice(rank), from, k, fetch);
    else
      each_box<B, b_slice_rows>(b_slice(rank), own_half(from, rank), k, fetch);
  }

 private:
  static WARPLOOM_FN void load_scales(Slot&, int, const SlotBarriers&) noexcept {
    static_assert(scale_bytes == 0, "warploom: this payload brings scales; name their sources");
  }
  /// Of rows: maps of {rows, K blocks}. Of blocks: a map of all of them in one line, K blocks next to each other, and
  /// the place of the first one.
  static WARPLOOM_FN void load_scales(Slot& slot, int k, const SlotBarriers& full, const Source& a, const Source& b,
                                      const Source& block, const Source& next_block) noexcept {
    const arch::SharedAddress barrier = scales_apart ? full.local : full.operands;
    if constexpr (a_scaled)
      arch::tma_load<1>(arch::shared_address(slot.a_scales()), *a.map, barrier, arch::Coord3{a.row, k, a.batch});
    if constexpr (b_scaled)
      arch::tma_load<1>(arch::shared_address(slot.b_scales()), *b.map, barrier, arch::Coord3{b.row, k, b.batch});
    if constexpr (block_scales > 0)
      arch::tma_load<1>(arch::shared_address(slot.block_scale(0, 0)), *block.map, barrier,
                        arch::Coord3{(block.row + k) & -4, 0, block.batch});
    if constexpr (block_scales > 1)
      arch::tma_load<1>(arch::shared_address(slot.block_scale(1, 0)), *next_block.map, barrier,
                        arch::Coord3{(next_block.row + k) & -4, 0, next_block.batch});
  }

  template <class Tile, int rows, int sharers>
  static WARPLOOM_FN void copy(const Tile& tile, int first, const Source& from, int k, arch::SharedAddress barrier,
                               uint16_t mask) noexcept {
    each_box<Tile, rows>(first, from, k, [&](uint32_t offset, arch::Coord3 at) WARPLOOM_LAMBDA {
      if constexpr (sharers == 1)
        arch::tma_load<Cluster::cta_group>(tile.address() + offset, *from.map, barrier, at, from.hint);
      else
        arch::tma_load_multicast<Cluster::cta_group>(tile.address() + offset, *from.map, barrier, at, mask, from.hint);
    });
  }
  /// The copies of rows [first, first + rows) of a tile: f(place in the tile, place in the tensor).
  template <class Tile, int rows, class F>
  static WARPLOOM_FN void each_box(int first, const Source& from, int k, F&& f) noexcept {
    if constexpr (Tile::major == Major::k) {
      f(first * Tile::row_bytes, arch::Coord3{k * tile_k, from.row + first, from.batch});
    } else {
      WARPLOOM_UNROLL
      for (int row = 0; row < rows; row += Tile::chunk_rows)
        f((first + row) / Tile::chunk_rows * Tile::chunk_bytes,
          arch::Coord3{from.row + first + row, k * tile_k, from.batch});
    }
  }

  static WARPLOOM_FN int a_slice(uint32_t rank) noexcept {
    return static_cast<int>(Cluster::rank_n(rank)) * a_slice_rows;
  }
  static WARPLOOM_FN int b_slice(uint32_t rank) noexcept {
    return static_cast<int>(Cluster::rank_m(rank) / Cluster::cta_group) * b_slice_rows;
  }
  /// With CTA pairs, where this CTA's half of the right tile begins.
  static WARPLOOM_FN Source own_half(const Source& b, uint32_t rank) noexcept {
    if constexpr (Cluster::cta_group == 1) return b;
    return {b.map, b.row + static_cast<int>(Cluster::rank_m(rank) % Cluster::cta_group) * b_rows, b.batch, b.hint};
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
