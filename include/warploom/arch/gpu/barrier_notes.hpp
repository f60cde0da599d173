// What an instrumented build keeps beside each mbarrier: its name, its count, and what threads have brought.
//
// The hardware's word cannot be read, so arrivals are counted a second time. Only threads' arrivals can be: bytes that
// TMA brings and arrivals of tcgen05.commit come from the hardware itself. Which of them belong to the phase under way
// follows from the last wait that passed: whoever waits for a phase comes back before the next one can begin.
#pragma once

#include "warploom/arch/gpu/device_text.hpp"
#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch::detail {

struct BarrierNotes {
  const DeviceText* ring;  ///< null: nobody named it
  const DeviceText* signalled_by;
  uint32_t expected;
  uint32_t arrived;         ///< by threads, since init
  uint64_t seen;            ///< phases << 32 | arrived, when a wait last passed
  uint32_t reported_warps;  ///< bit w: warp w has reported that it is stuck here
  uint16_t stage;
  uint8_t side;
  uint8_t unobservable;  ///< gpu::Unobservable
};
constexpr uint32_t notes_offset = 8;  ///< behind the hardware's word

WARPLOOM_FN BarrierNotes& notes_of(SharedAddress barrier) noexcept {
  return *generic_pointer<BarrierNotes>(barrier + notes_offset);
}

WARPLOOM_FN uint64_t global_nanoseconds() noexcept { return ptx::get_sreg_globaltimer(); }

/// Lane 0 speaks for all: it is in every warp that is whole, and elect.sync chooses it. (The lowest lane of those that
/// happen to run together would not do: lane 0 writes its record alone, and the others then have a lowest of their
/// own.)
WARPLOOM_FN bool speaks_for_warp() noexcept { return ptx::get_sreg_laneid() == 0; }

// ---- called by arch/gpu/mbarrier.hpp

WARPLOOM_FN void note_init(SharedAddress barrier, uint32_t count) noexcept {
  BarrierNotes& notes = notes_of(barrier);
  notes = {};
  notes.expected = count;
}

// A trace needs no counts.

/// Before the arrival itself, so that whoever it releases finds it counted.
WARPLOOM_FN void note_arrival(SharedAddress barrier, uint32_t count) noexcept {
  if constexpr (!WARPLOOM_WATCHDOG) return;
  // red.relaxed.cluster.shared::cluster.add.u32 [a], count
  asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(
                   barrier.value + notes_offset + static_cast<uint32_t>(offsetof(BarrierNotes, arrived))),
               "r"(count)
               : "memory");
  if (barrier.value >> shared_rank_shift != ptx::get_sreg_cluster_ctarank()) __threadfence();
}
WARPLOOM_FN void note_drop(SharedAddress barrier, uint32_t count) noexcept {
  if constexpr (!WARPLOOM_WATCHDOG) return;
  note_arrival(barrier, count);
  asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(
                   barrier.value + notes_offset + static_cast<uint32_t>(offsetof(BarrierNotes, expected))),
               "r"(0 - count)
               : "memory");
}
/// After a wait for `phases` phases has passed.
WARPLOOM_FN void note_passed(SharedAddress barrier, uint32_t phases) noexcept {
  if constexpr (!WARPLOOM_WATCHDOG) return;
  volatile BarrierNotes& notes = notes_of(barrier);
  // All who pass write the same; a fresh barrier, which 0 phases pass, has seen nothing.
  if (phases != 0 && static_cast<uint32_t>(notes.seen >> 32) != phases)
    notes.seen = static_cast<uint64_t>(phases) << 32 | notes.arrived;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch::detail
