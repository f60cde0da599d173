// The GPU side of arch/tmem_copy.hpp. sm_100a only: on another target a use of these functions fails at link time, by
// name.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

template <TmemCopy shape, int cta_group, Expand expand>
WARPLOOM_FN void tmem_copy(TmemAddress destination, SmemDescriptor source) noexcept {
  constexpr auto group = detail::cta_group_tag<cta_group>;
  if constexpr (shape == TmemCopy::m128x256b) {
    if constexpr (expand == Expand::none)
      detail::ptx::tcgen05_cp_128x256b(group, destination.value, source.bits);
    else if constexpr (expand == Expand::six_bit)
      detail::ptx::tcgen05_cp_128x256b_b8x16_b6x16_p32(group, destination.value, source.bits);
    else
      detail::ptx::tcgen05_cp_128x256b_b8x16_b4x16_p64(group, destination.value, source.bits);
  } else if constexpr (shape == TmemCopy::m128x128b) {
    if constexpr (expand == Expand::none)
      detail::ptx::tcgen05_cp_128x128b(group, destination.value, source.bits);
    else if constexpr (expand == Expand::six_bit)
      detail::ptx::tcgen05_cp_128x128b_b8x16_b6x16_p32(group, destination.value, source.bits);
    else
      detail::ptx::tcgen05_cp_128x128b_b8x16_b4x16_p64(group, destination.value, source.bits);
  } else if constexpr (shape == TmemCopy::m64x128b_02_13) {
    if constexpr (expand == Expand::none)
      detail::ptx::tcgen05_cp_64x128b_warpx2_02_13(group, destination.value, source.bits);
    else if constexpr (expand == Expand::six_bit)
      detail::ptx::tcgen05_cp_64x128b_warpx2_02_13_b8x16_b6x16_p32(group, destination.value, source.bits);
    else
      detail::ptx::tcgen05_cp_64x128b_warpx2_02_13_b8x16_b4x16_p64(group, destination.value, source.bits);
  } else if constexpr (shape == TmemCopy::m64x128b_01_23) {
    if constexpr (expand == Expand::none)
      detail::ptx::tcgen05_cp_64x128b_warpx2_01_23(group, destination.value, source.bits);
    else if constexpr (expand == Expand::six_bit)
      detail::ptx::tcgen05_cp_64x128b_warpx2_01_23_b8x16_b6x16_p32(group, destination.value, source.bits);
    else
      detail::ptx::tcgen05_cp_64x128b_warpx2_01_23_b8x16_b4x16_p64(group, destination.value, source.bits);
  } else if constexpr (shape == TmemCopy::m32x128b) {
    if constexpr (expand == Expand::none)
      detail::ptx::tcgen05_cp_32x128b_warpx4(group, destination.value, source.bits);
    else if constexpr (expand == Expand::six_bit)
      detail::ptx::tcgen05_cp_32x128b_warpx4_b8x16_b6x16_p32(group, destination.value, source.bits);
    else
      detail::ptx::tcgen05_cp_32x128b_warpx4_b8x16_b4x16_p64(group, destination.value, source.bits);
  } else {
    static_assert(shape == TmemCopy::m4x256b, "warploom: tcgen05.cp has no such shape");
    if constexpr (expand == Expand::none)
      detail::ptx::tcgen05_cp_4x256b(group, destination.value, source.bits);
    else if constexpr (expand == Expand::six_bit)
      detail::ptx::tcgen05_cp_4x256b_b8x16_b6x16_p32(group, destination.value, source.bits);
    else
      detail::ptx::tcgen05_cp_4x256b_b8x16_b4x16_p64(group, destination.value, source.bits);
  }
}
// tcgen05.shift.cta_group::G.down [address]
template <int cta_group>
WARPLOOM_FN void tmem_shift_down(TmemAddress address) noexcept {
  detail::ptx::tcgen05_shift_down(detail::cta_group_tag<cta_group>, address.value);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
