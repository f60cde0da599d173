// The GPU side of arch/cluster_memory.hpp.
#pragma once

#include "warploom/arch/gpu/atomic_forms.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

// getctarank.shared::cluster.u32 rank, a
WARPLOOM_FN uint32_t rank_of(SharedAddress address) noexcept {
  uint32_t rank;
  asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(address.value));
  return rank;
}

// ld.shared::cluster{.v2,.v4}.{u8,u16,u32}
template <class T>
WARPLOOM_FN T load_cluster(SharedAddress source) noexcept {
  using Word = detail::access_word<T>;
  Word word;
  if constexpr (sizeof(T) == 1) {
    uint32_t wide;
    asm volatile("ld.shared::cluster.u8 %0, [%1];" : "=r"(wide) : "r"(source.value) : "memory");
    word = static_cast<Word>(wide);
  } else if constexpr (sizeof(T) == 2) {
    asm volatile("ld.shared::cluster.u16 %0, [%1];" : "=h"(word) : "r"(source.value) : "memory");
  } else if constexpr (sizeof(T) == 4) {
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(word) : "r"(source.value) : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2];"
                 : "=r"(word.x), "=r"(word.y)
                 : "r"(source.value)
                 : "memory");
  } else {
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "r"(source.value)
                 : "memory");
  }
  return detail::as_bits_of<T>(word);
}
// st.shared::cluster{.v2,.v4}.{u8,u16,u32}
template <class T>
WARPLOOM_FN void store_cluster(SharedAddress destination, T value) noexcept {
  using Word = detail::access_word<T>;
  const Word word = detail::as_bits_of<Word>(value);
  if constexpr (sizeof(T) == 1) {
    asm volatile("st.shared::cluster.u8 [%0], %1;" ::"r"(destination.value), "r"(static_cast<uint32_t>(word))
                 : "memory");
  } else if constexpr (sizeof(T) == 2) {
    asm volatile("st.shared::cluster.u16 [%0], %1;" ::"r"(destination.value), "h"(word) : "memory");
  } else if constexpr (sizeof(T) == 4) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(destination.value), "r"(word) : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(destination.value), "r"(word.x), "r"(word.y)
                 : "memory");
  } else {
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(destination.value), "r"(word.x), "r"(word.y),
                 "r"(word.z), "r"(word.w)
                 : "memory");
  }
}

template <Atomic operation, MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN T fetch_cluster(SharedAddress destination, std::type_identity_t<T> value) noexcept {
  constexpr AtomicForm form{operation, atomic_type<operation, T>(), 1, order, scope, true};
  static_assert(exists_in_shared(form), "warploom: there is no such atomic");
  return detail::atomic<form, true>(destination.value, value);
}
template <Atomic operation, MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN void reduce_cluster(SharedAddress destination, std::type_identity_t<T> value) noexcept {
  constexpr AtomicForm form{operation, atomic_type<operation, T>(), 1, order, scope, false};
  static_assert(exists_in_shared(form) && !acquires(order), "warploom: there is no such reduction");
  detail::atomic<form, true>(destination.value, value);
}
template <MemoryOrder order, MemoryScope scope, class T>
WARPLOOM_FN T compare_exchange_cluster(SharedAddress destination, std::type_identity_t<T> expected,
                                       std::type_identity_t<T> desired) noexcept {
  constexpr AtomicForm form{
      Atomic::compare_exchange, atomic_type<Atomic::compare_exchange, T>(), 1, order, scope, true};
  return detail::atomic<form, true>(destination.value, desired, expected);
}

// red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.OP [a], value, [barrier]
template <Atomic operation, class T>
WARPLOOM_FN void reduce_async(SharedAddress destination, T value, SharedAddress barrier) noexcept {
  constexpr AtomicType type = atomic_type<operation, T>();
  static_assert(reduces_async(operation, type), "warploom: there is no such red.async");
  using Name = detail::AtomicText<operation>;
  using Type = detail::AtomicTypeText<type>;
  if constexpr (sizeof(T) == 4)
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.%3.%4 [%0], %1, [%2];" ::"r"(
                     destination.value),
                 "r"(value), "r"(barrier.value), "C"(Name::name), "C"(Type::name)
                 : "memory");
  else
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.%3.%4 [%0], %1, [%2];" ::"r"(
                     destination.value),
                 "l"(value), "r"(barrier.value), "C"(Name::name), "C"(Type::name)
                 : "memory");
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
