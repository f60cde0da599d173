// Room for the packed operands of a few instructions along K. A worker has as many as are in use at a time, and the one
// that was given back last, which is in its caches, is taken first.
//
//   std::shared_ptr<Panels> b = take_panels();                     // before the first instruction
//   pack_panels(operand, shared, b->at(k), Panels::stride);        // those after it: k further on
#pragma once

#include <memory>

#include "loom/units/panels.hpp"

namespace warploom::loom {

/// Of one operand. Several sums may hold the same B.
struct Panels {
  /// What four instructions of 16-bit types have. More would not fit a first-level cache: of 64 rows of A and 48 of B.
  static constexpr uint32_t k_capacity = 64;
  /// Floats from a panel to the next. Not a power of two, so that panels do not crowd the same cache sets.
  static constexpr size_t stride = size_t{panel_rows} * k_capacity + panel_rows;
  static constexpr uint32_t most_rows = 256;

  float* at(uint32_t k) { return values + size_t{panel_rows} * k; }

  alignas(64) float values[most_rows / panel_rows * stride];
};

std::shared_ptr<Panels> take_panels();

}  // namespace warploom::loom
