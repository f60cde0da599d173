// The loom side of arch/tma.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN void prefetch_tensor_map(const TensorMap&) noexcept {}
template <int cta_group>
WARPLOOM_FN void tma_load(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord2 at) noexcept {
  native::tma_load(cta_group, destination.value, map, barrier.value, {2, {at.c0, at.c1}}, -1);
}
template <int cta_group>
WARPLOOM_FN void tma_load_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord2 at,
                                    uint16_t cta_mask) noexcept {
  native::tma_load(cta_group, destination.value, map, barrier.value, {2, {at.c0, at.c1}}, cta_mask);
}
WARPLOOM_FN void tma_store(const TensorMap& map, SharedAddress source, Coord2 at) noexcept {
  native::tma_store(map, source.value, {2, {at.c0, at.c1}});
}
template <int cta_group>
WARPLOOM_FN void tma_load(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord3 at) noexcept {
  native::tma_load(cta_group, destination.value, map, barrier.value, {3, {at.c0, at.c1, at.c2}}, -1);
}
template <int cta_group>
WARPLOOM_FN void tma_load_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord3 at,
                                    uint16_t cta_mask) noexcept {
  native::tma_load(cta_group, destination.value, map, barrier.value, {3, {at.c0, at.c1, at.c2}}, cta_mask);
}
WARPLOOM_FN void tma_store(const TensorMap& map, SharedAddress source, Coord3 at) noexcept {
  native::tma_store(map, source.value, {3, {at.c0, at.c1, at.c2}});
}
// The loom has no cache: a hint means nothing.
template <int cta_group>
WARPLOOM_FN void tma_load(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord3 at,
                          CacheHint) noexcept {
  tma_load<cta_group>(destination, map, barrier, at);
}
template <int cta_group>
WARPLOOM_FN void tma_load_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord3 at,
                                    uint16_t cta_mask, CacheHint) noexcept {
  tma_load_multicast<cta_group>(destination, map, barrier, at, cta_mask);
}
WARPLOOM_FN void tma_store(const TensorMap& map, SharedAddress source, Coord3 at, CacheHint) noexcept {
  tma_store(map, source, at);
}
WARPLOOM_FN void bulk_commit_group() noexcept { native::bulk_commit_group(); }
template <int pending>
WARPLOOM_FN void bulk_wait_group_read() noexcept {
  native::bulk_wait_group(pending, true);
}
template <int pending>
WARPLOOM_FN void bulk_wait_group() noexcept {
  native::bulk_wait_group(pending, false);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
