// What the GPU units share: libcu++'s instruction wrappers, and the words of a plain memory access.
#pragma once

#include <cuda/ptx>
#include <cuda/std/bit>

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch::detail {

namespace ptx = ::cuda::ptx;

template <int cta_group>
inline constexpr auto cta_group_tag = [] {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
  if constexpr (cta_group == 1) {
    return ptx::cta_group_1;
  } else {
    return ptx::cta_group_2;
  }
}();

/// The machine word that moves an object of `bytes` bytes in one access. Objects are cast to it: nvcc assumes nothing
/// from types about aliasing, and memcpy would lose the alignment (nvcc 13.0 for sm_90a then stores byte by byte).
template <size_t bytes>
struct AccessWord {
  static_assert(bytes == 0, "warploom: one memory access moves 1, 2, 4, 8 or 16 bytes");
};
template <>
struct AccessWord<1> {
  using type = unsigned char;
};
template <>
struct AccessWord<2> {
  using type = unsigned short;
};
template <>
struct AccessWord<4> {
  using type = unsigned int;
};
template <>
struct AccessWord<8> {
  using type = uint2;
};
template <>
struct AccessWord<16> {
  using type = uint4;
};

template <class T>
using access_word = typename AccessWord<sizeof(T)>::type;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch::detail
