// The GPU side of arch/tensor_map_edit.hpp, by cuda::ptx, which wants generic pointers.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace detail {

/// tensormap.replace numbers the types in another order than the driver (hardware.md §2.2).
template <TmaType type>
inline constexpr int replaced_type = [] {
  switch (type) {
    case TmaType::f32_ftz: return 8;
    case TmaType::f64: return 9;
    case TmaType::bf16: return 10;
    default: return static_cast<int>(type);
  }
}();
template <Swizzle swizzle>
inline constexpr int replaced_mode = static_cast<int>(swizzle) < 3 ? static_cast<int>(swizzle) : 3;
template <Swizzle swizzle>
inline constexpr int replaced_atom = static_cast<int>(swizzle) < 4 ? 0 : static_cast<int>(swizzle) - 3;

}  // namespace detail

WARPLOOM_FN void tensor_map_set_address(SharedAddress map, const void* address) noexcept {
  detail::ptx::tensormap_replace_global_address(detail::ptx::space_shared, detail::generic_pointer<void>(map),
                                                reinterpret_cast<uint64_t>(address));
}
WARPLOOM_FN void tensor_map_set_rank(SharedAddress map, uint32_t rank) noexcept {
  detail::ptx::tensormap_replace_rank(detail::ptx::space_shared, detail::generic_pointer<void>(map), rank - 1);
}
template <int d>
WARPLOOM_FN void tensor_map_set_size(SharedAddress map, uint32_t elements) noexcept {
  detail::ptx::tensormap_replace_global_dim(detail::ptx::space_shared, detail::generic_pointer<void>(map),
                                            detail::ptx::n32_t<d>{}, elements);
}
template <int d>
WARPLOOM_FN void tensor_map_set_box(SharedAddress map, uint32_t elements) noexcept {
  detail::ptx::tensormap_replace_box_dim(detail::ptx::space_shared, detail::generic_pointer<void>(map),
                                         detail::ptx::n32_t<d>{}, elements);
}
template <int d>
WARPLOOM_FN void tensor_map_set_element_stride(SharedAddress map, uint32_t stride) noexcept {
  detail::ptx::tensormap_replace_element_stride(detail::ptx::space_shared, detail::generic_pointer<void>(map),
                                                detail::ptx::n32_t<d>{}, stride);
}
template <int d>
WARPLOOM_FN void tensor_map_set_stride(SharedAddress map, uint64_t bytes) noexcept {
  detail::ptx::tensormap_replace_global_stride(detail::ptx::space_shared, detail::generic_pointer<void>(map),
                                               detail::ptx::n32_t<d - 1>{}, bytes);
}
template <TmaType type>
WARPLOOM_FN void tensor_map_set_type(SharedAddress map) noexcept {
  detail::ptx::tensormap_replace_elemtype(detail::ptx::space_shared, detail::generic_pointer<void>(map),
                                          detail::ptx::n32_t<detail::replaced_type<type>>{});
}
template <TmaFill fill>
WARPLOOM_FN void tensor_map_set_fill(SharedAddress map) noexcept {
  detail::ptx::tensormap_replace_fill_mode(detail::ptx::space_shared, detail::generic_pointer<void>(map),
                                           detail::ptx::n32_t<static_cast<int>(fill)>{});
}
template <Swizzle swizzle>
WARPLOOM_FN void tensor_map_set_swizzle(SharedAddress map) noexcept {
  detail::ptx::tensormap_replace_swizzle_mode(detail::ptx::space_shared, detail::generic_pointer<void>(map),
                                              detail::ptx::n32_t<detail::replaced_mode<swizzle>>{});
  if constexpr (detail::replaced_atom<swizzle> != 0)
    detail::ptx::tensormap_replace_swizzle_atomicity(detail::ptx::space_shared, detail::generic_pointer<void>(map),
                                                     detail::ptx::n32_t<detail::replaced_atom<swizzle>>{});
}
WARPLOOM_FN void publish_tensor_map(TensorMap* destination, SharedAddress map) noexcept {
  detail::ptx::tensormap_cp_fenceproxy(detail::ptx::sem_release, detail::ptx::scope_gpu, destination,
                                       detail::generic_pointer<void>(map), detail::ptx::n32_t<128>{});
}
WARPLOOM_FN void release_tensor_maps() noexcept {
  detail::ptx::fence_proxy_tensormap_generic(detail::ptx::sem_release, detail::ptx::scope_gpu);
}
WARPLOOM_FN void acquire_tensor_map(const TensorMap& map) noexcept {
  detail::ptx::fence_proxy_tensormap_generic(detail::ptx::sem_acquire, detail::ptx::scope_gpu, &map,
                                             detail::ptx::n32_t<128>{});
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
