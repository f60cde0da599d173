// The GPU side of arch/global.hpp.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

// ld.global.nc.{u8,u16,u32,v2.u32,v4.u32}, by the compiler's intrinsic: it may still move and merge the loads.
template <class T>
WARPLOOM_FN T load_global(const T* source) noexcept {
  using Word = detail::access_word<T>;
  return ::cuda::std::bit_cast<T>(__ldg(reinterpret_cast<const Word*>(source)));
}
// st.global
template <class T>
WARPLOOM_FN void store_global(T* destination, T value) noexcept {
  using Word = detail::access_word<T>;
  __builtin_assume(__isGlobal(destination));
  *reinterpret_cast<Word*>(destination) = ::cuda::std::bit_cast<Word>(value);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
