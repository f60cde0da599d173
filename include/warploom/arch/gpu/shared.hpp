// The GPU side of arch/shared.hpp. Plain accesses stay C++: the compiler knows where the pointers come from, and turns
// them into ld.shared and st.shared. (Telling it with __builtin_assume(__isShared(p)) makes nvcc 13.0 drop reachable
// code: docs/decisions.md.)
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace detail {
extern __shared__ __align__(1024) unsigned char dynamic_shared[];

/// `cuda::ptx` wants generic pointers and turns them back into window addresses: both conversions compile to nothing.
/// Any shared::cluster address is good: the upper half of a generic pointer says "shared window", the lower which byte.
template <class T>
WARPLOOM_FN T* generic_pointer(SharedAddress address) noexcept {
  return static_cast<T*>(__cvta_shared_to_generic(address.value));
}
}  // namespace detail

template <class Storage>
WARPLOOM_FN Storage& shared() noexcept {
  static_assert(sizeof(Storage) <= shared_capacity, "warploom: the kernel's storage exceeds 227 KiB of shared memory");
  static_assert(alignof(Storage) <= 1024, "warploom: shared memory is 1024-byte aligned, the storage asks for more");
  return *reinterpret_cast<Storage*>(detail::dynamic_shared);
}
WARPLOOM_FN SharedAddress shared_address(const void* object) noexcept {
  return {static_cast<uint32_t>(__cvta_generic_to_shared(object))};
}
// mapa.shared::cluster.u32 d, a, rank
WARPLOOM_FN SharedAddress map_to_rank(SharedAddress local, uint32_t rank) noexcept {
  SharedAddress mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped.value) : "r"(local.value), "r"(rank));
  return mapped;
}
template <class T>
WARPLOOM_FN T load_shared(const T* source) noexcept {
  using Word = detail::access_word<T>;
  return detail::as_bits_of<T>(*reinterpret_cast<const Word*>(source));
}
template <class T>
WARPLOOM_FN void store_shared(T* destination, T value) noexcept {
  using Word = detail::access_word<T>;
  *reinterpret_cast<Word*>(destination) = detail::as_bits_of<Word>(value);
}

// st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [a], {b, ...}, [mbar]
WARPLOOM_FN void store_async(SharedAddress destination, const uint32_t (&words)[4], SharedAddress barrier) noexcept {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                   destination.value),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(barrier.value)
               : "memory");
}
template <class T>
WARPLOOM_FN void store_async(SharedAddress destination, T value, SharedAddress barrier) noexcept {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "warploom: st.async moves 4, 8 or 16 bytes");
  if constexpr (sizeof(T) == 4)
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(destination.value),
        "r"(detail::as_bits_of<unsigned int>(value)), "r"(barrier.value)
        : "memory");
  else
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(destination.value),
        "l"(detail::as_bits_of<unsigned long long>(value)), "r"(barrier.value)
        : "memory");
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
