// Operand tiles of a ring's slots, as wgmma is told of them: encoded once, before the loop, so that a loop body adds a
// number to a uniform register instead of building descriptors anew.
//
//   const SlotOperand a(input, input.a(0));    // every thread of a math group
//   const SlotOperand b(input, input.b(0));
//   for (auto in : sum.over<Math>(input, k_blocks)) sum.mma(a.of(in), b.of(in));
#pragma once

#include "warploom/arch/warp.hpp"
#include "warploom/warp/wgmma.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// The tiles at the same place of every slot.
template <class Tile, uint32_t slot_bytes>
class SlotOperand {
 public:
  template <class Input>
  WARPLOOM_FN SlotOperand(const Input&, const Tile& in_first_slot) noexcept : first_(in_first_slot) {
    uint64_t& bits = first_.descriptor.bits;
    bits = bits >> 32 << 32 | arch::uniform(static_cast<uint32_t>(bits));
  }
  /// Of one slot, or as many rows further on there, in steps of 64.
  WARPLOOM_FN Operand<Tile> in(uint32_t slot, uint32_t rows = 0) const noexcept {
    Operand<Tile> there = first_;
    there.descriptor = first_.descriptor.advance(slot * slot_bytes + rows / 64 * Tile::block_step);
    return there;
  }
  template <class Stage>
  WARPLOOM_FN Operand<Tile> of(const Stage& stage) const noexcept {
    return in(stage.stage());
  }

 private:
  Operand<Tile> first_;
};
template <class Input, class Tile>
SlotOperand(const Input&, const Tile&) -> SlotOperand<Tile, sizeof(typename Input::Payload::Slot)>;

}  // namespace warploom::inline WARPLOOM_MACHINE
