#include "mbarrier.hpp"

namespace warploom::loom {

namespace {
constexpr int64_t limit = (1 << 20) - 1;  // counts and |tx| are 20-bit (§1.1)

bool legal_count(uint32_t count) { return count >= 1 && count <= limit; }
}  // namespace

// A faulting operation leaves the state as it was, so that a report shows what the thread found.

MbarrierFault MbarrierState::init(uint32_t count) {
  if (!legal_count(count)) return MbarrierFault::count_range;
  *this = {};
  pending = expected = count;
  return MbarrierFault::none;
}

MbarrierFault MbarrierState::arrive(uint32_t count) {
  if (!legal_count(count)) return MbarrierFault::count_range;
  if (count > pending) return MbarrierFault::arrive_overflow;
  pending -= count;
  try_complete();
  return MbarrierFault::none;
}

MbarrierFault MbarrierState::expect_tx(uint32_t bytes) {
  if (tx + bytes > limit) return MbarrierFault::tx_overflow;
  tx += bytes;
  try_complete();
  return MbarrierFault::none;
}

// One step as others see it: the expect alone must not complete the phase, the arrive may.
MbarrierFault MbarrierState::arrive_expect_tx(uint32_t bytes) {
  if (tx + bytes > limit) return MbarrierFault::tx_overflow;
  if (pending < 1) return MbarrierFault::arrive_overflow;
  tx += bytes;
  return arrive(1);
}

MbarrierFault MbarrierState::complete_tx(uint32_t bytes) {
  if (tx - bytes < -limit) return MbarrierFault::tx_underflow;
  tx -= bytes;
  try_complete();
  return MbarrierFault::none;
}

MbarrierFault MbarrierState::arrive_drop(uint32_t count) {
  if (!legal_count(count)) return MbarrierFault::count_range;
  if (count > expected) return MbarrierFault::drop_range;
  if (count > pending) return MbarrierFault::arrive_overflow;
  expected -= count;  // before the arrive: it may complete the phase and reload pending
  return arrive(count);
}

MbarrierFault MbarrierState::arrive_drop_expect_tx(uint32_t bytes) {
  if (tx + bytes > limit) return MbarrierFault::tx_overflow;
  if (expected < 1) return MbarrierFault::drop_range;
  if (pending < 1) return MbarrierFault::arrive_overflow;
  tx += bytes;
  return arrive_drop(1);
}

// By what the count may come to in any order of the phase's signals, so that the order makes no difference.
MbarrierFault MbarrierState::increment_pending() {
  if (int64_t{expected} + raised + 1 > limit) return MbarrierFault::count_range;
  ++raised;
  ++pending;
  return MbarrierFault::none;
}

void MbarrierState::try_complete() {
  if (pending != 0 || tx != 0) return;
  ++phase;
  pending = expected;
  raised = 0;
}

}  // namespace warploom::loom
