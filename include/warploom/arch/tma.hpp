// TMA: tiled bulk tensor copies between global and shared memory (hardware.md §2). One thread issues; all are
// asynchronous. Coordinates are in elements, innermost first.
#pragma once

#include "warploom/arch/mbarrier.hpp"
#include "warploom/types/cache_hint.hpp"
#include "warploom/types/tensor_map.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

struct Coord2 {
  int32_t c0, c1;
};
/// Made of three coordinates only, so that a braced pair stays a Coord2.
struct Coord3 {
  int32_t c0, c1, c2;
  WARPLOOM_CONST_FN Coord3(int32_t x, int32_t y, int32_t z) noexcept : c0(x), c1(y), c2(z) {}
};

/// prefetch.tensormap
WARPLOOM_FN void prefetch_tensor_map(const TensorMap& map) noexcept;

/// cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes: the box lands at `destination` of
/// this CTA; its whole size, in bounds or not, completes on `barrier`.
/// With cta_group 2 (.cta_group::2, sm_100) the barrier may be the pair leader's.
template <int cta_group>
WARPLOOM_FN void tma_load(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord2 at) noexcept;

/// The same with .multicast::cluster: the box lands at the same offset of every CTA in `cta_mask`, and completes on the
/// barrier at the same offset there (for cta_group 2: in the CTA of that pair with the parity of `barrier`'s CTA).
template <int cta_group>
WARPLOOM_FN void tma_load_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord2 at,
                                    uint16_t cta_mask) noexcept;

/// cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group: out-of-bounds elements are dropped, but dimension 0 is
/// clipped in units of 16 bytes only.
WARPLOOM_FN void tma_store(const TensorMap& map, SharedAddress source, Coord2 at) noexcept;

/// The three-dimensional forms (.3d).
template <int cta_group>
WARPLOOM_FN void tma_load(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord3 at) noexcept;
template <int cta_group>
WARPLOOM_FN void tma_load_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord3 at,
                                    uint16_t cta_mask) noexcept;
WARPLOOM_FN void tma_store(const TensorMap& map, SharedAddress source, Coord3 at) noexcept;

/// The same with .L2::cache_hint.
template <int cta_group>
WARPLOOM_FN void tma_load(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord3 at,
                          CacheHint hint) noexcept;
template <int cta_group>
WARPLOOM_FN void tma_load_multicast(SharedAddress destination, const TensorMap& map, SharedAddress barrier, Coord3 at,
                                    uint16_t cta_mask, CacheHint hint) noexcept;
WARPLOOM_FN void tma_store(const TensorMap& map, SharedAddress source, Coord3 at, CacheHint hint) noexcept;

/// cp.async.bulk.commit_group: closes this thread's stores into a group
WARPLOOM_FN void bulk_commit_group() noexcept;
/// cp.async.bulk.wait_group.read: at most `pending` groups have not yet read their source
template <int pending>
WARPLOOM_FN void bulk_wait_group_read() noexcept;
/// cp.async.bulk.wait_group: at most `pending` groups are not yet complete
template <int pending>
WARPLOOM_FN void bulk_wait_group() noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/tma.hpp"
#else
#include "warploom/arch/loom/tma.hpp"
#endif
