// The loom side of arch/shared.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <class Storage>
WARPLOOM_FN Storage& shared() noexcept {
  static_assert(sizeof(Storage) <= shared_capacity, "warploom: the kernel's storage exceeds 227 KiB of shared memory");
  return *static_cast<Storage*>(native::shared_base(sizeof(Storage)));
}
WARPLOOM_FN SharedAddress shared_address(const void* object) noexcept { return {native::shared_address(object)}; }
WARPLOOM_FN SharedAddress map_to_rank(SharedAddress local, uint32_t rank) noexcept {
  return {native::map_to_rank(local.value, rank)};
}
template <class T>
WARPLOOM_FN T load_shared(const T* source) noexcept {
  return *static_cast<const T*>(native::shared_memory(source, sizeof(T), false));
}
template <class T>
WARPLOOM_FN void store_shared(T* destination, T value) noexcept {
  *static_cast<T*>(native::shared_memory(destination, sizeof(T), true, &value)) = value;
}

WARPLOOM_FN void store_async(SharedAddress destination, const uint32_t (&words)[4], SharedAddress barrier) noexcept {
  native::store_async(destination.value, words, sizeof(words), barrier.value);
}
template <class T>
WARPLOOM_FN void store_async(SharedAddress destination, T value, SharedAddress barrier) noexcept {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "warploom: st.async moves 4, 8 or 16 bytes");
  native::store_async(destination.value, &value, sizeof(T), barrier.value);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
