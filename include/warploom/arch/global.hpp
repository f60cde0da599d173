// Plain global-memory accesses of library code. T is 1, 2, 4, 8 or 16 bytes, naturally aligned.
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// ld.global
template <class T>
WARPLOOM_FN T load_global(const T* source) noexcept;
template <class T>
WARPLOOM_FN void store_global(T* destination, T value) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/global.hpp"
#else
#include "warploom/arch/loom/global.hpp"
#endif
