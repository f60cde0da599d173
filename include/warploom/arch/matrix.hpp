// stmatrix and ldmatrix: a warp stores 8x8 tiles of 16-bit elements to shared memory, or loads them.
#pragma once

#include "warploom/arch/shared.hpp"
#include "warploom/arch/warp.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// stmatrix.sync.aligned.m8n8.x{1,2,4}{.trans}.shared.b16: lane t holds elements (t/4, 2*(t%4)) and the next of each
/// tile (transposed: of the tile's transpose); lane 8*j + r names the 16-byte row r of tile j.
template <int tiles, bool transposed = false>
WARPLOOM_FN void store_matrix(SharedAddress row, const uint32_t (&registers)[tiles]) noexcept;

/// ldmatrix.sync.aligned.m8n8.x{1,2,4}{.trans}.shared.b16: the other way.
template <int tiles, bool transposed = false>
WARPLOOM_FN void load_matrix(SharedAddress row, uint32_t (&registers)[tiles]) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/matrix.hpp"
#else
#include "warploom/arch/loom/matrix.hpp"
#endif
