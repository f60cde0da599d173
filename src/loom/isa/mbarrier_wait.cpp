// mbarrier.try_wait: waits for a phase, and the quick ways of a warp through them.
#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/front/deferred.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
/// A wait knows no more than a parity.
void check_phase(Thread& thread, Pc pc, const Barrier& barrier, uint32_t phases) {
  Cluster& cluster = *thread.cluster;
  if (barrier.state.phase == phases) return;
  cluster.fail(thread, pc, "PHASE",
               fmt::format("a wait for {} of {} passed on its parity, but {} phases are complete: {}",
                           phase_text(phases), barrier.name(), barrier.state.phase,
                           barrier.state.phase > phases ? "the waiter fell behind or counts its phases wrong"
                                                        : "that phase has not begun"),
               signalled_by(barrier));
}

/// A warp is on one side of a ring.
void check_side(Thread& thread, Pc pc, const Barrier& barrier) {
  Cluster& cluster = *thread.cluster;
  if (barrier.ring == nullptr || barrier.side == 2) return;
  auto& sides = thread.warp->sides;
  // A ring is known by its first full barrier: several may have one name. Its empty barriers follow the full ones.
  const uint32_t ring = barrier.offset - (barrier.stage + (barrier.side == 1 ? barrier.stages : 0)) * 8;
  auto bound = std::find_if(sides.begin(), sides.end(), [&](const auto& side) { return side.first == ring; });
  if (bound == sides.end()) {
    sides.emplace_back(ring, barrier.side);
  } else if (bound->second != barrier.side) {
    cluster.fail(thread, pc, "RING-SIDE",
                 fmt::format("warp {} waits on {} but has so far been ring {}'s {}", thread.id.warp, barrier.name(),
                             barrier.ring, bound->second == 0 ? "consumer" : "producer"));
  }
}

Barrier* waited_for(Thread& thread, Pc pc, uint32_t address, uint32_t& parity) {
  Cluster& cluster = *thread.cluster;
  Barrier* barrier = &barrier_at(thread, pc, address, true);
  const Mutated mutated = mutate(cluster, "mbarrier.wait", pc, barrier);
  if (mutated.times == 0) return nullptr;
  if (mutated.wrong_stage) barrier = &barrier_at(thread, pc, (address & ~offset_mask) | next_stage(*barrier), true);
  parity ^= static_cast<uint32_t>(mutated.flip_parity);
  check_side(thread, pc, *barrier);
  return barrier;
}

void park_at(Thread& thread, Pc pc, Barrier& barrier, uint64_t phases, uint32_t parity) {
  Cluster& cluster = *thread.cluster;
  thread.wait = {.kind = WaitKind::mbarrier, .pc = pc, .barrier = &barrier, .phases = phases, .parity = parity};
  barrier.waiters.push_back(&thread);
  cluster.park(thread);
}

void wait_is_over(Thread& thread, Pc pc, uint32_t address, Barrier& barrier, uint32_t phases, bool cluster_scope,
                  uint64_t since) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  thread.time = std::max(thread.time, barrier.state.phase == 0 ? 0 : barrier.completed_at);
  if (watch) watch->passed(thread, pc, barrier, phases, cluster_scope);
  if (cluster.mode.plain && !watch && phases != 0) {  // the checker hears of every wait
    native::KnownBarrier& known = native::script.known_barrier(address);
    if (known.address != address) known = {address, 0, &barrier.state.phase, &barrier.completed_at, &barrier};
    known.warps |= native::script.warp_bit;
  }
  if (cluster.recording() && thread.id.lane == 0 && thread.time > since)
    record(EventKind::wait, *thread.cta, thread.id.warp, since, thread.time, static_cast<int64_t>(phases),
           barrier.name());
}

void mbarrier_wait(Thread& thread, Pc pc, uint32_t address, uint32_t phases, bool cluster_scope) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  // Who waits shows nothing of itself: no need to catch up.
  if (cluster.mode.runs_ahead && !watch)
    cluster.count_step(thread, pc);
  else
    cluster.step(thread, pc);
  uint32_t parity = parity_of(phases);
  Barrier* const barrier = waited_for(thread, pc, address, parity);
  if (barrier == nullptr) return;
  const uint64_t before = thread.time;
  while (!barrier->state.parity_passed(parity)) park_at(thread, pc, *barrier, phases, parity);
  check_phase(thread, pc, *barrier, phases);
  wait_is_over(thread, pc, address, *barrier, phases, cluster_scope, before);
}

}  // namespace isa

namespace native {

using namespace front;

namespace {

[[gnu::noinline]] void first_wait(Pc pc, uint32_t barrier, uint32_t phases) {
  Thread& self = thread();
  isa::mbarrier_wait(self, pc, barrier, phases);
}

}  // namespace

void mbarrier_wait(uint32_t barrier, uint32_t phases) noexcept try {
  // Other lanes of a warp find what the first has found.
  Script& s = script;
  const KnownBarrier& known = s.known_barrier(barrier);
  if (known.address != barrier || (known.warps & s.warp_bit) == 0 || (s.next != s.list && !s.runs_ahead)) [[unlikely]]
    return first_wait(WARPLOOM_PLACE(mbarrier_wait), barrier, phases);
  if (*known.phase != phases) {
    if (!s.runs_ahead || *known.phase + 1 != phases) return first_wait(WARPLOOM_PLACE(mbarrier_wait), barrier, phases);
    // Here and not a few calls further down: the fewer frames a parked thread has, the less comes back with it.
    Thread& self = thread();
    auto* object = static_cast<Barrier*>(known.barrier);
    if (!self.warp->cluster->wait_at_gate(self, WARPLOOM_PLACE(mbarrier_wait), *object, phases) ||
        object->state.phase != phases || !object->live) [[unlikely]]
      return first_wait(WARPLOOM_PLACE(mbarrier_wait), barrier, phases);
  } else {
    s.thread->time = std::max(s.thread->time, *known.time);
  }
  s.thread->time += step_cost;
  s.beats->store(s.beats->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
} catch (...) {
  break_off();
}

void post_phase_wait(uint32_t barrier, uint32_t phases) noexcept try {
  Thread& self = thread();
  Cluster& cluster = *self.warp->cluster;
  // Where others wait in a meeting that should come next, something is wrong that is found in the usual way.
  if (!cluster.runs_ahead() || (self.warp->whole.meets && posted_for(self) == nullptr))
    return first_wait(WARPLOOM_PLACE(post_phase_wait), barrier, phases);
  post_phase_wait(self, WARPLOOM_PLACE(post_phase_wait), barrier, phases);
} catch (...) {
  break_off();
}

void mbarrier_wait_cluster(uint32_t barrier, uint32_t phases) noexcept try {
  isa::mbarrier_wait(thread(), WARPLOOM_PLACE(mbarrier_wait_cluster), barrier, phases, true);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
