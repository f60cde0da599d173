// A chain of tcgen05.mma on one accumulator in `fast` numerics. Each instruction reads its operands when it executes;
// the products are added to tensor memory several instructions at a time, at the latest when somebody looks there. The
// sums are those of execute_mma, bit for bit: one fused multiply-add per k in ascending k.
//
//   if (MmaSum::takes(op)) sum.add(op, memory);     // for each instruction
//   sum.settle();                                   // tensor memory holds the sums
#pragma once

#include "loom/units/panel_buffer.hpp"
#include "loom/units/tensor_core.hpp"

namespace warploom::loom {

class MmaSum {
 public:
  /// Whether instructions of this form can be chained: both operands in shared memory, 16- or 8-bit floats, f32 sums.
  static bool takes(const MmaOperation& op);

  bool empty() const { return k_ == 0; }  ///< nothing is left to add
  /// Whether the chain is on this accumulator, all of it.
  bool continues(const MmaOperation& op, const MmaMemory* memory) const;
  bool overlaps(const MmaOperation& op, const MmaMemory* memory) const;
  bool touches(const uint32_t* tmem) const { return !empty() && (tmem_[0] == tmem || tmem_[1] == tmem); }

  void add(const MmaOperation& op, const MmaMemory* memory);
  void settle();

 private:
  std::shared_ptr<Panels> a_, b_;
  uint32_t* tmem_[2] = {};
  int cta_group_ = 1;
  uint32_t m_ = 0, n_ = 0, d_ = 0;
  uint32_t k_ = 0;  ///< packed and not multiplied
  bool accumulate_ = false;
};

}  // namespace warploom::loom
