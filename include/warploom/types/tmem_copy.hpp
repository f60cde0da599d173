// The forms of tcgen05.cp, which copies from shared to tensor memory (hardware.md §4.12).
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom {

/// Rows x bits of the source; narrower shapes are written to several lanes (.warpx2, .warpx4).
enum class TmemCopy : uint8_t {
  m128x256b,
  m128x128b,
  m64x128b_02_13,  ///< .warpx2::02_13: row i to lanes i and i + 64
  m64x128b_01_23,  ///< .warpx2::01_23: rows 0-31 to lane quarters 0 and 1, rows 32-63 to 2 and 3
  m32x128b,        ///< .warpx4: row i to lanes i, i + 32, i + 64, i + 96; scale factors travel so
  m4x256b          ///< a row for each lane quarter
};

/// Decompression to 8-bit containers: none, .b8x16.b6x16_p32 or .b8x16.b4x16_p64.
enum class Expand : uint8_t { none, six_bit, four_bit };

WARPLOOM_CONST_FN uint32_t copy_rows(TmemCopy shape) {
  switch (shape) {
    case TmemCopy::m128x256b:
    case TmemCopy::m128x128b: return 128;
    case TmemCopy::m64x128b_02_13:
    case TmemCopy::m64x128b_01_23: return 64;
    case TmemCopy::m32x128b: return 32;
    case TmemCopy::m4x256b: return 4;
  }
  return 0;
}
WARPLOOM_CONST_FN uint32_t copy_row_bytes(TmemCopy shape) {
  return shape == TmemCopy::m128x256b || shape == TmemCopy::m4x256b ? 32 : 16;
}

}  // namespace warploom
