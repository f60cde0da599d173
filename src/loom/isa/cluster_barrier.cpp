// barrier.cluster: all threads of a cluster that have not exited.
#include "loom/isa/cluster_barrier.hpp"

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
void cluster_barrier_check(Cluster& cluster) {
  check::Watch* const watch = cluster.watch();
  if (cluster.barrier.arrived == 0 || cluster.barrier.arrived < cluster.alive) return;
  ++cluster.barrier.phase;
  cluster.barrier.arrived = 0;
  if (watch) watch->cluster_completed();
  std::vector<Thread*> waiters;
  waiters.swap(cluster.barrier.waiters);
  for (Thread* waiter : waiters) cluster.wake(*waiter, cluster.barrier.time);
  cluster.barrier.time = 0;
}

namespace {

void cluster_arrive(Thread& thread, Pc pc, bool release) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  const Mutated mutated = mutate(cluster, "barrier.cluster.arrive", pc, nullptr);
  for (uint32_t i = 0; i < mutated.times; ++i) {
    if (thread.cluster_arrived)
      cluster.fail(thread, pc, "CLUSTER-BAR",
                   "a thread arrives twice at the cluster barrier without waiting in between");
    thread.cluster_arrived = true;
    thread.cluster_phase = cluster.barrier.phase;
    ++cluster.barrier.arrived;
    if (watch) watch->cluster_arrive(thread, pc, release);
    cluster.barrier.time = std::max(cluster.barrier.time, thread.time);
  }
  cluster_barrier_check(cluster);
}

void cluster_wait(Thread& thread, Pc pc) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  if (mutate(cluster, "barrier.cluster.wait", pc, nullptr).times == 0) {
    thread.cluster_arrived = false;
    return;
  }
  if (!thread.cluster_arrived)
    cluster.fail(thread, pc, "CLUSTER-BAR", "a thread waits at the cluster barrier without having arrived");
  const uint64_t before = thread.time;
  while (cluster.barrier.phase == thread.cluster_phase) {
    thread.wait = {.kind = WaitKind::cluster_barrier, .pc = pc};
    cluster.barrier.waiters.push_back(&thread);
    cluster.park(thread);
  }
  thread.cluster_arrived = false;
  if (watch) watch->cluster_passed(thread, pc);
  if (cluster.recording() && thread.id.lane == 0 && thread.time > before)
    record(EventKind::wait, *thread.cta, thread.id.warp, before, thread.time, 0, "cluster barrier");
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void cluster_arrive(bool release) noexcept try {
  isa::cluster_arrive(thread(), WARPLOOM_PLACE(cluster_arrive), release);
} catch (...) {
  break_off();
}

void cluster_wait() noexcept try { isa::cluster_wait(thread(), WARPLOOM_PLACE(cluster_wait)); } catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
