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

bool WgmmaSum::overlaps(const WgmmaMemory& memory) const {
  if (empty()) return false;
  for (uint32_t thread = 0; thread < warpgroup_size; ++thread)
    if (holds(thread, memory.d[thread])) return true;
  return false;
}

void WgmmaSum::begin(const WgmmaOperation& op, const WgmmaMemory& memory) {
  if (sums_ == nullptr) sums_ = std::make_unique<Sums>();
  n_ = op.form.n;
  for (uint32_t thread = 0; thread < warpgroup_size; ++thread) d_[thread] = static_cast<float*>(memory.d[thread]);
  if (op.accumulate)
    for_each_pair(n_, d_, sums_->d, d_pitch,
                  [](const float* held, uint32_t* row) { std::memcpy(row, held, 2 * sizeof(float)); });
  accumulate_ = op.accumulate;
}

void WgmmaSum::add(const WgmmaOperation& op, const std::byte* shared, PackedB& last) {
  if (!op.accumulate) {  // what was is overwritten
    k_ = 0;
    accumulate_ = false;
  }
  if (k_ + op.k > Panels::k_capacity) multiply();
  const bool same = last.panels != nullptr && last.descriptor == op.b && last.form == op.form && last.k == k_;
  if (k_ != 0 && (same ? b_ != last.panels : !own_b_)) multiply();
  if (k_ == 0) {
    if (a_ == nullptr) a_ = take_panels();
    own_b_ = !(same && last.k == 0);
    b_ = own_b_ ? take_panels() : last.panels;
  }
  pack_panels(left(op), shared, a_->at(k_), Panels::stride);
  if (b_ != last.panels || last.k != k_ || !same) {
    pack_panels(right(op), shared, b_->at(k_), Panels::stride);
    last = {op.b, op.form, k_, b_};
  }
  k_ += op.k;
  if (k_ == Panels::k_capacity) multiply();  // while all of it is in the caches
}

void WgmmaSum::multiply() {
  if (k_ == 0) return;
  multiply_panels({.a = a_->at(0),
                   .a_stride = Panels::stride,
                   .b = b_->at(0),
                   .b_stride = Panels::stride,
                   .d = sums_->d,
                   .d_pitch = d_pitch,
                   .rows = wgmma_rows,
                   .n = n_,
                   .k_extent = k_,
                   .accumulate = accumulate_});
  k_ = 0;
  accumulate_ = true;
  a_.reset();
  b_.reset();
}

void WgmmaSum::settle() {
  if (empty()) return;
  multiply();
  for_each_pair(n_, d_, sums_->d, d_pitch,
                [](float* held, const uint32_t* row) { std::memcpy(held, row, 2 * sizeof(float)); });
  n_ = 0;
}

}  // namespace warploom::loom
