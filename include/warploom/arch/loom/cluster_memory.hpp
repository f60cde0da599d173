// The loom side of arch/cluster_memory.hpp.
#pragma once

#include <cstring>

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

template <Atomic operation>
WARPLOOM_FN uint32_t fetch_cluster(SharedAddress destination, uint32_t value) noexcept {
  static_assert(static_cast<int>(Atomic::bit_xor) == static_cast<int>(Reduction::bit_xor));
  if constexpr (operation == Atomic::exchange)
    return native::exchange_cluster(destination.value, value);
  else
    return native::fetch_cluster(static_cast<Reduction>(operation), destination.value, value);
}
WARPLOOM_FN uint32_t compare_exchange_cluster(SharedAddress destination, uint32_t expected, uint32_t desired) noexcept {
  return native::compare_exchange_cluster(destination.value, expected, desired);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
