// tensormap.replace: a tensor map that the kernel itself changes, for tensors whose place or size it only learns while
// running (hardware.md §2.2). It is changed in shared memory, copied to global memory, and used from there.
//
//   tensor_map_set_address(draft, pointer);       // one thread, on a copy in shared memory
//   publish_tensor_map(global, draft);            // the whole warp
//   acquire_tensor_map(*global);                  // who will use it, or a thread of the CTA that tells them; then ...
//   tma_load<1>(slot, *global, full, {0, 0});
#pragma once

#include "warploom/arch/tma.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// tensormap.replace.tile.global_address.shared::cta.b1024.b64
WARPLOOM_FN void tensor_map_set_address(SharedAddress map, const void* address) noexcept;
/// tensormap.replace.tile.rank.shared::cta.b1024.b32 (the field holds one less)
WARPLOOM_FN void tensor_map_set_rank(SharedAddress map, uint32_t rank) noexcept;
/// tensormap.replace.tile.{global_dim,box_dim,element_stride}.shared::cta.b1024.b32: of dimension d
template <int d>
WARPLOOM_FN void tensor_map_set_size(SharedAddress map, uint32_t elements) noexcept;
template <int d>
WARPLOOM_FN void tensor_map_set_box(SharedAddress map, uint32_t elements) noexcept;
template <int d>
WARPLOOM_FN void tensor_map_set_element_stride(SharedAddress map, uint32_t stride) noexcept;
/// tensormap.replace.tile.global_stride.shared::cta.b1024.b64: from one index of dimension d, 1 or more, to the next
template <int d>
WARPLOOM_FN void tensor_map_set_stride(SharedAddress map, uint64_t bytes) noexcept;
/// tensormap.replace.tile.{elemtype,fill_mode}.shared::cta.b1024.b32
template <TmaType type>
WARPLOOM_FN void tensor_map_set_type(SharedAddress map) noexcept;
template <TmaFill fill>
WARPLOOM_FN void tensor_map_set_fill(SharedAddress map) noexcept;
/// tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32, and .swizzle_atomicity for atoms of more than 16 bytes,
/// which sm_100 has
template <Swizzle swizzle>
WARPLOOM_FN void tensor_map_set_swizzle(SharedAddress map) noexcept;

/// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned: copies the 128 bytes
WARPLOOM_FN void publish_tensor_map(TensorMap* destination, SharedAddress map) noexcept;
/// fence.proxy.tensormap::generic.release.gpu: publishes a map that the thread has written to global memory itself
WARPLOOM_FN void release_tensor_maps() noexcept;
/// fence.proxy.tensormap::generic.acquire.gpu [map], 128
WARPLOOM_FN void acquire_tensor_map(const TensorMap& map) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/tensor_map_edit.hpp"
#else
#include "warploom/arch/loom/tensor_map_edit.hpp"
#endif
