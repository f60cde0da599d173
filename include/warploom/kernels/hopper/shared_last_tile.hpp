// The last tile of a CTA in a ping-pong kernel: no other tile's products hide its epilogue, and the group whose turn it
// is not has nothing to do. So it gets half of the accumulator, the second of two blocks of 64 rows, through slots of
// the input ring that have been read for the last time, and both groups write 64 rows.
//
//   SharedLastTile<Accumulator>::give(sum, input, group);   // who has multiplied: every thread of the group, then
//   writes SharedLastTile<Accumulator>::take(sum, input);          // who helps: the sums are block 0 of its own
//   accumulator
#pragma once

#include "warploom/arch/math.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/shared.hpp"
#include "warploom/pipeline/tile.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

template <class Accumulator>
struct SharedLastTile {
  static constexpr int given_rows = 64;
  static constexpr int slots = 2;  ///< of the ring, the tile's last

  template <class Input>
  static WARPLOOM_FN void give(const Accumulator& sum, const Input& input, uint32_t group) noexcept {
    arch::bar_sync(first_barrier + group, 128);  // every warp's products are complete: the slots have been read
    each(input, [&](Unit* place, int i) WARPLOOM_LAMBDA {
      Unit unit;
      WARPLOOM_UNROLL
      for (int j = 0; j < 4; ++j) unit.words[j] = arch::as_bits(sum.value(1, i + j));
      arch::store_shared(place, unit);
    });
    arch::bar_arrive(barrier, 256);
  }
  /// With the ring's consumer behind the tile, as it is where the tile was multiplied.
  template <class Input>
  static WARPLOOM_FN void take(Accumulator& sum, const Input& input) noexcept {
    arch::bar_sync(barrier, 256);
    each(input, [&](const Unit* place, int i) WARPLOOM_LAMBDA {
      const Unit unit = arch::load_shared(place);
      WARPLOOM_UNROLL
      for (int j = 0; j < 4; ++j) sum.set(0, i + j, arch::as_float(unit.words[j]));
    });
  }

 private:
  static constexpr uint32_t first_barrier = 2, barrier = 4;  ///< of the two groups, and of both
  static constexpr int values = Accumulator::values_per_block;

  template <class Input, class F>
  static WARPLOOM_FN void each(const Input& input, F&& f) noexcept {
    static_assert(Accumulator::blocks == 2 && values % (4 * slots) == 0 && slots <= Input::num_stages &&
                      values / slots * 128 * sizeof(float) <= sizeof(typename Input::Payload::Slot),
                  "warploom: half of a tile is handed over, in two slots");
    const uint32_t next = input.consumer_stage(), thread = arch::thread_index() % 128;
    WARPLOOM_UNROLL
    for (uint32_t slot = 0; slot < slots; ++slot) {
      const uint32_t stage = next > slot ? next - 1 - slot : next + Input::num_stages - 1 - slot;
      Unit* const first = reinterpret_cast<Unit*>(&input.slot(stage)) + thread;
      WARPLOOM_UNROLL
      for (int i = 0; i < values / slots; i += 4) f(first + 128 * (i / 4), i + static_cast<int>(slot) * values / slots);
    }
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
