// A chain of wgmmas on one accumulator in `fast` numerics. Each instruction reads its operands when it executes; the
// products are added up many instructions at a time, and the threads' registers, which nobody may look at before a
// wait, get the sums when one asks for them. The sums are those of execute_wgmma, bit for bit: one fused multiply-add
// per k in ascending k.
//
//   PackedB last;
//   if (WgmmaSum::takes(op)) sum.begin(op, memory);        // the registers of the first
//   sum.add(op, shared, last);                             // each instruction, the first too
//   sum.settle();                                          // the registers hold the sums; the chain is over
#pragma once

#include <memory>

#include "loom/units/panel_buffer.hpp"
#include "loom/units/wgmma.hpp"

namespace warploom::loom {

/// The B of the instruction before, for one that has the same: several blocks of rows are multiplied by one B. To be
/// forgotten before anybody can have changed shared memory.
struct PackedB {
  SmemDescriptorFields descriptor;
  native::WgmmaForm form;
  uint32_t k = 0;  ///< where in `panels` it begins
  std::shared_ptr<Panels> panels;
};

class WgmmaSum {
 public:
  /// Whether instructions of this form can be chained: both operands in shared memory, 16- or 8-bit floats, f32 sums.
  static bool takes(const WgmmaOperation& op);

  bool empty() const { return n_ == 0; }
  /// Whether the instruction can be one of the chain, if it is on its registers.
  bool continues(const WgmmaOperation& op) const { return n_ == op.form.n; }
  bool overlaps(const WgmmaMemory& memory) const;
  bool holds(uint32_t thread, const void* d) const { return !empty() && d_[thread] == d; }

  void begin(const WgmmaOperation& op, const WgmmaMemory& memory);
  void add(const WgmmaOperation& op, const std::byte* shared, PackedB& last);
  void settle();

 private:
  void multiply();

  static constexpr size_t d_pitch = 256 + 16;
  struct Sums {
    alignas(64) uint32_t d[wgmma_rows * d_pitch];
  };

  std::shared_ptr<Panels> a_, b_;
  bool own_b_ = false;  ///< nobody else packs into it
  std::unique_ptr<Sums> sums_;
  float* d_[warpgroup_size] = {};
  uint32_t n_ = 0;           ///< 0: no chain
  uint32_t k_ = 0;           ///< packed and not multiplied
  bool accumulate_ = false;  ///< the next multiplication adds to the sums
};

}  // namespace warploom::loom
