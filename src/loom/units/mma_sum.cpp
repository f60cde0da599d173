#include "loom/units/mma_sum.hpp"

#include "loom/units/tensor_core_product.hpp"

namespace warploom::loom {
namespace {

constexpr uint32_t tmem_columns = 512;

uint32_t ctas_of(int cta_group) { return cta_group == 2 ? 2 : 1; }

/// A CTA's share of the rows of A and of the columns of D.
Operand left(const MmaOperation& op) { return plain_operand(op, false); }
Operand right(const MmaOperation& op) { return plain_operand(op, true); }

size_t panels_in(uint32_t rows) { return (rows + panel_rows - 1) / panel_rows; }

}  // namespace

bool MmaSum::takes(const MmaOperation& op) {
  return plain_product(op) && op.negate_a == op.negate_b && packs(left(op)) && packs(right(op));
}

bool MmaSum::continues(const MmaOperation& op, const MmaMemory* memory) const {
  return !empty() && cta_group_ == op.cta_group && m_ == op.m && n_ == op.n && d_ == op.d &&
         tmem_[0] == memory[0].tmem && tmem_[1] == memory[1].tmem;
}

bool MmaSum::overlaps(const MmaOperation& op, const MmaMemory* memory) const {
  const uint32_t begin = op.d & 0xffff, end = begin + accumulator_columns(op.cta_group, op.m, op.n);
  const uint32_t own = d_ & 0xffff, own_end = own + accumulator_columns(cta_group_, m_, n_);
  if (begin >= own_end || own >= end) return false;
  return touches(memory[0].tmem) || (op.cta_group == 2 && touches(memory[1].tmem));
}

void MmaSum::add(const MmaOperation& op, const MmaMemory* memory) {
  const Operand a = left(op), b = right(op);
  if (k_ + op.k > Panels::k_capacity) settle();
  if (!op.accumulate) k_ = 0;  // what was is overwritten
  if (empty()) {
    cta_group_ = op.cta_group;
    m_ = op.m;
    n_ = op.n;
    d_ = op.d;
    accumulate_ = op.accumulate;
    for (uint32_t cta = 0; cta < 2; ++cta) tmem_[cta] = memory[cta].tmem;
  }
  if (a_ == nullptr) {
    a_ = take_panels();
    b_ = take_panels();
  }
  for (uint32_t cta = 0; cta < ctas_of(op.cta_group); ++cta) {
    constexpr size_t stride = Panels::stride;
    pack_panels(a, memory[cta].shared, a_->at(k_) + cta * panels_in(a.rows) * stride, stride);
    pack_panels(b, memory[cta].shared, b_->at(k_) + cta * panels_in(b.rows) * stride, stride);
  }
  k_ += op.k;
  if (k_ == Panels::k_capacity) settle();  // while all of it is in the caches
}

void MmaSum::settle() {
  if (empty()) return;
  constexpr size_t stride = Panels::stride;
  const uint32_t ctas = ctas_of(cta_group_), rows = m_ / ctas, columns = n_ / ctas;
  // Layout F spreads every 16 rows over another quarter of the lanes; elsewhere a CTA's rows are consecutive lanes.
  const uint32_t step = cta_group_ == 1 && m_ == 64 ? 16 : rows;
  // Every CTA has its rows of D, and uses the columns of B that both of them hold.
  for (uint32_t cta = 0; cta < ctas; ++cta)
    for (uint32_t share = 0; share < ctas; ++share)
      for (uint32_t row = 0; row < rows; row += step) {
        const TmemCell cell = accumulator_cell(cta_group_, m_, n_, cta * rows + row, share * columns);
        const size_t lane = (d_ >> 16) + cell.lane;
        multiply_panels({.a = a_->at(0) + (cta * panels_in(rows) + row / panel_rows) * stride,
                         .a_stride = stride,
                         .b = b_->at(0) + share * panels_in(columns) * stride,
                         .b_stride = stride,
                         .d = tmem_[cta] + lane * tmem_columns + (d_ & 0xffff) + cell.column,
                         .d_pitch = tmem_columns,
                         .rows = step,
                         .n = columns,
                         .k_extent = k_,
                         .accumulate = accumulate_});
      }
  k_ = 0;
  a_.reset();
  b_.reset();
}

}  // namespace warploom::loom
