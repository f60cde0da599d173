// The GPU side of arch/tma.hpp. A tensor map is named by its generic address; it lives in a `__grid_constant__` kernel
// parameter. The .cta_group qualifier exists from sm_100a on: cta_group 1 goes without, so that sm_90a takes it too.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

// prefetch.tensormap [map]
WARPLOOM_FN void prefetch_tensor_map(const TensorMap& map) noexcept {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
// cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{.cta_group::2}
//     [d], [map, {c0, c1}], [b]
// cuda::ptx has .cta_group::2 with a shared::cta destination only, which leaves no room for the leader's barrier.
template <int cta_group>
WARPLOOM_FN void tma_load(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord2 at) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
  if constexpr (cta_group == 1) {
    detail::ptx::cp_async_bulk_tensor(detail::ptx::space_cluster, detail::ptx::space_global,
                                      detail::generic_pointer<void>(destination), &map, {at.c0, at.c1},
                                      detail::generic_pointer<uint64_t>(barrier));
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(destination.value),
        "l"(&map), "r"(at.c0), "r"(at.c1), "r"(barrier.value)
        : "memory");
  }
}
// cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster{.cta_group::2}
//     [d], [map, {c0, c1}], [b], mask
template <int cta_group>
WARPLOOM_FN void tma_load_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord2 at,
                                    uint16_t cta_mask) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
  void* const box = detail::generic_pointer<void>(destination);
  uint64_t* const signal = detail::generic_pointer<uint64_t>(barrier);
  if constexpr (cta_group == 1) {
    detail::ptx::cp_async_bulk_tensor(detail::ptx::space_cluster, detail::ptx::space_global, box, &map, {at.c0, at.c1},
                                      signal, cta_mask);
  } else {
    detail::ptx::cp_async_bulk_tensor(detail::ptx::space_cluster, detail::ptx::space_global,
                                      detail::cta_group_tag<cta_group>, box, &map, {at.c0, at.c1}, signal, cta_mask);
  }
}
// cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [map, {c0, c1}], [s]
WARPLOOM_FN void tma_store(const TensorMap& map, SharedAddress source, Coord2 at) noexcept {
  detail::ptx::cp_async_bulk_tensor(detail::ptx::space_global, detail::ptx::space_shared, &map, {at.c0, at.c1},
                                    detail::generic_pointer<void>(source));
}

// cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{.cta_group::2}
//     [d], [map, {c0, c1, c2}], [b]
template <int cta_group>
WARPLOOM_FN void tma_load(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord3 at) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
  if constexpr (cta_group == 1) {
    detail::ptx::cp_async_bulk_tensor(detail::ptx::space_cluster, detail::ptx::space_global,
                                      detail::generic_pointer<void>(destination), &map, {at.c0, at.c1, at.c2},
                                      detail::generic_pointer<uint64_t>(barrier));
  } else {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2"
        " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(destination.value),
        "l"(&map), "r"(at.c0), "r"(at.c1), "r"(at.c2), "r"(barrier.value)
        : "memory");
  }
}
// cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster{.cta_group::2}
//     [d], [map, {c0, c1, c2}], [b], mask
template <int cta_group>
WARPLOOM_FN void tma_load_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord3 at,
                                    uint16_t cta_mask) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
  if constexpr (cta_group == 1)
    detail::ptx::cp_async_bulk_tensor(detail::ptx::space_cluster, detail::ptx::space_global,
                                      detail::generic_pointer<void>(destination), &map, {at.c0, at.c1, at.c2},
                                      detail::generic_pointer<uint64_t>(barrier), cta_mask);
  else
    detail::ptx::cp_async_bulk_tensor(detail::ptx::space_cluster, detail::ptx::space_global,
                                      detail::cta_group_tag<cta_group>, detail::generic_pointer<void>(destination),
                                      &map, {at.c0, at.c1, at.c2}, detail::generic_pointer<uint64_t>(barrier),
                                      cta_mask);
}
// cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [map, {c0, c1, c2}], [s]
WARPLOOM_FN void tma_store(const TensorMap& map, SharedAddress source, Coord3 at) noexcept {
  detail::ptx::cp_async_bulk_tensor(detail::ptx::space_global, detail::ptx::space_shared, &map, {at.c0, at.c1, at.c2},
                                    detail::generic_pointer<void>(source));
}

// The same with .L2::cache_hint and a policy as the last operand.
template <int cta_group>
WARPLOOM_FN void tma_load(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord3 at,
                          CacheHint hint) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
  if constexpr (cta_group == 1)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(destination.value),
        "l"(&map), "r"(at.c0), "r"(at.c1), "r"(at.c2), "r"(barrier.value), "l"(hint)
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2.L2::cache_hint"
        " [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(destination.value),
        "l"(&map), "r"(at.c0), "r"(at.c1), "r"(at.c2), "r"(barrier.value), "l"(hint)
        : "memory");
}
template <int cta_group>
WARPLOOM_FN void tma_load_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord3 at,
                                    uint16_t cta_mask, CacheHint hint) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
  if constexpr (cta_group == 1)
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        ".L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6, %7;" ::"r"(destination.value),
        "l"(&map), "r"(at.c0), "r"(at.c1), "r"(at.c2), "r"(barrier.value), "h"(cta_mask), "l"(hint)
        : "memory");
  else
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        ".cta_group::2.L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6, %7;" ::"r"(destination.value),
        "l"(&map), "r"(at.c0), "r"(at.c1), "r"(at.c2), "r"(barrier.value), "h"(cta_mask), "l"(hint)
        : "memory");
}
WARPLOOM_FN void tma_store(const TensorMap& map, SharedAddress source, Coord3 at, CacheHint hint) noexcept {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint"
      " [%0, {%1, %2, %3}], [%4], %5;" ::"l"(&map),
      "r"(at.c0), "r"(at.c1), "r"(at.c2), "r"(source.value), "l"(hint)
      : "memory");
}
WARPLOOM_FN void bulk_commit_group() noexcept { detail::ptx::cp_async_bulk_commit_group(); }
template <int pending>
WARPLOOM_FN void bulk_wait_group_read() noexcept {
  detail::ptx::cp_async_bulk_wait_group_read(detail::ptx::n32_t<pending>{});
}
template <int pending>
WARPLOOM_FN void bulk_wait_group() noexcept {
  detail::ptx::cp_async_bulk_wait_group(detail::ptx::n32_t<pending>{});
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
