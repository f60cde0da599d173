// The mbarrier's state and transitions, and nothing else (hardware.md §1.1-1.3). Who waits and who arrived is the
// machine's business.
#pragma once

#include <cstdint>

namespace warploom::loom {

/// What the chip answers with a fault, or cannot mean.
enum class MbarrierFault : uint8_t {
  none,
  count_range,      ///< init count, or arrive count, outside 1..2^20-1
  arrive_overflow,  ///< more arrivals than the phase still expects
  tx_underflow,     ///< complete_tx took the byte count below -(2^20-1)
  tx_overflow,      ///< expect_tx took it above 2^20-1 (the H200 does not diagnose this; we do)
  drop_range,       ///< arrive_drop of more than the expected count
};

struct MbarrierState {
  uint64_t phase = 0;     ///< completed phases
  uint32_t pending = 0;   ///< arrivals still missing in the current phase
  uint32_t expected = 0;  ///< what pending is reloaded with
  int64_t tx = 0;         ///< bytes expected minus bytes completed
  uint32_t raised = 0;    ///< increments of pending in the current phase

  MbarrierFault init(uint32_t count);
  MbarrierFault arrive(uint32_t count);
  MbarrierFault expect_tx(uint32_t bytes);
  MbarrierFault arrive_expect_tx(uint32_t bytes);
  MbarrierFault complete_tx(uint32_t bytes);
  MbarrierFault arrive_drop(uint32_t count);
  MbarrierFault arrive_drop_expect_tx(uint32_t bytes);
  /// The pending increment of cp.async.mbarrier.arrive without .noinc
  MbarrierFault increment_pending();

  /// Of the current phase. cp.async.mbarrier.arrive may have raised pending above expected.
  uint32_t arrived() const { return pending > expected ? 0 : expected - pending; }

  bool parity_passed(uint32_t parity) const { return (phase & 1) != parity; }

 private:
  void try_complete();
};

}  // namespace warploom::loom
