// The loom side of arch/tmem.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <int cta_group>
WARPLOOM_FN void tmem_alloc(SharedAddress slot, uint32_t columns) noexcept {
  native::tmem_alloc(cta_group, slot.value, columns);
}
template <int cta_group>
WARPLOOM_FN void tmem_relinquish() noexcept {
  native::tmem_relinquish(cta_group);
}
template <int cta_group>
WARPLOOM_FN void tmem_dealloc(TmemAddress base, uint32_t columns) noexcept {
  native::tmem_dealloc(cta_group, base.value, columns);
}
template <int count, bool packed>
WARPLOOM_FN void tmem_load_32x32b(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept {
  native::tmem_load({native::TmemShape::m32x32b, packed}, count, registers.registers(), registers.in_flight(),
                    source.value);
}
template <int count, bool packed>
WARPLOOM_FN void tmem_store_32x32b(TmemAddress destination, const uint32_t (&registers)[count]) noexcept {
  native::tmem_store({native::TmemShape::m32x32b, packed}, count, registers, destination.value);
}
template <int count, bool packed>
WARPLOOM_FN void tmem_load_16x64b(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept {
  native::tmem_load({native::TmemShape::m16x64b, packed}, count, registers.registers(), registers.in_flight(),
                    source.value);
}
template <int count, bool packed>
WARPLOOM_FN void tmem_store_16x64b(TmemAddress destination, const uint32_t (&registers)[count]) noexcept {
  native::tmem_store({native::TmemShape::m16x64b, packed}, count, registers, destination.value);
}
template <int count, bool packed>
WARPLOOM_FN void tmem_load_16x128b(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept {
  native::tmem_load({native::TmemShape::m16x128b, packed}, count, registers.registers(), registers.in_flight(),
                    source.value);
}
template <int count, bool packed>
WARPLOOM_FN void tmem_store_16x128b(TmemAddress destination, const uint32_t (&registers)[count]) noexcept {
  native::tmem_store({native::TmemShape::m16x128b, packed}, count, registers, destination.value);
}
template <int count, bool packed>
WARPLOOM_FN void tmem_load_16x256b(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept {
  native::tmem_load({native::TmemShape::m16x256b, packed}, count, registers.registers(), registers.in_flight(),
                    source.value);
}
template <int count, bool packed>
WARPLOOM_FN void tmem_store_16x256b(TmemAddress destination, const uint32_t (&registers)[count]) noexcept {
  native::tmem_store({native::TmemShape::m16x256b, packed}, count, registers, destination.value);
}
template <int offset, int count, bool packed>
WARPLOOM_FN void tmem_load_16x32bx2(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept {
  native::tmem_load({native::TmemShape::m16x32bx2, packed, offset}, count, registers.registers(), registers.in_flight(),
                    source.value);
}
template <int offset, int count, bool packed>
WARPLOOM_FN void tmem_store_16x32bx2(TmemAddress destination, const uint32_t (&registers)[count]) noexcept {
  native::tmem_store({native::TmemShape::m16x32bx2, packed, offset}, count, registers, destination.value);
}
WARPLOOM_FN void tmem_wait_load() noexcept { native::tmem_wait_load(); }
WARPLOOM_FN void tmem_wait_store() noexcept { native::tmem_wait_store(); }
WARPLOOM_FN void tcgen05_fence_before() noexcept { native::tcgen05_fence(true); }
WARPLOOM_FN void tcgen05_fence_after() noexcept { native::tcgen05_fence(false); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
