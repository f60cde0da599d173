// Room for the packed operands of a few instructions along K. A worker has as many as are in use at a time, and the one
// that was given back last, which is in its caches, is taken first.
//
//   PanelBuffer panels;
//   panels.take();                                             // before the first instruction
//   pack_panels(operand, shared, panels.b(k), panels.stride);  // those after it: k further on
//   panels.give_back();
#pragma once

#include <memory>
#include <utility>

#include "loom/units/panels.hpp"

namespace warploom::loom {

class PanelBuffer {
 public:
  /// What four instructions of 16-bit types have. More would not fit a first-level cache: of 64 rows of A and 48 of B.
  static constexpr uint32_t k_capacity = 64;
  /// Floats from a panel to the next. Not a power of two, so that panels do not crowd the same cache sets.
  static constexpr size_t stride = size_t{panel_rows} * k_capacity + panel_rows;
  static constexpr uint32_t most_rows = 256;  ///< of A, and of B

  PanelBuffer() = default;
  PanelBuffer(PanelBuffer&& other) noexcept : memory_(std::move(other.memory_)) {}
  PanelBuffer& operator=(PanelBuffer&&) = delete;
  ~PanelBuffer() { give_back(); }

  void take();
  void give_back();
  float* a(uint32_t k) { return memory_->a + size_t{panel_rows} * k; }
  float* b(uint32_t k) { return memory_->b + size_t{panel_rows} * k; }

  struct Memory {
    alignas(64) float a[most_rows / panel_rows * stride];
    alignas(64) float b[most_rows / panel_rows * stride];
  };

 private:
  std::unique_ptr<Memory> memory_;
};

}  // namespace warploom::loom
