// The GPU side of arch/atomic.hpp.
#pragma once

#include "warploom/arch/gpu/atomic_forms.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

template <Atomic operation, MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN T fetch_global(T* word, std::type_identity_t<T> value) noexcept {
  constexpr AtomicForm form{operation, atomic_type<operation, T>(), 1, order, scope, true};
  static_assert(exists_in_global(form), "warploom: there is no such atomic");
  return detail::atomic<form, false>(__cvta_generic_to_global(word), value);
}
template <Atomic operation, MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN void reduce_global(T* word, std::type_identity_t<T> value) noexcept {
  constexpr AtomicForm form{operation, atomic_type<operation, T>(), 1, order, scope, false};
  static_assert(exists_in_global(form) && !acquires(order), "warploom: there is no such reduction");
  detail::atomic<form, false>(__cvta_generic_to_global(word), value);
}
// red.ORDER.SCOPE.global.add.v2.f32 [words], {a, b}
template <MemoryOrder order, MemoryScope scope, int count>
WARPLOOM_FN void reduce_add_global(float* words, const float (&values)[count]) noexcept {
  static_assert((count == 2 || count == 4) && !acquires(order), "warploom: there is no such reduction");
  using Order = detail::OrderText<order>;
  using Scope = detail::ScopeText<scope>;
  if constexpr (count == 2)
    asm volatile("red.%3.%4.global.add.v2.f32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(words)), "f"(values[0]),
                 "f"(values[1]), "C"(Order::name), "C"(Scope::name)
                 : "memory");
  else
    asm volatile("red.%5.%6.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(words)),
                 "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3]), "C"(Order::name), "C"(Scope::name)
                 : "memory");
}
template <MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN T compare_exchange_global(T* word, std::type_identity_t<T> expected,
                                      std::type_identity_t<T> desired) noexcept {
  constexpr AtomicForm form{
      Atomic::compare_exchange, atomic_type<Atomic::compare_exchange, T>(), 1, order, scope, true};
  return detail::atomic<form, false>(__cvta_generic_to_global(word), desired, expected);
}

template <MemoryOrder order, MemoryScope scope>
WARPLOOM_FN uint32_t fetch_add_global(uint32_t* counter, uint32_t value) noexcept {
  return fetch_global<Atomic::add, order, scope>(counter, value);
}
WARPLOOM_FN void fence_gpu() noexcept { ::cuda::ptx::fence(::cuda::ptx::sem_acq_rel, ::cuda::ptx::scope_gpu); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
