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

const std::shared_ptr<Panels>& PackedB::find(const WgmmaOperation& op, uint32_t k) const {
  static const std::shared_ptr<Panels> none;
  for (const Set& set : sets_) {
    if (set.panels == nullptr) continue;
    for (uint32_t i = 0; i < set.count; ++i)
      if (set.parts[i].is(op, k)) return set.panels;
  }
  return none;
}

void PackedB::add(const std::shared_ptr<Panels>& panels, const WgmmaOperation& op, uint32_t k) {
  if (sets_[0].panels != panels) {
    std::swap(sets_[0], sets_[1]);
    if (sets_[0].panels != panels) {
      sets_[0].panels = panels;
      sets_[0].count = 0;
    }
  }
  sets_[0].parts[sets_[0].count++] = {op.b, op.form, k};
}

void WgmmaSum::add(const WgmmaOperation& op, const std::byte* shared, PackedB& packed) {
  if (!op.accumulate) {  // what was is overwritten
    first_k_ = k_ = 0;
    accumulate_ = false;
  }
  if (k_ + op.k > Panels::k_capacity) {
    multiply();
    first_k_ = k_ = 0;
  }
  const bool packs_b = own_b_ && k_ != first_k_;
  if (!packs_b) {
    const std::shared_ptr<Panels>& theirs = packed.find(op, k_);
    if (k_ != first_k_ && theirs != b_) multiply();
    if (k_ == first_k_) {
      if (a_ == nullptr) a_ = take_panels();
      own_b_ = theirs == nullptr;
      b_ = own_b_ ? take_panels() : theirs;
    }
  }
  pack_panels(left(op), shared, a_->at(k_), Panels::stride);
  if (own_b_) {
    pack_panels(right(op), shared, b_->at(k_), Panels::stride);
    packed.add(b_, op, k_);
  }
  k_ += op.k;
  if (k_ != Panels::k_capacity) return;
  multiply();  // while all of it is in the caches
  first_k_ = k_ = 0;
}

/// The next instruction goes on at the same place in the panels.
void WgmmaSum::multiply() {
  if (k_ == first_k_) return;
  multiply_panels({.a = a_->at(first_k_),
                   .a_stride = Panels::stride,
                   .b = b_->at(first_k_),
                   .b_stride = Panels::stride,
                   .d = sums_->d,
                   .d_pitch = d_pitch,
                   .rows = wgmma_rows,
                   .n = n_,
                   .k_extent = k_ - first_k_,
                   .accumulate = accumulate_});
  first_k_ = k_;
  accumulate_ = true;
  a_.reset();
  b_.reset();
}

void WgmmaSum::settle() {
  if (empty()) return;
  multiply();
  first_k_ = k_ = 0;
  for_each_pair(n_, d_, sums_->d, d_pitch,
                [](float* held, const uint32_t* row) { std::memcpy(held, row, 2 * sizeof(float)); });
  n_ = 0;
}

}  // namespace warploom::loom
