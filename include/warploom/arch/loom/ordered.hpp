// The loom side of arch/ordered.hpp.
#pragma once

#include "warploom/loom/atomics.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN T load_global(const T* source) noexcept {
  static_assert(!releases(order), "warploom: a load relaxes or acquires");
  T value;
  native::load_ordered_global({order, scope, sizeof(T)}, source, &value);
  return value;
}
template <MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN void store_global(T* destination, std::type_identity_t<T> value) noexcept {
  static_assert(!acquires(order), "warploom: a store relaxes or releases");
  native::store_ordered_global({order, scope, sizeof(T)}, destination, &value);
}
template <class T, MemoryOrder order, MemoryScope scope>
WARPLOOM_FN T load_cluster(SharedAddress source) noexcept {
  static_assert(!releases(order), "warploom: a load relaxes or acquires");
  T value;
  native::load_ordered_shared({order, scope, sizeof(T)}, source.value, &value);
  return value;
}
template <class T, MemoryOrder order, MemoryScope scope>
WARPLOOM_FN void store_cluster(SharedAddress destination, T value) noexcept {
  static_assert(!acquires(order), "warploom: a store relaxes or releases");
  native::store_ordered_shared({order, scope, sizeof(T)}, destination.value, &value);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
