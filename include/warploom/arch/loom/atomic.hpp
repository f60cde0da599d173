// The loom side of arch/atomic.hpp.
#pragma once

#include "warploom/loom/atomics.hpp"
#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <Atomic operation, MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN T fetch_global(T* word, std::type_identity_t<T> value) noexcept {
  static constexpr AtomicForm form{operation, atomic_type<operation, T>(), 1, order, scope, true};
  static_assert(exists_in_global(form), "warploom: there is no such atomic");
  T old;
  native::atomic_global(form, word, &value, nullptr, &old);
  return old;
}
template <Atomic operation, MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN void reduce_global(T* word, std::type_identity_t<T> value) noexcept {
  static constexpr AtomicForm form{operation, atomic_type<operation, T>(), 1, order, scope, false};
  static_assert(exists_in_global(form) && !acquires(order), "warploom: there is no such reduction");
  native::atomic_global(form, word, &value, nullptr, nullptr);
}
template <MemoryOrder order, MemoryScope scope, int count>
WARPLOOM_FN void reduce_add_global(float* words, const float (&values)[count]) noexcept {
  static_assert((count == 2 || count == 4) && !acquires(order), "warploom: there is no such reduction");
  static constexpr AtomicForm form{Atomic::add, AtomicType::f32, count, order, scope, false};
  native::atomic_global(form, words, values, nullptr, nullptr);
}
template <MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN T compare_exchange_global(T* word, std::type_identity_t<T> expected,
                                      std::type_identity_t<T> desired) noexcept {
  static constexpr AtomicForm form{
      Atomic::compare_exchange, atomic_type<Atomic::compare_exchange, T>(), 1, order, scope, true};
  T old;
  native::atomic_global(form, word, &desired, &expected, &old);
  return old;
}

template <MemoryOrder order, MemoryScope scope>
WARPLOOM_FN uint32_t fetch_add_global(uint32_t* counter, uint32_t value) noexcept {
  return fetch_global<Atomic::add, order, scope>(counter, value);
}
WARPLOOM_FN void fence_gpu() noexcept { native::fence(MemoryScope::gpu); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
