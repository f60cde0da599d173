// mbarrier waits by parity (warploom/loom/parity.hpp). A wait for parity p passes when the phase under way has the
// other one, so the number of completed phases that it waits for is that of the barrier, or one more. It is read off
// the barrier where the thread waits, never earlier: what a thread has posted may complete phases, and so may others
// where it lets them run.
#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/choices.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/front/deferred.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/operations.hpp"
#include "warploom/loom/parity.hpp"

namespace warploom::loom {

namespace isa {
namespace {

void check_parity(Thread& thread, Pc pc, uint32_t parity) {
  if (parity > 1)
    thread.cluster->fail(thread, pc, "PHASE",
                         fmt::format("a wait for parity {}; phases have the parity 0 or 1, by turns", parity));
}

void mbarrier_wait_parity(Thread& thread, Pc pc, uint32_t address, uint32_t parity, bool cluster_scope) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  check_parity(thread, pc, parity);
  Barrier* const barrier = waited_for(thread, pc, address, parity);
  if (barrier == nullptr) return;
  const MbarrierState& state = barrier->state;
  const uint64_t before = thread.time;
  while (!state.parity_passed(parity)) park_at(thread, pc, *barrier, state.phase + 1, parity);
  wait_is_over(thread, pc, address, *barrier, static_cast<uint32_t>(state.phase), cluster_scope, before);
}

/// A test does not wait, so the barrier may stand anywhere. The phase meant is then the first that the thread does not
/// know to be complete, or the last that it does; only the checker can tell.
bool mbarrier_test_parity(Thread& thread, Pc pc, uint32_t address, uint32_t parity, bool cluster_scope) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  check_parity(thread, pc, parity);
  Barrier& barrier = barrier_at(thread, pc, address, true);
  const uint64_t known = watch ? watch->least_phases(thread, barrier) : barrier.state.phase;
  const auto phases = static_cast<uint32_t>(known + static_cast<uint64_t>((known & 1) == parity));
  const std::optional<Question> question = question_of(thread, pc, address, barrier, phases);
  return question && answer(thread, pc, *question, phases, cluster_scope, false);
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

namespace {

[[gnu::noinline]] void wait_at_barrier(Pc pc, uint32_t barrier, uint32_t parity) {
  Thread& self = thread();
  isa::mbarrier_wait_parity(self, pc, barrier, parity, false);
}

}  // namespace

void mbarrier_wait_parity(uint32_t barrier, uint32_t parity) noexcept try {
  // As native::mbarrier_wait, but not for a lane that has posted something: the phase may follow from that.
  Script& s = script;
  const KnownBarrier& known = s.known_barrier(barrier);
  if (known.address != barrier || (known.warps & s.warp_bit) == 0 || s.next != s.list || parity > 1) [[unlikely]]
    return wait_at_barrier(WARPLOOM_PLACE(mbarrier_wait_parity), barrier, parity);
  if ((*known.phase & 1) == parity) {
    if (!s.runs_ahead) return wait_at_barrier(WARPLOOM_PLACE(mbarrier_wait_parity), barrier, parity);
    Thread& self = thread();
    auto* object = static_cast<Barrier*>(known.barrier);
    const auto phases = static_cast<uint32_t>(*known.phase + 1);
    if (!self.warp->cluster->wait_at_gate(self, WARPLOOM_PLACE(mbarrier_wait_parity), *object, phases) ||
        object->state.phase != phases || !object->live) [[unlikely]]
      return wait_at_barrier(WARPLOOM_PLACE(mbarrier_wait_parity), barrier, parity);
  } else {
    s.thread->time = std::max(s.thread->time, *known.time);
  }
  s.thread->time += step_cost;
  s.beats->store(s.beats->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
} catch (...) {
  break_off();
}

void mbarrier_wait_parity_cluster(uint32_t barrier, uint32_t parity) noexcept try {
  isa::mbarrier_wait_parity(thread(), WARPLOOM_PLACE(mbarrier_wait_parity_cluster), barrier, parity, true);
} catch (...) {
  break_off();
}

bool mbarrier_test_parity(uint32_t barrier, uint32_t parity, bool cluster_scope) noexcept try {
  return isa::mbarrier_test_parity(thread(), WARPLOOM_PLACE(mbarrier_test_parity), barrier, parity, cluster_scope);
} catch (...) {
  break_off();
}

void post_parity_wait(uint32_t barrier, uint32_t parity) noexcept try {
  Thread& self = thread();
  Cluster& cluster = *self.warp->cluster;
  // As post_phase_wait.
  if (!cluster.runs_ahead() || parity > 1 || (self.warp->whole.meets && posted_for(self) == nullptr))
    return wait_at_barrier(WARPLOOM_PLACE(post_parity_wait), barrier, parity);
  post_phase_wait(self, WARPLOOM_PLACE(post_parity_wait), barrier, posted_parity | parity);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
