// The GPU side of arch/global.hpp.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

// Not ld.global.nc: the compiler may move such a load above griddepcontrol.wait, when an earlier grid still writes
// there.
template <class T>
WARPLOOM_FN T load_global(const T* source) noexcept {
  using Word = detail::access_word<T>;
  __builtin_assume(__isGlobal(source));
  return detail::as_bits_of<T>(*reinterpret_cast<const Word*>(source));
}
// st.global
template <class T>
WARPLOOM_FN void store_global(T* destination, T value) noexcept {
  using Word = detail::access_word<T>;
  __builtin_assume(__isGlobal(destination));
  *reinterpret_cast<Word*>(destination) = detail::as_bits_of<Word>(value);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
