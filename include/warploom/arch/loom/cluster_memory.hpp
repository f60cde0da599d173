// The loom side of arch/cluster_memory.hpp.
#pragma once

#include <cstring>

#include "warploom/loom/atomics.hpp"
#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN uint32_t rank_of(SharedAddress address) noexcept { return native::rank_of(address.value); }

template <class T>
WARPLOOM_FN T load_cluster(SharedAddress source) noexcept {
  T value;
  std::memcpy(&value, native::cluster_memory(source.value, sizeof(T), false), sizeof(T));
  return value;
}
template <class T>
WARPLOOM_FN void store_cluster(SharedAddress destination, T value) noexcept {
  std::memcpy(native::cluster_memory(destination.value, sizeof(T), true), &value, sizeof(T));
}

template <Atomic operation, MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN T fetch_cluster(SharedAddress destination, std::type_identity_t<T> value) noexcept {
  static constexpr AtomicForm form{operation, atomic_type<operation, T>(), 1, order, scope, true};
  static_assert(exists_in_shared(form), "warploom: there is no such atomic");
  T old;
  native::atomic_shared(form, destination.value, &value, nullptr, &old);
  return old;
}
template <Atomic operation, MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN void reduce_cluster(SharedAddress destination, std::type_identity_t<T> value) noexcept {
  static constexpr AtomicForm form{operation, atomic_type<operation, T>(), 1, order, scope, false};
  static_assert(exists_in_shared(form) && !acquires(order), "warploom: there is no such reduction");
  native::atomic_shared(form, destination.value, &value, nullptr, nullptr);
}
template <MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN T compare_exchange_cluster(SharedAddress destination, std::type_identity_t<T> expected,
                                       std::type_identity_t<T> desired) noexcept {
  static constexpr AtomicForm form{
      Atomic::compare_exchange, atomic_type<Atomic::compare_exchange, T>(), 1, order, scope, true};
  T old;
  native::atomic_shared(form, destination.value, &desired, &expected, &old);
  return old;
}

template <Atomic operation, class T>
WARPLOOM_FN void reduce_async(SharedAddress destination, T value, SharedAddress barrier) noexcept {
  constexpr AtomicType type = atomic_type<operation, T>();
  static_assert(reduces_async(operation, type), "warploom: there is no such red.async");
  native::reduce_async(operation, type, destination.value, &value, barrier.value);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
