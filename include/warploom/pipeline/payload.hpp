// What a slot of the input ring carries. A payload type knows its tiles, their bytes, which part of them this CTA loads
// and who else receives it; the ring arms its barriers from that.
#pragma once

#include "warploom/pipeline/tile.hpp"
#include "warploom/pipeline/topology.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// A operand rows x K, B operand rows x K, both K-major with 128-byte rows, and one fp32 scale per A row.
/// `tile_n` counts the columns of the MMA: with CTA pairs each CTA holds half of the B rows.
template <class ElementA, class ElementB, int tile_m_, int tile_n_, class Cluster_>
struct BlockwiseFP8TilePayload {
  using Cluster = Cluster_;
  static constexpr int tile_m = tile_m_;  ///< rows of A per CTA
  static constexpr int tile_n = tile_n_;
  static constexpr int tile_k = 128 / sizeof(ElementA);
  static constexpr int b_rows = tile_n / Cluster::cta_group;
  static_assert(tile_m % Cluster::a_sharers == 0 && tile_m / Cluster::a_sharers % 8 == 0,
                "warploom: the CTAs of a cluster row must be able to share an A tile in slices of 8 rows");
  static_assert(b_rows % Cluster::b_sharers == 0 && b_rows / Cluster::b_sharers % 8 == 0,
                "warploom: the CTAs of a cluster column must be able to share a B tile in slices of 8 rows");

  using A = SmemTile<ElementA, tile_m, tile_k, Swizzle::b128>;
  using B = SmemTile<ElementB, b_rows, tile_k, Swizzle::b128>;
  /// Plain rows: the epilogue indexes them, and TMA swizzling would break that.
  using Scales = SmemTile<float, 1, tile_m, Swizzle::none>;

  static constexpr int a_slice_rows = tile_m / Cluster::a_sharers;
  static constexpr int b_slice_rows = b_rows / Cluster::b_sharers;

  /// Bytes that complete on the leader's barrier: the operands of every CTA of the group.
  static constexpr uint32_t operand_bytes = Cluster::cta_group * (A::bytes + B::bytes);
  /// Bytes that complete on each CTA's own barrier.
  static constexpr uint32_t local_bytes = Scales::bytes;

  struct Slot {
    typename A::Storage a;
    typename B::Storage b;
    typename Scales::Storage a_scales;
  };
};

}  // namespace warploom::inline WARPLOOM_MACHINE
