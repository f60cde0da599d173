// The GPU side of arch/cluster_memory.hpp.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

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

// atom.acq_rel.cluster.shared::cluster.OP old, [a], value
template <Atomic operation>
WARPLOOM_FN uint32_t fetch_cluster(SharedAddress destination, uint32_t value) noexcept {
  uint32_t old = 0;
#define WARPLOOM_ATOMIC(name, text)                                            \
  if constexpr (operation == Atomic::name)                                     \
    asm volatile("atom.acq_rel.cluster.shared::cluster." text " %0, [%1], %2;" \
                 : "=r"(old)                                                   \
                 : "r"(destination.value), "r"(value)                          \
                 : "memory");
  WARPLOOM_ATOMIC(add, "add.u32")
  WARPLOOM_ATOMIC(min, "min.u32")
  WARPLOOM_ATOMIC(max, "max.u32")
  WARPLOOM_ATOMIC(inc, "inc.u32")
  WARPLOOM_ATOMIC(dec, "dec.u32")
  WARPLOOM_ATOMIC(bit_and, "and.b32")
  WARPLOOM_ATOMIC(bit_or, "or.b32")
  WARPLOOM_ATOMIC(bit_xor, "xor.b32")
  WARPLOOM_ATOMIC(exchange, "exch.b32")
#undef WARPLOOM_ATOMIC
  return old;
}
// atom.acq_rel.cluster.shared::cluster.cas.b32 old, [a], expected, desired
WARPLOOM_FN uint32_t compare_exchange_cluster(SharedAddress destination, uint32_t expected, uint32_t desired) noexcept {
  uint32_t old;
  asm volatile("atom.acq_rel.cluster.shared::cluster.cas.b32 %0, [%1], %2, %3;"
               : "=r"(old)
               : "r"(destination.value), "r"(expected), "r"(desired)
               : "memory");
  return old;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
