// A chain of wgmmas on one accumulator in `fast` numerics. Each instruction reads its operands when it executes; the
// products are added up many instructions at a time, and the threads' registers, which nobody may look at before a
// wait, get the sums when one asks for them. The sums are those of execute_wgmma, bit for bit: one fused multiply-add
// per k in ascending k.
//
//   PackedB packed;
//   if (WgmmaSum::takes(op)) sum.begin(op, memory);        // the registers of the first
//   sum.add(op, shared, packed);                           // each instruction, the first too
//   sum.settle();                                          // the registers hold the sums; the chain is over
#pragma once

#include <memory>

#include "loom/units/panel_buffer.hpp"
#include "loom/units/wgmma.hpp"

namespace warploom::loom {

/// What was packed of the Bs of a CTA's instructions, for others that have the same: several blocks of rows, of one
/// warpgroup or of several, are multiplied by one B. To be forgotten before anybody can have changed shared memory.
class PackedB {
 public:
  /// The panels that have the instruction's B at k; null: there are none.
  const std::shared_ptr<Panels>& find(const WgmmaOperation& op, uint32_t k) const;
  /// The instruction's B has been packed there.
  void add(const std::shared_ptr<Panels>& panels, const WgmmaOperation& op, uint32_t k);
  void forget() {
    for (Set& set : sets_) set.panels.reset();
  }

 private:
  struct Part {
    SmemDescriptorFields descriptor;
    native::WgmmaForm form;
    uint32_t k = 0;
    bool is(const WgmmaOperation& op, uint32_t at) const { return k == at && descriptor == op.b && form == op.form; }
  };
  struct Set {
    std::shared_ptr<Panels> panels;  ///< null: the set is empty
    uint32_t count = 0;
    Part parts[Panels::k_capacity / 16];
  };
  Set sets_[2];  ///< the one that was begun last comes first
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
  void add(const WgmmaOperation& op, const std::byte* shared, PackedB& packed);
  void settle();

 private:
  void multiply();

  static constexpr size_t d_pitch = 256 + 16;
  struct Sums {
    alignas(64) uint32_t d[wgmma_rows * d_pitch];
  };

  std::shared_ptr<Panels> a_, b_;
  bool own_b_ = false;  ///< b_ is packed here, and nowhere else
  std::unique_ptr<Sums> sums_;
  float* d_[warpgroup_size] = {};
  uint32_t n_ = 0;  ///< 0: no chain
  // What is packed and not multiplied: from where in the panels, to where. Instructions that others share a B with keep
  // their place in the panels also when some before them were multiplied earlier.
  uint32_t first_k_ = 0, k_ = 0;
  bool accumulate_ = false;  ///< the next multiplication adds to the sums
};

}  // namespace warploom::loom
