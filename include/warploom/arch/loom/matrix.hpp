// The loom side of arch/matrix.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <int tiles, bool transposed>
WARPLOOM_FN void store_matrix(SharedAddress row, const uint32_t (&registers)[tiles]) noexcept {
  static_assert(tiles == 1 || tiles == 2 || tiles == 4, "warploom: stmatrix stores 1, 2 or 4 tiles");
  native::store_matrix(row.value, registers, tiles, transposed);
}

template <int tiles, bool transposed>
WARPLOOM_FN void load_matrix(SharedAddress row, uint32_t (&registers)[tiles]) noexcept {
  static_assert(tiles == 1 || tiles == 2 || tiles == 4, "warploom: ldmatrix loads 1, 2 or 4 tiles");
  native::load_matrix(row.value, registers, tiles, transposed);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
