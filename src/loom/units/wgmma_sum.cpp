#include "loom/units/wgmma_sum.hpp"

#include <algorithm>
#include <cstring>

namespace warploom::loom {
namespace {

Operand left(const WgmmaOperation& op) {
  return {op.a, element_type(op.form.a_type), op.form.a_major, wgmma_rows, op.k};
}
Operand right(const WgmmaOperation& op) {
  return {op.b, element_type(op.form.b_type), op.form.b_major, op.form.n, op.k};
}

/// Between the threads' registers and rows: a thread holds pairs of neighbouring columns (wgmma_accumulator_cell).
template <class Move>
void for_each_pair(uint32_t n, float* const (&registers)[warpgroup_size], uint32_t* rows, size_t pitch, Move&& move) {
  for (uint32_t thread = 0; thread < warpgroup_size; ++thread) {
    const WgmmaCell first = wgmma_accumulator_cell(thread, 0);
    uint32_t* row = rows + first.row * pitch + first.column;
    float* held = registers[thread];
    for (uint32_t column = 0; column < n; column += 8, held += 4) {
      move(held, row + column);
      move(held + 2, row + 8 * pitch + column);
    }
  }
}

}  // namespace

bool WgmmaSum::takes(const WgmmaOperation& op) {
  return !op.a_in_registers && has_fast_form(op.form) && op.form.negate == WgmmaNegate::none && packs(left(op)) &&
         packs(right(op));
}

bool WgmmaSum::continues(const WgmmaOperation& op, const WgmmaMemory& memory) const {
  return n_ == op.form.n && std::equal(std::begin(d_), std::end(d_), std::begin(memory.d));
}

bool WgmmaSum::overlaps(const WgmmaMemory& memory) const {
  if (empty()) return false;
  for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
    if (holds(thread, memory.d[thread])) return true;
  return false;
}

void WgmmaSum::add(const WgmmaOperation& op, const WgmmaMemory& memory) {
  if (sums_ == nullptr) sums_ = std::make_unique<Sums>();
  if (empty()) {
    n_ = op.form.n;
    for (uint32_t thread = 0; thread < warpgroup_size; ++thread) d_[thread] = static_cast<float*>(memory.d[thread]);
    if (op.accumulate)
      for_each_pair(n_, d_, sums_->d, d_pitch,
                    [](const float* held, uint32_t* row) { std::memcpy(row, held, 2 * sizeof(float)); });
    accumulate_ = op.accumulate;
  } else if (!op.accumulate) {  // what was is overwritten
    k_ = 0;
    accumulate_ = false;
  }
  if (k_ + op.k > PanelBuffer::k_capacity) multiply();
  panels_.take();
  pack_panels(left(op), memory.shared, panels_.a(k_), PanelBuffer::stride);
  pack_panels(right(op), memory.shared, panels_.b(k_), PanelBuffer::stride);
  k_ += op.k;
  if (k_ == PanelBuffer::k_capacity) multiply();  // while all of it is in the caches
}

void WgmmaSum::multiply() {
  if (k_ == 0) return;
  multiply_panels({.a = panels_.a(0),
                   .a_stride = PanelBuffer::stride,
                   .b = panels_.b(0),
                   .b_stride = PanelBuffer::stride,
                   .d = sums_->d,
                   .d_pitch = d_pitch,
                   .rows = wgmma_rows,
                   .n = n_,
                   .k_extent = k_,
                   .accumulate = accumulate_});
  k_ = 0;
  accumulate_ = true;
  panels_.give_back();
}

void WgmmaSum::settle() {
  if (empty()) return;
  multiply();
  for_each_pair(n_, d_, sums_->d, d_pitch,
                [](float* held, const uint32_t* row) { std::memcpy(held, row, 2 * sizeof(float)); });
  n_ = 0;
}

}  // namespace warploom::loom
