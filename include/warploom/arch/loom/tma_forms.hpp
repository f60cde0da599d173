// The loom side of arch/tma_forms.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

namespace detail {

template <uint32_t rank>
WARPLOOM_FN TmaCoordinates start_of(const Coord<rank>& at, TmaMode mode = TmaMode::tile) noexcept {
  TmaCoordinates start{rank, {}, mode};
  for (uint32_t d = 0; d < rank; ++d) start.c[d] = at.c[d];
  return start;
}
template <uint32_t rank>
WARPLOOM_FN TmaCoordinates start_of(const Coord<rank>& at, const Offsets<rank - 2>& offsets) noexcept {
  static_assert(rank >= 3, "warploom: im2col tensors have three to five dimensions");
  TmaCoordinates start = start_of(at, TmaMode::im2col);
  for (uint32_t d = 0; d + 2 < rank; ++d) start.offsets[d] = offsets.o[d];
  return start;
}
WARPLOOM_FN TmaCoordinates start_of(const FourRows& at) noexcept {
  return {2, {at.column, at.rows[0], at.rows[1], at.rows[2], at.rows[3]}, TmaMode::rows4};
}

}  // namespace detail

template <int cta_group, uint32_t rank>
WARPLOOM_FN void tma_load(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                          const Coord<rank>& at) noexcept {
  native::tma_load(cta_group, destination.value, map, barrier.value, detail::start_of(at), -1);
}
template <int cta_group, uint32_t rank>
WARPLOOM_FN void tma_load_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                                    const Coord<rank>& at, uint16_t cta_mask) noexcept {
  native::tma_load(cta_group, destination.value, map, barrier.value, detail::start_of(at), cta_mask);
}
template <uint32_t rank>
WARPLOOM_FN void tma_store(const TensorMap& map, SharedAddress source, const Coord<rank>& at) noexcept {
  native::tma_store(map, source.value, detail::start_of(at));
}
template <Reduction operation, uint32_t rank>
WARPLOOM_FN void tma_reduce(const TensorMap& map, SharedAddress source, const Coord<rank>& at) noexcept {
  native::tma_reduce(operation, map, source.value, detail::start_of(at));
}
template <int cta_group, uint32_t rank>
WARPLOOM_FN void tma_load_im2col(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                                 const Coord<rank>& at, const Offsets<rank - 2>& offsets) noexcept {
  native::tma_load(cta_group, destination.value, map, barrier.value, detail::start_of(at, offsets), -1);
}
template <int cta_group, uint32_t rank>
WARPLOOM_FN void tma_load_im2col_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                                           const Coord<rank>& at, const Offsets<rank - 2>& offsets,
                                           uint16_t cta_mask) noexcept {
  native::tma_load(cta_group, destination.value, map, barrier.value, detail::start_of(at, offsets), cta_mask);
}
template <uint32_t rank>
WARPLOOM_FN void tma_store_im2col(const TensorMap& map, SharedAddress source, const Coord<rank>& at) noexcept {
  native::tma_store(map, source.value, detail::start_of(at, TmaMode::im2col));
}
template <Reduction operation, uint32_t rank>
WARPLOOM_FN void tma_reduce_im2col(const TensorMap& map, SharedAddress source, const Coord<rank>& at) noexcept {
  native::tma_reduce(operation, map, source.value, detail::start_of(at, TmaMode::im2col));
}
template <int cta_group>
WARPLOOM_FN void tma_gather4(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                             const FourRows& at) noexcept {
  native::tma_load(cta_group, destination.value, map, barrier.value, detail::start_of(at), -1);
}
template <int cta_group>
WARPLOOM_FN void tma_gather4_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier,
                                       const FourRows& at, uint16_t cta_mask) noexcept {
  native::tma_load(cta_group, destination.value, map, barrier.value, detail::start_of(at), cta_mask);
}
WARPLOOM_FN void tma_scatter4(const TensorMap& map, SharedAddress source, const FourRows& at) noexcept {
  native::tma_store(map, source.value, detail::start_of(at));
}
template <uint32_t rank>
WARPLOOM_FN void tma_prefetch(const TensorMap& map, const Coord<rank>& at) noexcept {
  native::tma_prefetch(map, detail::start_of(at));
}
template <uint32_t rank>
WARPLOOM_FN void tma_prefetch_im2col(const TensorMap& map, const Coord<rank>& at,
                                     const Offsets<rank - 2>& offsets) noexcept {
  native::tma_prefetch(map, detail::start_of(at, offsets));
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
