// The loom side of arch/global.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <class T>
WARPLOOM_FN T load_global(const T* source) noexcept {
  native::check_global(source, sizeof(T), false);
  return *source;
}
template <class T>
WARPLOOM_FN void store_global(T* destination, T value) noexcept {
  native::check_global(destination, sizeof(T), true, &value);
  *destination = value;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
