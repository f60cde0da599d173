// The GPU side of arch/tma_forms.hpp. cuda::ptx has the tiles; what it has not is written out: operands are numbered
// shared address, map, barrier, coordinates, offsets, mask.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace detail {

template <Reduction operation>
WARPLOOM_FN constexpr auto reduction_tag() noexcept {
  if constexpr (operation == Reduction::add) return ptx::op_add;
  if constexpr (operation == Reduction::min) return ptx::op_min;
  if constexpr (operation == Reduction::max) return ptx::op_max;
  if constexpr (operation == Reduction::inc) return ptx::op_inc;
  if constexpr (operation == Reduction::dec) return ptx::op_dec;
  if constexpr (operation == Reduction::bit_and) return ptx::op_and_op;
  if constexpr (operation == Reduction::bit_or) return ptx::op_or_op;
  if constexpr (operation == Reduction::bit_xor) return ptx::op_xor_op;
}

}  // namespace detail

#define WARPLOOM_AT1 "r"(at.c[0])
#define WARPLOOM_AT2 WARPLOOM_AT1, "r"(at.c[1])
#define WARPLOOM_AT3 WARPLOOM_AT2, "r"(at.c[2])
#define WARPLOOM_AT4 WARPLOOM_AT3, "r"(at.c[3])
#define WARPLOOM_AT5 WARPLOOM_AT4, "r"(at.c[4])
#define WARPLOOM_OFFSETS1 "h"(offsets.o[0])
#define WARPLOOM_OFFSETS2 WARPLOOM_OFFSETS1, "h"(offsets.o[1])
#define WARPLOOM_OFFSETS3 WARPLOOM_OFFSETS2, "h"(offsets.o[2])

// cp.async.bulk.tensor.Nd.shared::cluster.global.tile.mbarrier::complete_tx::bytes{.cta_group::2} [d], [map, {c}], [b]
template <int cta_group, uint32_t rank>
WARPLOOM_FN void tma_load(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                          const Coord<rank>& at) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
#define WARPLOOM_LOAD(dimensions, places, ...)                                                              \
  asm volatile("cp.async.bulk.tensor." dimensions                                                           \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%0], [%1, {" places \
               "}], [%2];" ::"r"(destination.value),                                                        \
               "l"(&map), "r"(barrier.value), __VA_ARGS__                                                   \
               : "memory")
  if constexpr (cta_group == 1) {
    detail::ptx::cp_async_bulk_tensor(detail::ptx::space_cluster, detail::ptx::space_global,
                                      detail::generic_pointer<void>(destination), &map, at.c,
                                      detail::generic_pointer<uint64_t>(barrier));
  } else if constexpr (rank == 1) {
    WARPLOOM_LOAD("1d", "%3", WARPLOOM_AT1);
  } else if constexpr (rank == 2) {
    WARPLOOM_LOAD("2d", "%3, %4", WARPLOOM_AT2);
  } else if constexpr (rank == 3) {
    WARPLOOM_LOAD("3d", "%3, %4, %5", WARPLOOM_AT3);
  } else if constexpr (rank == 4) {
    WARPLOOM_LOAD("4d", "%3, %4, %5, %6", WARPLOOM_AT4);
  } else {
    WARPLOOM_LOAD("5d", "%3, %4, %5, %6, %7", WARPLOOM_AT5);
  }
#undef WARPLOOM_LOAD
}
// ... .multicast::cluster{.cta_group::2} [d], [map, {c}], [b], mask
template <int cta_group, uint32_t rank>
WARPLOOM_FN void tma_load_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                                    const Coord<rank>& at, uint16_t cta_mask) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
  void* const box = detail::generic_pointer<void>(destination);
  uint64_t* const signal = detail::generic_pointer<uint64_t>(barrier);
  if constexpr (cta_group == 1) {
    detail::ptx::cp_async_bulk_tensor(detail::ptx::space_cluster, detail::ptx::space_global, box, &map, at.c, signal,
                                      cta_mask);
  } else {
    detail::ptx::cp_async_bulk_tensor(detail::ptx::space_cluster, detail::ptx::space_global,
                                      detail::cta_group_tag<cta_group>, box, &map, at.c, signal, cta_mask);
  }
}
// cp.async.bulk.tensor.Nd.global.shared::cta.tile.bulk_group [map, {c}], [s]
template <uint32_t rank>
WARPLOOM_FN void tma_store(const TensorMap& map, SharedAddress source, const Coord<rank>& at) noexcept {
  detail::ptx::cp_async_bulk_tensor(detail::ptx::space_global, detail::ptx::space_shared, &map, at.c,
                                    detail::generic_pointer<void>(source));
}
// cp.reduce.async.bulk.tensor.Nd.global.shared::cta.OP.tile.bulk_group [map, {c}], [s]
template <Reduction operation, uint32_t rank>
WARPLOOM_FN void tma_reduce(const TensorMap& map, SharedAddress source, const Coord<rank>& at) noexcept {
  detail::ptx::cp_reduce_async_bulk_tensor(detail::ptx::space_global, detail::ptx::space_shared,
                                           detail::reduction_tag<operation>(), &map, at.c,
                                           detail::generic_pointer<void>(source));
}

#define WARPLOOM_IM2COL(dimensions, qualifiers, places, offset_places, rest, ...)                              \
  asm volatile("cp.async.bulk.tensor." dimensions                                                              \
               ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes" qualifiers " [%0], [%1, {" places \
               "}], [%2], {" offset_places "}" rest ";" ::"r"(destination.value),                              \
               "l"(&map), "r"(barrier.value), __VA_ARGS__                                                      \
               : "memory")

// cp.async.bulk.tensor.Nd.shared::cluster.global.im2col.mbarrier::complete_tx::bytes{.cta_group::2}
//     [d], [map, {c}], [b], {offsets}
template <int cta_group, uint32_t rank>
WARPLOOM_FN void tma_load_im2col(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                                 const Coord<rank>& at, const Offsets<rank - 2>& offsets) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
  static_assert(rank >= 3, "warploom: im2col tensors have three to five dimensions");
#define WARPLOOM_RANKS(group)                                                                               \
  if constexpr (rank == 3) {                                                                                \
    WARPLOOM_IM2COL("3d", group, "%3, %4, %5", "%6", "", WARPLOOM_AT3, WARPLOOM_OFFSETS1);                  \
  } else if constexpr (rank == 4) {                                                                         \
    WARPLOOM_IM2COL("4d", group, "%3, %4, %5, %6", "%7, %8", "", WARPLOOM_AT4, WARPLOOM_OFFSETS2);          \
  } else {                                                                                                  \
    WARPLOOM_IM2COL("5d", group, "%3, %4, %5, %6, %7", "%8, %9, %10", "", WARPLOOM_AT5, WARPLOOM_OFFSETS3); \
  }
  if constexpr (cta_group == 1) {
    WARPLOOM_RANKS("")
  } else {
    WARPLOOM_RANKS(".cta_group::2")
  }
#undef WARPLOOM_RANKS
}
// ... .multicast::cluster{.cta_group::2} [d], [map, {c}], [b], {offsets}, mask
template <int cta_group, uint32_t rank>
WARPLOOM_FN void tma_load_im2col_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                                           const Coord<rank>& at, const Offsets<rank - 2>& offsets,
                                           uint16_t cta_mask) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
  static_assert(rank >= 3, "warploom: im2col tensors have three to five dimensions");
#define WARPLOOM_RANKS(group)                                                                                         \
  if constexpr (rank == 3) {                                                                                          \
    WARPLOOM_IM2COL("3d", group, "%3, %4, %5", "%6", ", %7", WARPLOOM_AT3, WARPLOOM_OFFSETS1, "h"(cta_mask));         \
  } else if constexpr (rank == 4) {                                                                                   \
    WARPLOOM_IM2COL("4d", group, "%3, %4, %5, %6", "%7, %8", ", %9", WARPLOOM_AT4, WARPLOOM_OFFSETS2, "h"(cta_mask)); \
  } else {                                                                                                            \
    WARPLOOM_IM2COL("5d", group, "%3, %4, %5, %6, %7", "%8, %9, %10", ", %11", WARPLOOM_AT5, WARPLOOM_OFFSETS3,       \
                    "h"(cta_mask));                                                                                   \
  }
  if constexpr (cta_group == 1) {
    WARPLOOM_RANKS(".multicast::cluster")
  } else {
    WARPLOOM_RANKS(".multicast::cluster.cta_group::2")
  }
#undef WARPLOOM_RANKS
}
#undef WARPLOOM_IM2COL

#define WARPLOOM_NO_OFFSETS(instruction, dimensions, operation, places, ...)                           \
  asm volatile(instruction ".async.bulk.tensor." dimensions ".global.shared::cta" operation            \
                           ".im2col_no_offs.bulk_group [%1, {" places "}], [%0];" ::"r"(source.value), \
               "l"(&map), __VA_ARGS__                                                                  \
               : "memory")
#define WARPLOOM_RANKS(instruction, operation)                                             \
  if constexpr (rank == 3) {                                                               \
    WARPLOOM_NO_OFFSETS(instruction, "3d", operation, "%2, %3, %4", WARPLOOM_AT3);         \
  } else if constexpr (rank == 4) {                                                        \
    WARPLOOM_NO_OFFSETS(instruction, "4d", operation, "%2, %3, %4, %5", WARPLOOM_AT4);     \
  } else {                                                                                 \
    WARPLOOM_NO_OFFSETS(instruction, "5d", operation, "%2, %3, %4, %5, %6", WARPLOOM_AT5); \
  }
// cp.async.bulk.tensor.Nd.global.shared::cta.im2col_no_offs.bulk_group [map, {c}], [s]
template <uint32_t rank>
WARPLOOM_FN void tma_store_im2col(const TensorMap& map, SharedAddress source, const Coord<rank>& at) noexcept {
  static_assert(rank >= 3, "warploom: im2col tensors have three to five dimensions");
  WARPLOOM_RANKS("cp", "")
}
// cp.reduce.async.bulk.tensor.Nd.global.shared::cta.OP.im2col_no_offs.bulk_group [map, {c}], [s]
template <Reduction operation, uint32_t rank>
WARPLOOM_FN void tma_reduce_im2col(const TensorMap& map, SharedAddress source, const Coord<rank>& at) noexcept {
  static_assert(rank >= 3, "warploom: im2col tensors have three to five dimensions");
  if constexpr (operation == Reduction::add) {
    WARPLOOM_RANKS("cp.reduce", ".add")
  } else if constexpr (operation == Reduction::min) {
    WARPLOOM_RANKS("cp.reduce", ".min")
  } else if constexpr (operation == Reduction::max) {
    WARPLOOM_RANKS("cp.reduce", ".max")
  } else if constexpr (operation == Reduction::inc) {
    WARPLOOM_RANKS("cp.reduce", ".inc")
  } else if constexpr (operation == Reduction::dec) {
    WARPLOOM_RANKS("cp.reduce", ".dec")
  } else if constexpr (operation == Reduction::bit_and) {
    WARPLOOM_RANKS("cp.reduce", ".and")
  } else if constexpr (operation == Reduction::bit_or) {
    WARPLOOM_RANKS("cp.reduce", ".or")
  } else {
    WARPLOOM_RANKS("cp.reduce", ".xor")
  }
}
#undef WARPLOOM_RANKS
#undef WARPLOOM_NO_OFFSETS

// cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes{.cta_group::2}
//     [d], [map, {column, row, row, row, row}], [b]
template <int cta_group>
WARPLOOM_FN void tma_gather4(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                             const FourRows& at) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
#define WARPLOOM_GATHER(group)                                                                                   \
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes" group \
               " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(destination.value),                              \
               "l"(&map), "r"(barrier.value), "r"(at.column), "r"(at.rows[0]), "r"(at.rows[1]), "r"(at.rows[2]), \
               "r"(at.rows[3])                                                                                   \
               : "memory")
  if constexpr (cta_group == 1) {
    WARPLOOM_GATHER("");
  } else {
    WARPLOOM_GATHER(".cta_group::2");
  }
#undef WARPLOOM_GATHER
}
// ... .multicast::cluster{.cta_group::2} [d], [map, {column, row, row, row, row}], [b], mask
template <int cta_group>
WARPLOOM_FN void tma_gather4_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                                       const FourRows& at, uint16_t cta_mask) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
#define WARPLOOM_GATHER(group)                                                                             \
  asm volatile(                                                                                            \
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes"          \
      ".multicast::cluster" group " [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(destination.value), \
      "l"(&map), "r"(barrier.value), "r"(at.column), "r"(at.rows[0]), "r"(at.rows[1]), "r"(at.rows[2]),    \
      "r"(at.rows[3]), "h"(cta_mask)                                                                       \
      : "memory")
  if constexpr (cta_group == 1) {
    WARPLOOM_GATHER("");
  } else {
    WARPLOOM_GATHER(".cta_group::2");
  }
#undef WARPLOOM_GATHER
}
// cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [map, {column, row, row, row, row}], [s]
WARPLOOM_FN void tma_scatter4(const TensorMap& map, SharedAddress source, const FourRows& at) noexcept {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%1, {%2, %3, %4, %5, %6}], [%0];" ::"r"(
          source.value),
      "l"(&map), "r"(at.column), "r"(at.rows[0]), "r"(at.rows[1]), "r"(at.rows[2]), "r"(at.rows[3])
      : "memory");
}

#define WARPLOOM_PREFETCH(dimensions, mode, places, rest, ...)                                           \
  asm volatile("cp.async.bulk.prefetch.tensor." dimensions ".L2.global." mode " [%0, {" places "}]" rest \
               ";" ::"l"(&map),                                                                          \
               __VA_ARGS__                                                                               \
               : "memory")
// cp.async.bulk.prefetch.tensor.Nd.L2.global.tile [map, {c}]
template <uint32_t rank>
WARPLOOM_FN void tma_prefetch(const TensorMap& map, const Coord<rank>& at) noexcept {
  if constexpr (rank == 1) {
    WARPLOOM_PREFETCH("1d", "tile", "%1", "", WARPLOOM_AT1);
  } else if constexpr (rank == 2) {
    WARPLOOM_PREFETCH("2d", "tile", "%1, %2", "", WARPLOOM_AT2);
  } else if constexpr (rank == 3) {
    WARPLOOM_PREFETCH("3d", "tile", "%1, %2, %3", "", WARPLOOM_AT3);
  } else if constexpr (rank == 4) {
    WARPLOOM_PREFETCH("4d", "tile", "%1, %2, %3, %4", "", WARPLOOM_AT4);
  } else {
    WARPLOOM_PREFETCH("5d", "tile", "%1, %2, %3, %4, %5", "", WARPLOOM_AT5);
  }
}
// cp.async.bulk.prefetch.tensor.Nd.L2.global.im2col [map, {c}], {offsets}
template <uint32_t rank>
WARPLOOM_FN void tma_prefetch_im2col(const TensorMap& map, const Coord<rank>& at,
                                     const Offsets<rank - 2>& offsets) noexcept {
  static_assert(rank >= 3, "warploom: im2col tensors have three to five dimensions");
  if constexpr (rank == 3) {
    WARPLOOM_PREFETCH("3d", "im2col", "%1, %2, %3", ", {%4}", WARPLOOM_AT3, WARPLOOM_OFFSETS1);
  } else if constexpr (rank == 4) {
    WARPLOOM_PREFETCH("4d", "im2col", "%1, %2, %3, %4", ", {%5, %6}", WARPLOOM_AT4, WARPLOOM_OFFSETS2);
  } else {
    WARPLOOM_PREFETCH("5d", "im2col", "%1, %2, %3, %4, %5", ", {%6, %7, %8}", WARPLOOM_AT5, WARPLOOM_OFFSETS3);
  }
}
#undef WARPLOOM_PREFETCH

#undef WARPLOOM_AT1
#undef WARPLOOM_AT2
#undef WARPLOOM_AT3
#undef WARPLOOM_AT4
#undef WARPLOOM_AT5
#undef WARPLOOM_OFFSETS1
#undef WARPLOOM_OFFSETS2
#undef WARPLOOM_OFFSETS3

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
