// Ends of threads, and of a cluster: what must be over by then.
#include "loom/exec/endings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/async_queue.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/isa/cluster_barrier.hpp"
#include "loom/isa/launch_control.hpp"
#include "loom/isa/named_barrier.hpp"
#include "loom/isa/wgmma.hpp"

namespace warploom::loom {

namespace {

bool leaves_work(Thread& thread) {
  for (const auto& group : thread.groups)
    if (!group->read_waited)
      return ends_run(thread, group->pc, "EXIT-PENDING",
                      "a thread exits without waiting until its bulk stores have read shared memory",
                      {"cp.async.bulk.wait_group(.read) 0 before the end of the role keeps the source alive"});
  if (thread.open_group != nullptr)
    return ends_run(thread, thread.open_group->pc, "EXIT-PENDING",
                    "a thread exits with bulk stores that it never committed to a group");
  return isa::wgmma_left_at_exit(thread);
}

}  // namespace

void thread_exited(Thread& thread) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  thread.state = Thread::State::exited;
  --cluster.alive;
  Cta& cta = *thread.cta;
  --cta.alive;
  cluster.last_time = std::max(cluster.last_time, thread.time);
  // barrier.cluster counts the threads that have not exited: one that arrived and left counts on neither side.
  if (thread.cluster_arrived && thread.cluster_phase == cluster.barrier.phase) --cluster.barrier.arrived;
  Warp& warp = *thread.warp;
  if (++warp.exited == warp.lanes.size()) close_role(warp, thread.time);

  if (leaves_work(thread)) return;
  if (watch) watch->left_barriers(thread, thread.cluster_arrived && thread.cluster_phase == cluster.barrier.phase);
  if (watch) watch->exited(thread);
  if (cluster.dead()) return;
  if (warp.exited == warp.lanes.size()) {
    ++cta.exited_warps;
    // __syncthreads waits for the threads that have not exited.
    for (uint32_t id = 0; id < std::size(cta.named); ++id) {
      NamedBarrier& named = cta.named[id];
      if (!named.whole || named.arrived == 0 || !isa::all_here(cta, named)) continue;
      named.time = std::max(named.time, thread.time);
      isa::complete_named_barrier(cta, id);
    }
  }
  if (cta.alive == 0 && !cta.allocations.empty()) {
    add_finding(cluster, &thread, cta.allocated_at, "TMEM-LEAK",
                fmt::format("CTA {} exits with {} tensor-memory columns still allocated", cta.rank,
                            cta.allocations.begin()->second),
                {});
    return;
  }
  isa::cluster_barrier_check(cluster);
}

void finish(Cluster& cluster) {
  check::Watch* const watch = cluster.watch();
  while (!cluster.dead() && complete_one(cluster, true)) {
  }
  if (cluster.dead() || isa::lost_work(cluster) || isa::partial_warpgroup(cluster)) return;
  if (watch) watch->settle_registers();
  for (const auto& cta : cluster.ctas) {
    for (uint32_t id = 0; id < 16; ++id) {
      const NamedBarrier& named = cta->named[id];
      if (named.arrived == 0) continue;
      add_finding(cluster, named.members.back()->lanes[0], nullptr, "EXIT-BARRIER",
                  fmt::format("the kernel ended with {} of cta {} half full: {} of {} threads", named.text(id),
                              cta->rank, named.arrived, named.expected),
                  {});
      return;
    }
    for (const auto& barrier : cta->barriers) {
      const MbarrierState& state = barrier->state;
      if (!barrier->live || (state.pending == state.expected && state.tx == 0)) continue;
      const Signal* last = barrier->current.empty() ? nullptr : &barrier->current.back();
      add_finding(
          cluster, last != nullptr ? last->warp->lanes[0] : nullptr, last != nullptr ? last->pc : nullptr,
          "EXIT-BARRIER",
          fmt::format("the kernel ended with {} of cta {} in the middle of phase {}: {} of {} arrivals, {} bytes "
                      "outstanding",
                      barrier->name(), cta->rank, state.phase, state.arrived(), state.expected, state.tx),
          signalled_by(*barrier));
      return;
    }
  }
}

}  // namespace warploom::loom
