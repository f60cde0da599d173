// Rows of global memory on their way to a swizzled tile: each is as long as the swizzle's span, and unit u of 16 bytes
// goes to place u ^ (some bits of the line's number).
//
//   copy_swizzled_rows(Swizzle::b128)(first, stride, window, offset, 64);   // 64 rows, to the window's `offset`
#pragma once

#include "loom/units/panels.hpp"

namespace warploom::loom {

/// Rows `stride` bytes apart, to consecutive spans of the window from `offset` on.
using RowCopy = void (*)(const std::byte* from, size_t stride, std::byte* window, uint32_t offset, uint32_t rows);

/// The fastest there is for this swizzle; null: it does not permute units.
RowCopy copy_swizzled_rows(Swizzle swizzle);
/// One for each instruction set, all to the same effect. Null: this machine cannot run it, or it has none of its own.
RowCopy copy_swizzled_rows(Swizzle swizzle, Isa isa);

}  // namespace warploom::loom
