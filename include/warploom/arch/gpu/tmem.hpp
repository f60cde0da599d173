// The GPU side of arch/tmem.hpp. sm_100a only: on another target a use of these functions fails at link time, by name.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace detail {
template <int count>
inline constexpr bool tmem_power_of_two = count >= 1 && count <= 128 && (count & (count - 1)) == 0;
}  // namespace detail

// tcgen05.alloc.cta_group::G.sync.aligned.shared::cta.b32 [slot], columns
template <int cta_group>
WARPLOOM_FN void tmem_alloc(SharedAddress slot, uint32_t columns) noexcept {
  detail::ptx::tcgen05_alloc(detail::cta_group_tag<cta_group>, detail::generic_pointer<uint32_t>(slot), columns);
}
// tcgen05.relinquish_alloc_permit.cta_group::G.sync.aligned
template <int cta_group>
WARPLOOM_FN void tmem_relinquish() noexcept {
  detail::ptx::tcgen05_relinquish_alloc_permit(detail::cta_group_tag<cta_group>);
}
// tcgen05.dealloc.cta_group::G.sync.aligned.b32 base, columns
template <int cta_group>
WARPLOOM_FN void tmem_dealloc(TmemAddress base, uint32_t columns) noexcept {
  detail::ptx::tcgen05_dealloc(detail::cta_group_tag<cta_group>, base.value, columns);
}
// tcgen05.ld.sync.aligned.32x32b.x{count}{.pack::16b}.b32 {r...}, [source]
template <int count, bool packed>
WARPLOOM_FN void tmem_load_32x32b(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept {
  static_assert(detail::tmem_power_of_two<count>, "warploom: tcgen05.ld.32x32b moves 1, 2, 4, ... or 128 registers");
  if constexpr (packed)
    detail::ptx::tcgen05_ld_32x32b_pack_16b(registers.registers, source.value);
  else
    detail::ptx::tcgen05_ld_32x32b(registers.registers, source.value);
}
// tcgen05.ld.sync.aligned.16x64b.x{count}{.pack::16b}.b32 {r...}, [source]
template <int count, bool packed>
WARPLOOM_FN void tmem_load_16x64b(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept {
  static_assert(detail::tmem_power_of_two<count>, "warploom: tcgen05.ld.16x64b moves 1, 2, 4, ... or 128 registers");
  if constexpr (packed)
    detail::ptx::tcgen05_ld_16x64b_pack_16b(registers.registers, source.value);
  else
    detail::ptx::tcgen05_ld_16x64b(registers.registers, source.value);
}
// tcgen05.ld.sync.aligned.16x128b.x{count/2}{.pack::16b}.b32 {r...}, [source]
template <int count, bool packed>
WARPLOOM_FN void tmem_load_16x128b(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept {
  static_assert(count >= 2 && detail::tmem_power_of_two<count>,
                "warploom: tcgen05.ld.16x128b moves 2, 4, 8, ... or 128 registers");
  if constexpr (packed)
    detail::ptx::tcgen05_ld_16x128b_pack_16b(registers.registers, source.value);
  else
    detail::ptx::tcgen05_ld_16x128b(registers.registers, source.value);
}
// tcgen05.ld.sync.aligned.16x256b.x{count/4}{.pack::16b}.b32 {r...}, [source]
template <int count, bool packed>
WARPLOOM_FN void tmem_load_16x256b(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept {
  static_assert(count >= 4 && detail::tmem_power_of_two<count>,
                "warploom: tcgen05.ld.16x256b moves 4, 8, 16, ... or 128 registers");
  if constexpr (packed)
    detail::ptx::tcgen05_ld_16x256b_pack_16b(registers.registers, source.value);
  else
    detail::ptx::tcgen05_ld_16x256b(registers.registers, source.value);
}
// tcgen05.ld.sync.aligned.16x32bx2.x{count}{.pack::16b}.b32 {r...}, [source], offset
template <int offset, int count, bool packed>
WARPLOOM_FN void tmem_load_16x32bx2(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept {
  static_assert(detail::tmem_power_of_two<count>, "warploom: tcgen05.ld.16x32bx2 moves 1, 2, 4, ... or 128 registers");
  if constexpr (packed)
    detail::ptx::tcgen05_ld_16x32bx2_pack_16b(registers.registers, source.value, detail::ptx::n32_t<offset>{});
  else
    detail::ptx::tcgen05_ld_16x32bx2(registers.registers, source.value, detail::ptx::n32_t<offset>{});
}
// tcgen05.st.sync.aligned.32x32b.x{count}{.unpack::16b}.b32 [destination], {r...}
template <int count, bool packed>
WARPLOOM_FN void tmem_store_32x32b(TmemAddress destination, const uint32_t (&registers)[count]) noexcept {
  static_assert(detail::tmem_power_of_two<count>, "warploom: tcgen05.st.32x32b moves 1, 2, 4, ... or 128 registers");
  if constexpr (packed)
    detail::ptx::tcgen05_st_32x32b_unpack_16b(destination.value, registers);
  else
    detail::ptx::tcgen05_st_32x32b(destination.value, registers);
}
// tcgen05.st.sync.aligned.16x64b.x{count}{.unpack::16b}.b32 [destination], {r...}
template <int count, bool packed>
WARPLOOM_FN void tmem_store_16x64b(TmemAddress destination, const uint32_t (&registers)[count]) noexcept {
  static_assert(detail::tmem_power_of_two<count>, "warploom: tcgen05.st.16x64b moves 1, 2, 4, ... or 128 registers");
  if constexpr (packed)
    detail::ptx::tcgen05_st_16x64b_unpack_16b(destination.value, registers);
  else
    detail::ptx::tcgen05_st_16x64b(destination.value, registers);
}
// tcgen05.st.sync.aligned.16x128b.x{count/2}{.unpack::16b}.b32 [destination], {r...}
template <int count, bool packed>
WARPLOOM_FN void tmem_store_16x128b(TmemAddress destination, const uint32_t (&registers)[count]) noexcept {
  static_assert(count >= 2 && detail::tmem_power_of_two<count>,
                "warploom: tcgen05.st.16x128b moves 2, 4, 8, ... or 128 registers");
  if constexpr (packed)
    detail::ptx::tcgen05_st_16x128b_unpack_16b(destination.value, registers);
  else
    detail::ptx::tcgen05_st_16x128b(destination.value, registers);
}
// tcgen05.st.sync.aligned.16x256b.x{count/4}{.unpack::16b}.b32 [destination], {r...}
template <int count, bool packed>
WARPLOOM_FN void tmem_store_16x256b(TmemAddress destination, const uint32_t (&registers)[count]) noexcept {
  static_assert(count >= 4 && detail::tmem_power_of_two<count>,
                "warploom: tcgen05.st.16x256b moves 4, 8, 16, ... or 128 registers");
  if constexpr (packed)
    detail::ptx::tcgen05_st_16x256b_unpack_16b(destination.value, registers);
  else
    detail::ptx::tcgen05_st_16x256b(destination.value, registers);
}
// tcgen05.st.sync.aligned.16x32bx2.x{count}{.unpack::16b}.b32 [destination], offset, {r...}
template <int offset, int count, bool packed>
WARPLOOM_FN void tmem_store_16x32bx2(TmemAddress destination, const uint32_t (&registers)[count]) noexcept {
  static_assert(detail::tmem_power_of_two<count>, "warploom: tcgen05.st.16x32bx2 moves 1, 2, 4, ... or 128 registers");
  if constexpr (packed)
    detail::ptx::tcgen05_st_16x32bx2_unpack_16b(destination.value, detail::ptx::n32_t<offset>{}, registers);
  else
    detail::ptx::tcgen05_st_16x32bx2(destination.value, detail::ptx::n32_t<offset>{}, registers);
}
WARPLOOM_FN void tmem_wait_load() noexcept { detail::ptx::tcgen05_wait_ld(); }
WARPLOOM_FN void tmem_wait_store() noexcept { detail::ptx::tcgen05_wait_st(); }
WARPLOOM_FN void tcgen05_fence_before() noexcept { detail::ptx::tcgen05_fence_before_thread_sync(); }
WARPLOOM_FN void tcgen05_fence_after() noexcept { detail::ptx::tcgen05_fence_after_thread_sync(); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
