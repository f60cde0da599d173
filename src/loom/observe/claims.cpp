// Claims of the structure layer about its own use (arch/claims.hpp): each that does not hold is a finding with a name.
#include "loom/observe/claims.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

void check_accumulator(const Warp& warp, uint32_t lanes, Pc pc, const char* operation, uint32_t column,
                       uint32_t columns) {
  Cluster& cluster = *warp.cluster;
  for (const Accumulator& accumulator : warp.cta->accumulators) {
    if (column >= accumulator.column + accumulator.columns || accumulator.column >= column + columns) continue;
    uint32_t holding = 0;
    for (const auto& side : accumulator.holders)
      if (const auto held = side.find(warp.index); held != side.end()) holding |= held->second;
    if ((holding & lanes) == lanes) continue;
    cluster.fail(
        *cluster.running(), pc, "TMEM-NOT-HELD",
        fmt::format("{} touches accumulator {}[{}], which this {} does not hold: it was not acquired, or it has been "
                    "given back",
                    operation, accumulator.ring, accumulator.stage, lanes == 0xffffffffu ? "warp" : "thread"));
  }
}

void forget_accumulators(Cta& cta, uint32_t base, uint32_t columns) {
  std::erase_if(cta.accumulators, [&](const Accumulator& accumulator) {
    return accumulator.column >= base && accumulator.column < base + columns;
  });
}

namespace native {

using namespace front;

void stage_misuse(const char* ring, uint8_t what) noexcept {
  static constexpr struct {
    const char* code;
    const char* sentence;
  } misuses[] = {
      {"STAGE-DROPPED", "a stage of {} was dropped without release()"},
      {"STAGE-RELEASED-TWICE", "a stage of {} is released a second time"},
      {"STAGE-AFTER-RELEASE", "a stage of {} is used after it was released or moved from"},
      {"STAGE-AFTER-SETTLE", "a stage of {} is used after its slot was given back early"},
  };
  Thread& self = thread();
  self.cluster->fail(self, WARPLOOM_PLACE(stage_misuse), misuses[what].code,
                     fmt::format(fmt::runtime(misuses[what].sentence), ring));
}

void wrong_argument(const char* ring, const char* what, uint32_t given, uint32_t derived) noexcept {
  Thread& self = thread();
  self.cluster->fail(self, WARPLOOM_PLACE(wrong_argument), "RING-ARGUMENT",
                     fmt::format("{} is given {} as its {}; its policies say {}", ring, given, what, derived),
                     {"leave the argument out, or change the policies in the ring's type"});
}

void claim_published(uint32_t named_barrier) noexcept {
  Thread& self = thread();
  if ((self.warp->named_passed >> named_barrier & 1) == 0)
    self.cluster->fail(self, WARPLOOM_PLACE(claim_published), "TMEM-UNPUBLISHED",
                       fmt::format("the tensor-memory address is read before this warp has waited at named barrier {}, "
                                   "which publishes it",
                                   named_barrier),
                       {"call Sync::wait() of the context type first"});
}

void claim_accumulators(const char* ring, uint32_t base, uint32_t stages, uint32_t columns) noexcept {
  auto& known = thread().cta->accumulators;
  for (uint32_t stage = 0; stage < stages; ++stage) {
    const uint32_t column = (base & 0xffff) + stage * columns;
    const bool there =
        std::any_of(known.begin(), known.end(), [&](const Accumulator& a) { return a.column == column; });
    if (!there) known.push_back({.ring = ring, .stage = stage, .column = column, .columns = columns, .holders = {}});
  }
}

void hold_accumulator(uint32_t address, uint8_t side, bool hold) noexcept {
  Thread& self = thread();
  for (Accumulator& accumulator : self.cta->accumulators) {
    if (accumulator.column != (address & 0xffff)) continue;
    uint32_t& lanes = accumulator.holders[side][self.id.warp];
    if (hold)
      lanes |= 1u << self.id.lane;
    else
      lanes &= ~(1u << self.id.lane);
  }
}

}  // namespace native
}  // namespace warploom::loom
