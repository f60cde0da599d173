// The loom side of arch/tensor_map_edit.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN void tensor_map_set_address(SharedAddress map, const void* address) noexcept {
  native::tensor_map_replace(map.value, TensorMapField::address, 0, reinterpret_cast<uintptr_t>(address));
}
WARPLOOM_FN void tensor_map_set_rank(SharedAddress map, uint32_t rank) noexcept {
  native::tensor_map_replace(map.value, TensorMapField::rank, 0, rank);
}
template <int d>
WARPLOOM_FN void tensor_map_set_size(SharedAddress map, uint32_t elements) noexcept {
  static_assert(d >= 0 && d < 5, "warploom: tensors have one to five dimensions");
  native::tensor_map_replace(map.value, TensorMapField::size, d, elements);
}
template <int d>
WARPLOOM_FN void tensor_map_set_box(SharedAddress map, uint32_t elements) noexcept {
  static_assert(d >= 0 && d < 5, "warploom: tensors have one to five dimensions");
  native::tensor_map_replace(map.value, TensorMapField::box, d, elements);
}
template <int d>
WARPLOOM_FN void tensor_map_set_element_stride(SharedAddress map, uint32_t stride) noexcept {
  static_assert(d >= 0 && d < 5, "warploom: tensors have one to five dimensions");
  native::tensor_map_replace(map.value, TensorMapField::element_stride, d, stride);
}
template <int d>
WARPLOOM_FN void tensor_map_set_stride(SharedAddress map, uint64_t bytes) noexcept {
  static_assert(d >= 1 && d < 5, "warploom: dimension 0 is contiguous, the others have strides");
  native::tensor_map_replace(map.value, TensorMapField::stride, d - 1, bytes);
}
template <TmaType type>
WARPLOOM_FN void tensor_map_set_type(SharedAddress map) noexcept {
  native::tensor_map_replace(map.value, TensorMapField::type, 0, static_cast<uint64_t>(type));
}
template <TmaFill fill>
WARPLOOM_FN void tensor_map_set_fill(SharedAddress map) noexcept {
  native::tensor_map_replace(map.value, TensorMapField::fill, 0, static_cast<uint64_t>(fill));
}
template <Swizzle swizzle>
WARPLOOM_FN void tensor_map_set_swizzle(SharedAddress map) noexcept {
  native::tensor_map_replace(map.value, TensorMapField::swizzle, 0, static_cast<uint64_t>(swizzle));
}
WARPLOOM_FN void publish_tensor_map(TensorMap* destination, SharedAddress map) noexcept {
  native::publish_tensor_map(destination, map.value);
}
WARPLOOM_FN void release_tensor_maps() noexcept { native::release_tensor_maps(); }
WARPLOOM_FN void acquire_tensor_map(const TensorMap& map) noexcept { native::acquire_tensor_map(map); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
