// What a slot of the input ring carries. A payload type knows its tiles, their bytes, which part of them this CTA loads
// and who else receives it; the ring arms its barriers from that, and its load() issues the copies.
//
//   using Payload = StandardTilePayload<bf16, bf16, 128, 256, ClusterShape<1, 2, 1>>;   // A 128 x 64, B 256 x 64
//   for (auto slot : input.produce(k_blocks)) slot.load(a[tile.m], b[tile.n]);
#pragma once

#include "warploom/arch/tma.hpp"
#include "warploom/pipeline/tile.hpp"
#include "warploom/pipeline/topology.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// A tensor seen as tiles: `a[m]` names the tiles that start at row m * rows.
struct TileLoader {
  const TensorMap* map;
  int rows;

  struct Row {
    const TensorMap* map;
    int row;
  };
  WARPLOOM_FN Row operator[](int index) const noexcept { return {map, index * rows}; }
};

/// Where the copies of one slot complete: the operands in the leader of the CTA group, the rest here.
struct SlotBarriers {
  arch::SharedAddress operands;
  arch::SharedAddress local;
};

/// A operand rows x K and B operand rows x K, both K-major with 128-byte rows. `tile_n` counts the columns of the MMA:
/// with CTA pairs each CTA holds half of the B rows. CTAs that share a tile load a slice of it each, for all of them.
template <class ElementA, class ElementB, int tile_m_, int tile_n_, class Cluster_>
struct StandardTilePayload {
  using Cluster = Cluster_;
  static constexpr int tile_m = tile_m_;  ///< rows of A per CTA
  static constexpr int tile_n = tile_n_;
  static constexpr int tile_k = 128 / sizeof(ElementA);
  static constexpr int b_rows = tile_n / Cluster::cta_group;
  static_assert(sizeof(ElementA) == sizeof(ElementB), "warploom: A and B tiles must have the same K extent");
  static_assert(tile_m % Cluster::a_sharers == 0 && tile_m / Cluster::a_sharers % 8 == 0,
                "warploom: the CTAs of a cluster row must be able to share an A tile in slices of 8 rows");
  static_assert(b_rows % Cluster::b_sharers == 0 && b_rows / Cluster::b_sharers % 8 == 0,
                "warploom: the CTAs of a cluster column must be able to share a B tile in slices of 8 rows");

  using A = SmemTile<ElementA, tile_m, tile_k, Swizzle::b128>;
  using B = SmemTile<ElementB, b_rows, tile_k, Swizzle::b128>;
  static constexpr int a_slice_rows = tile_m / Cluster::a_sharers;
  static constexpr int b_slice_rows = b_rows / Cluster::b_sharers;

  /// Bytes that complete on the leader's barrier: the operands of every CTA of the group.
  static constexpr uint32_t operand_bytes = Cluster::cta_group * (A::bytes + B::bytes);
  /// Bytes that complete on a barrier of each CTA's own.
  static constexpr uint32_t local_bytes = 0;
  static constexpr int max_k_group = 16;

  struct Slot {
    typename A::Storage a;
    typename B::Storage b;
  };

  /// K block k of the rows named: this CTA's slices of A and B, to everyone who shares them.
  template <class S>
  static WARPLOOM_FN void load(S& slot, int k, const SlotBarriers& full, TileLoader::Row a,
                               TileLoader::Row b) noexcept {
    const uint32_t rank = arch::cluster_rank();
    const int column = k * tile_k;
    const int a_slice = static_cast<int>(Cluster::rank_n(rank)) * a_slice_rows;
    copy<Cluster::a_sharers>(A(slot.a).address() + a_slice * A::row_bytes, *a.map, full.operands,
                             {column, a.row + a_slice}, Cluster::a_mask(rank));
    const uint32_t m = Cluster::rank_m(rank);
    const int b_slice = static_cast<int>(m / Cluster::cta_group) * b_slice_rows;
    const int b_half = static_cast<int>(m % Cluster::cta_group) * b_rows;
    copy<Cluster::b_sharers>(B(slot.b).address() + b_slice * B::row_bytes, *b.map, full.operands,
                             {column, b.row + b_half + b_slice}, Cluster::b_mask(rank));
  }

 private:
  template <int sharers>
  static WARPLOOM_FN void copy(arch::SharedAddress to, const TensorMap& map, arch::SharedAddress barrier,
                               arch::Coord2 at, uint16_t mask) noexcept {
    if constexpr (sharers == 1)
      arch::tma_load<Cluster::cta_group>(to, map, barrier, at);
    else
      arch::tma_load_multicast<Cluster::cta_group>(to, map, barrier, at, mask);
  }
};

/// The operands and one fp32 scale per A row, on a barrier of this CTA's own: a wait is local, and the epilogue of
/// either CTA of a pair reads only its own scales.
template <class ElementA, class ElementB, int tile_m_, int tile_n_, class Cluster_>
struct BlockwiseFP8TilePayload : StandardTilePayload<ElementA, ElementB, tile_m_, tile_n_, Cluster_> {
  using Operands = StandardTilePayload<ElementA, ElementB, tile_m_, tile_n_, Cluster_>;
  /// Plain rows: the epilogue indexes them, and TMA swizzling would break that.
  using Scales = SmemTile<float, 1, tile_m_, Swizzle::none>;
  static constexpr uint32_t local_bytes = Scales::bytes;
  static constexpr int max_k_group = 1;  ///< every K block has scales of its own, taken one at a time

  struct Slot : Operands::Slot {
    typename Scales::Storage a_scales;
  };

  static WARPLOOM_FN void load(Slot& slot, int k, const SlotBarriers& full, TileLoader::Row a, TileLoader::Row b,
                               TileLoader::Row scales) noexcept {
    Operands::load(slot, k, full, a, b);
    arch::tma_load<Cluster_::cta_group>(Scales(slot.a_scales).address(), *scales.map, full.local, {scales.row, k});
  }
};

/// The operands and their scale factors for block-scaled MMA, which the tensor core reads too: all of it completes with
/// the operands. Scale factors lie in atoms of 128 rows x 4 factors, 512 bytes (hardware.md §4.11), in global memory as
/// rows of one atom: [row block of 128][atoms along K].
template <class ElementA, class ElementB, class ScaleA, class ScaleB, int tile_m_, int tile_n_, int vector_,
          class Cluster_>
struct BlockScaledTilePayload : StandardTilePayload<ElementA, ElementB, tile_m_, tile_n_, Cluster_> {
  using Operands = StandardTilePayload<ElementA, ElementB, tile_m_, tile_n_, Cluster_>;
  static_assert(sizeof(ScaleA) == 1 && sizeof(ScaleB) == 1, "warploom: scale factors are bytes");
  static_assert(tile_m_ % 128 == 0 && Operands::b_rows % 128 == 0, "warploom: scale-factor atoms cover 128 rows");
  static_assert(Operands::tile_k % (4 * vector_) == 0, "warploom: scale-factor atoms cover 4 vectors along K");
  static constexpr int vector = vector_;                           ///< elements along K that share a factor
  static constexpr int atoms_k = Operands::tile_k / (4 * vector);  ///< per K block
  static constexpr int atom_words = 128;                           ///< 512 bytes
  using SFA = SmemTile<uint32_t, tile_m_ / 128, atom_words * atoms_k, Swizzle::none>;
  using SFB = SmemTile<uint32_t, Operands::b_rows / 128, atom_words * atoms_k, Swizzle::none>;
  static constexpr uint32_t operand_bytes = Operands::operand_bytes + Cluster_::cta_group * (SFA::bytes + SFB::bytes);

  struct Slot : Operands::Slot {
    typename SFA::Storage sfa;
    typename SFB::Storage sfb;
  };

  /// `sfa` and `sfb` name rows of 128; factors are not shared between CTAs.
  static WARPLOOM_FN void load(Slot& slot, int k, const SlotBarriers& full, TileLoader::Row a, TileLoader::Row b,
                               TileLoader::Row sfa, TileLoader::Row sfb) noexcept {
    Operands::load(slot, k, full, a, b);
    const int half = static_cast<int>(Cluster_::rank_m(arch::cluster_rank()) % Cluster_::cta_group);
    const int column = k * atoms_k * atom_words;
    arch::tma_load<Cluster_::cta_group>(SFA(slot.sfa).address(), *sfa.map, full.operands, {column, sfa.row});
    arch::tma_load<Cluster_::cta_group>(SFB(slot.sfb).address(), *sfb.map, full.operands,
                                        {column, sfb.row + half * SFB::rows});
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
