// The other forms of tensor copies (hardware.md §2.1, 2.8, 2.10, 2.11): tiles of one to five dimensions, reductions
// into global memory, im2col columns, four rows at a time, and prefetches. arch/tma.hpp has the forms that GEMMs live
// on.
//
//   tma_load<1>(slot, map, full, Coord{0, y, x, n});                       // .4d
//   tma_load_im2col<1>(slot, map, full, Coord{c, w, h, n}, Offsets{s, r});
//   tma_reduce<Reduction::add>(map, slot, Coord{x, y});                    // joins the bulk group, as stores do
#pragma once

#include "warploom/arch/tma.hpp"
#include "warploom/types/reduction.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// Coordinates in elements, innermost first.
template <uint32_t rank>
struct Coord {
  static_assert(rank >= 1 && rank <= 5, "warploom: tensors have one to five dimensions");
  int32_t c[rank];
  template <class... Values>
  explicit WARPLOOM_CONST_FN Coord(Values... values) noexcept : c{static_cast<int32_t>(values)...} {
    static_assert(sizeof...(Values) == rank, "warploom: a coordinate for every dimension");
  }
};
template <class... Values>
Coord(Values...) -> Coord<sizeof...(Values)>;

/// Where in its filter an im2col load is: {width{, height{, depth}}}.
template <uint32_t count>
struct Offsets {
  uint16_t o[count];
  template <class... Values>
  explicit WARPLOOM_CONST_FN Offsets(Values... values) noexcept : o{static_cast<uint16_t>(values)...} {}
};
template <class... Values>
Offsets(Values...) -> Offsets<sizeof...(Values)>;

/// cp.async.bulk.tensor.{1..5}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{.cta_group::2}
template <int cta_group, uint32_t rank>
WARPLOOM_FN void tma_load(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                          const Coord<rank>& at) noexcept;
/// The same with .multicast::cluster.
template <int cta_group, uint32_t rank>
WARPLOOM_FN void tma_load_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                                    const Coord<rank>& at, uint16_t cta_mask) noexcept;
/// cp.async.bulk.tensor.{1..5}d.global.shared::cta.tile.bulk_group
template <uint32_t rank>
WARPLOOM_FN void tma_store(const TensorMap& map, SharedAddress source, const Coord<rank>& at) noexcept;
/// cp.reduce.async.bulk.tensor.{1..5}d.global.shared::cta.OP.tile.bulk_group: the type is the map's; clipped as stores
/// are.
template <Reduction operation, uint32_t rank>
WARPLOOM_FN void tma_reduce(const TensorMap& map, SharedAddress source, const Coord<rank>& at) noexcept;

/// cp.async.bulk.tensor.{3,4,5}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes{.cta_group::2}: a column of
/// pixels, each with the channels the map says, as a filter at `at` sees them at `offsets`.
template <int cta_group, uint32_t rank>
WARPLOOM_FN void tma_load_im2col(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                                 const Coord<rank>& at, const Offsets<rank - 2>& offsets) noexcept;
/// The same with .multicast::cluster.
template <int cta_group, uint32_t rank>
WARPLOOM_FN void tma_load_im2col_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                                           const Coord<rank>& at, const Offsets<rank - 2>& offsets,
                                           uint16_t cta_mask) noexcept;
/// cp.async.bulk.tensor.{3,4,5}d.global.shared::cta.im2col_no_offs.bulk_group
template <uint32_t rank>
WARPLOOM_FN void tma_store_im2col(const TensorMap& map, SharedAddress source, const Coord<rank>& at) noexcept;
/// cp.reduce.async.bulk.tensor.{3,4,5}d.global.shared::cta.OP.im2col_no_offs.bulk_group
template <Reduction operation, uint32_t rank>
WARPLOOM_FN void tma_reduce_im2col(const TensorMap& map, SharedAddress source, const Coord<rank>& at) noexcept;

/// Four rows of a tensor of rank 2, in any order; the map's box is one row (sm_100).
struct FourRows {
  int32_t column;
  int32_t rows[4];
};
/// cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes{.cta_group::2}: the rows
/// land one after the other
template <int cta_group>
WARPLOOM_FN void tma_gather4(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                             const FourRows& at) noexcept;
/// The same with .multicast::cluster.
template <int cta_group>
WARPLOOM_FN void tma_gather4_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                                       const FourRows& at, uint16_t cta_mask) noexcept;
/// cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group
WARPLOOM_FN void tma_scatter4(const TensorMap& map, SharedAddress source, const FourRows& at) noexcept;

/// cp.async.bulk.prefetch.tensor.{1..5}d.L2.global.tile: a hint
template <uint32_t rank>
WARPLOOM_FN void tma_prefetch(const TensorMap& map, const Coord<rank>& at) noexcept;
/// cp.async.bulk.prefetch.tensor.{3,4,5}d.L2.global.im2col: a hint
template <uint32_t rank>
WARPLOOM_FN void tma_prefetch_im2col(const TensorMap& map, const Coord<rank>& at,
                                     const Offsets<rank - 2>& offsets) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/tma_forms.hpp"
#else
#include "warploom/arch/loom/tma_forms.hpp"
#endif
