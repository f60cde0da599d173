// wgmma from its start to the wait that covers it: it reads shared memory and registers when the schedule has it
// complete, and its registers are ordinary again after wgmma.wait_group.
#include <algorithm>
#include <memory>
#include <optional>

#include "loom/exec/async_queue.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/costs.hpp"
#include "loom/front/deferred.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/wgmma.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
namespace {

using Flight = native::WgmmaRegisters::Flight;

/// Reads the operands and sees to it that the registers have the result when a wait lets somebody look at them.
void multiply_wgmma(const WgmmaInstruction& op) {
  Cluster& cluster = *op.first->cluster;
  Warpgroup& group = cluster.warpgroup(*op.first);
  PackedB& packed = op.first->cta->packed_b;
  const uint32_t ring = cluster.options().ring;
  const bool chained = cluster.options().numerics == Numerics::fast && WgmmaSum::takes(op.operation) && ring == 0;
  if (chained)
    for (WgmmaChain& chain : group.chains)
      if (chain.sum.continues(op.operation) &&
          std::equal(op.registers, op.registers + warpgroup_warps, chain.registers))
        return chain.sum.add(op.operation, op.shared, packed);
  WgmmaMemory memory{.shared = op.shared, .d = {}, .a = {}};
  for (uint32_t warp = 0; warp < warpgroup_warps; ++warp) {
    std::copy_n(op.registers[warp]->d, 32, memory.d + 32 * warp);
    if (op.operation.a_in_registers) std::copy_n(op.registers[warp]->a, 32, memory.a + 32 * warp);
  }
  WgmmaChain* free = nullptr;
  for (WgmmaChain& chain : group.chains) {
    if (chain.sum.overlaps(memory)) chain.sum.settle();
    if (chain.sum.empty()) free = &chain;
  }
  if (!chained) {
    execute_wgmma(op.operation, memory, cluster.options().numerics);
    if (ring != 0) keep_in_ring(op.operation, memory, ring);
    return;
  }
  if (free == nullptr) free = &group.chains.emplace_back();
  std::copy_n(op.registers, warpgroup_warps, free->registers);
  free->sum.begin(op.operation, memory);
  free->sum.add(op.operation, op.shared, packed);
}

/// No wgmma on these registers is left, unless lanes have used others of theirs together with one of these.
void release_registers(Warp& warp, const PostedRegisters& registers, bool with_a) {
  Cluster& cluster = *warp.cluster;
  const uint32_t first = 32 * (warp.index % warpgroup_warps);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    native::WgmmaRegisters* d = registers.d_state[lane];
    if (!warp.whole.uses(lane, d)) {
      d->flight = Flight::unnamed;
      for (WgmmaChain& chain : cluster.warpgroup(warp).chains)
        if (chain.sum.holds(first + lane, registers.d[lane])) chain.sum.settle();
    }
    if (!with_a) continue;
    native::WgmmaRegisters* a = registers.a_state[lane];
    if (!warp.whole.uses(lane, a)) a->flight = Flight::none;
  }
}

void complete_wgmma(WgmmaInstruction& op) {
  Cluster& cluster = *op.first->cluster;
  multiply_wgmma(op);
  op.complete = true;
  const uint32_t first = op.first->index / warpgroup_warps * warpgroup_warps;
  for (uint32_t i = 0; i < warpgroup_warps; ++i) {
    Warp& warp = *op.first->cta->warps[first + i];
    if (!warp.wgmma.waiting || !wgmma_covered(warp)) continue;
    warp.wgmma.waiting = false;
    if (warp.whole.held_up) {
      go_on_with_posted(warp);
      continue;
    }
    const uint64_t before = warp.whole.meeting.time, time = std::max(before, release_wgmma(warp));
    cluster.unblock_warp(warp, time);
    if (time > before) record(EventKind::wait, *warp.cta, warp.index, before, time, 0, "wgmma groups");
  }
}

void land_wgmma(AsyncOp& op) {
  op.wgmma->first->cta->packed_b.forget();  // shared memory may have changed since the last one
  complete_wgmma(*op.wgmma);
  op.issuer->cluster->warpgroup(*op.wgmma->first).let_go(*op.wgmma);
}

}  // namespace

void start_wgmma(Warp& warp, WgmmaInstruction& op) {
  Cluster& cluster = *warp.cluster;
  check::Watch* const watch = cluster.watch();
  if (watch) watch->wgmma(warp, op);
  const native::WgmmaForm& form = op.operation.form;
  const uint64_t begin = std::max(op.issued, warp.cta->tensor_free_at);
  const uint64_t rate = cost::wgmma_macs / size_of(form.a_type);
  op.finish = begin + static_cast<uint64_t>(wgmma_rows) * form.n * op.operation.k / rate;
  warp.cta->tensor_free_at = op.finish;
  record(EventKind::mma, *warp.cta, warp.index, begin, op.finish, form.n, "wgmma");
  // What completes at once and waits for nothing needs no record.
  if (cluster.options().schedule.policy == Policy::eager && cluster.pending.empty()) return complete_wgmma(op);
  ++op.holders;
  auto async = std::make_unique<AsyncOp>();
  async->kind = AsyncOp::Kind::wgmma;
  async->land = land_wgmma;
  async->issuer = warp.lanes[0];
  async->pc = op.pc;
  async->issued = op.issued;
  async->wgmma = &op;
  async->finish = op.finish;
  issue(std::move(async));
}

/// Are the groups complete that the warp's wait does not leave pending?
bool wgmma_covered(const Warp& warp) {
  const WgmmaQueue& queue = warp.wgmma;
  for (size_t i = 0; i + queue.pending < queue.groups.size(); ++i)
    for (const auto& op : queue.groups[i])
      if (!op->complete) return false;
  return true;
}

/// The covered groups are history: their registers are ordinary again, from the time the last of them was done, which
/// is returned.
uint64_t release_wgmma(Warp& warp) {
  Cluster& cluster = *warp.cluster;
  check::Watch* const watch = cluster.watch();
  WgmmaQueue& queue = warp.wgmma;
  const uint32_t index = warp.index % warpgroup_warps;
  uint64_t time = 0;
  while (queue.groups.size() > queue.pending) {
    const WgmmaQueue::Group& group = queue.groups.front();
    if (watch && !group.empty()) watch->wgmma_waited(warp, *group.back());
    for (size_t i = 0; i < group.size(); ++i) {
      const WgmmaInstruction& op = *group[i];
      PostedRegisters& registers = *op.registers[index];
      // A chain on the same registers is released at once.
      uint32_t chain = 1;
      while (i + 1 < group.size() && !op.operation.a_in_registers && group[i + 1]->registers[index] == &registers) {
        ++chain;
        ++i;
      }
      time = std::max(time, group[i]->finish);
      registers.uses -= chain;
      if (registers.uses == 0) release_registers(warp, registers, op.operation.a_in_registers);
    }
    for (WgmmaInstruction* op : group) cluster.warpgroup(warp).let_go(*op);
    queue.forget_oldest();
  }
  return time;
}

namespace {

std::optional<uint64_t> wgmma_wait(Warp& warp, Pc pc, uint32_t pending) {
  Cluster& cluster = *warp.cluster;
  const uint64_t before = warp.whole.meeting.time;
  const Mutated mutated = mutate(cluster, "wgmma.wait_group", pc, nullptr);
  if (mutated.times == 0) return before;
  WgmmaQueue& queue = warp.wgmma;
  queue.pending = pending + static_cast<uint32_t>(mutated.count);
  if (wgmma_covered(warp)) {
    const uint64_t time = std::max(before, release_wgmma(warp));
    if (time > before) record(EventKind::wait, *warp.cta, warp.index, before, time, pending, "wgmma groups");
    return time;
  }
  queue.waiting = true;
  cluster.block_warp(*cluster.running(),
                     {.kind = WaitKind::wgmma_group, .pc = pc, .id = pending, .operation = "wgmma.wait_group"});
  return {};
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

namespace {

constexpr char wgmma_wait_text[] = "wgmma.wait_group";

[[gnu::noinline]] void wait_for_groups(Pc pc, uint32_t pending) {
  Thread& self = thread();
  Warp& warp = *self.warp;
  Cluster& cluster = *warp.cluster;
  if (const Posted* posted = posted_for(self); posted != nullptr && posted->kind == PostedKind::wait) {
    post_wgmma_wait(self, pc, pending);
    return catch_up(self);
  }
  const bool last = meet(cluster, self, pc, wgmma_wait_text);
  Collective& meeting = warp.whole.meeting;
  if (meeting.first_lane == self.id.lane)
    meeting.common.a = pending;
  else if (meeting.common.a != pending) [[unlikely]]
    fail_unlike(self, pc);
  if (!last) {
    self.state = Thread::State::meeting;
    return cluster.leave(self);
  }
  warp.whole.meets = false;
  ++warp.whole.over;
  if (check::Watch* watch = cluster.watch()) watch->synchronise(warp, whole_warp);
  if (const std::optional<uint64_t> over = isa::wgmma_wait(warp, pc, pending)) {
    self.time = *over;
    return cluster.start_round(self, *over);
  }
  cluster.leave(self);
}

}  // namespace

void wgmma_wait_group(uint32_t pending) noexcept try {
  Thread& self = thread();
  if (self.warp->whole.meeting.common.a == pending && pass_baton(self, wgmma_wait_text)) return;
  wait_for_groups(WARPLOOM_PLACE(wgmma_wait_group), pending);
} catch (...) {
  break_off();
}

void post_wgmma_wait(uint32_t pending) noexcept try {
  Thread& self = thread();
  Cluster& cluster = *self.warp->cluster;
  if (!cluster.runs_ahead() || self.warp->whole.meets) return wgmma_wait_group(pending);
  post_wgmma_wait(self, WARPLOOM_PLACE(post_wgmma_wait), pending);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
