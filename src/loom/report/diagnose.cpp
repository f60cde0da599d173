// From the state of a cluster that stands still to a report: who waits for whom, and why.
#include "loom/report/diagnose.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "loom/exec/cluster.hpp"
#include "loom/isa/wgmma.hpp"
#include "loom/report/agents.hpp"
#include "loom/report/divergence.hpp"
#include "loom/report/missing.hpp"
#include "loom/report/wait_cycle.hpp"

namespace warploom::loom {

namespace {

/// An elected lane that waits for others keeps its warp from rejoining. A lane at a barrier of whole warps does not:
/// it is the one that went past the collective.
bool held_elsewhere(const Warp& warp) {
  return std::any_of(warp.lanes.begin(), warp.lanes.end(), [](const Thread* lane) {
    return lane->state == Thread::State::parked &&
           (lane->wait.kind == WaitKind::mbarrier || lane->wait.kind == WaitKind::bulk_group);
  });
}

/// The same wait, be it in several CTAs: there each on its own copy of the barrier, which stands alike.
bool same_wait(const Thread& one, const Thread& two) {
  const Wait &a = one.wait, &b = two.wait;
  // A named barrier is its CTA's, a collective its warp's.
  if (a.kind == WaitKind::named_barrier && one.cta != two.cta) return false;
  if (a.kind == WaitKind::warp_collective && one.warp != two.warp) return false;
  if (a.kind != b.kind || a.phases != b.phases || a.id != b.id || std::string_view(a.operation) != b.operation ||
      line_of(location(a.pc)) != line_of(location(b.pc)))
    return false;
  if (a.barrier == b.barrier) return true;
  if (a.barrier == nullptr || b.barrier == nullptr) return false;
  const MbarrierState &x = a.barrier->state, &y = b.barrier->state;
  return a.barrier->name() == b.barrier->name() && x.phase == y.phase && x.pending == y.pending &&
         x.expected == y.expected && x.tx == y.tx;
}

void collapse(std::vector<Agents>& agents) {
  if (agents.size() < 2) return;
  const Agents last = agents.back();
  agents.pop_back();
  merge(agents, last);
}

void add(std::vector<Waiter>& list, std::vector<const Thread*>& first, const Thread& thread) {
  const uint32_t bit = 1u << thread.id.lane;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!same_wait(*first[i], thread)) continue;
    Agents& last = list[i].agents.back();
    if (last.cta == thread.cta->rank && last.last_warp == thread.id.warp) {
      last.lanes |= bit;
    } else {
      collapse(list[i].agents);
      list[i].agents.push_back(agents_of(*thread.warp, bit));
    }
    return;
  }
  Waiter waiter;
  waiter.kind = thread.wait.kind;
  waiter.agents.push_back(agents_of(*thread.warp, bit));
  waiter.at = location(thread.wait.pc);
  list.push_back(std::move(waiter));
  first.push_back(&thread);
}

void explain_mbarrier(const Cluster& cluster, Waiter& waiter, const Wait& wait) {
  const Barrier& barrier = *wait.barrier;
  const MbarrierState& state = barrier.state;
  waiter.object = barrier.name();
  const bool several = std::any_of(waiter.agents.begin(), waiter.agents.end(),
                                   [&](const Agents& agents) { return agents.cta != barrier.cta->rank; });
  // Waiters of several CTAs wait each on their own barrier; what follows is said of the first.
  if (!several) waiter.owner = fmt::format("cta {}", barrier.cta->rank);
  waiter.phase = wait.phases == 0 ? 0 : wait.phases - 1;
  waiter.current = state.phase;
  waiter.expected = state.expected;
  waiter.arrived = state.arrived();
  waiter.signalled_by = barrier.signalled_by;
  waiter.contributions = contributions(barrier.current);
  waiter.previous = contributions(barrier.previous);
  for (const Signal& signal : barrier.current) {
    if (signal.kind == SignalKind::complete_tx)
      waiter.bytes_landed += signal.bytes;
    else
      waiter.bytes_armed += signal.bytes;
  }
  if (state.phase >= wait.phases) {
    waiter.causes.push_back(
        fmt::format("the wait asks for the moment at which {} phase{} complete, but {} {}: the "
                    "waiter came too late, or counts its phases (its parity) wrong",
                    wait.phases, wait.phases == 1 ? " is" : "s are", state.phase, state.phase == 1 ? "is" : "are"));
    return;
  }
  if (state.phase + 1 < wait.phases)
    waiter.causes.push_back(fmt::format("the barrier is only in phase {}", state.phase));
  if (state.tx > 0) missing_bytes(cluster, waiter, barrier);
  if (state.tx < 0)
    waiter.causes.push_back(fmt::format("{} bytes landed beyond the {} armed: {}", -state.tx, waiter.bytes_armed,
                                        waiter.bytes_armed == 0 ? "nobody armed this phase" : "too little was armed"));
  if (state.pending > 0) missing_arrivals(cluster, waiter, barrier);
  if (several && !waiter.causes.empty())
    waiter.causes.front() = fmt::format("in cta {}, the others alike: {}", barrier.cta->rank, waiter.causes.front());
}

void explain_named(const Cluster& cluster, Waiter& waiter, const Wait& wait) {
  const Cta& cta = *cluster.ctas[waiter.agents.front().cta];
  const NamedBarrier& barrier = cta.named[wait.id];
  waiter.object = barrier.text(wait.id);
  waiter.owner = fmt::format("cta {}", cta.rank);
  waiter.arrived = barrier.arrived;
  waiter.expected = barrier.expected;
  std::vector<Agents> present;
  std::vector<Warp*> members = barrier.members;
  std::sort(members.begin(), members.end(), [](const Warp* x, const Warp* y) { return x->index < y->index; });
  for (const Warp* warp : members) merge(present, agents_of(*warp, 0xffffffffu));
  std::vector<std::string> names;
  for (const Agents& agents : present) names.push_back(describe(agents));
  waiter.causes.push_back(
      fmt::format("{} of {} threads have arrived: {}", barrier.arrived, barrier.expected, fmt::join(names, ", ")));
}

/// A wgmma that has started completes; one that stands still has not been issued by all four warps.
void explain_wgmma(const Cluster& cluster, Waiter& waiter) {
  waiter.object = "wgmma groups";
  const Cta& cta = *cluster.ctas[waiter.agents.front().cta];
  const Warp& warp = *cta.warps[waiter.agents.front().first_warp];
  const uint32_t first = warp.index / warpgroup_warps * warpgroup_warps;
  for (const auto& op : cta.warpgroups[first / warpgroup_warps].forming) {
    if ((op->joined >> (warp.index - first) & 1) == 0) continue;
    for (uint32_t i = 0; i < warpgroup_warps; ++i) {
      if ((op->joined >> i & 1) != 0) continue;
      waiter.causes.push_back(
          fmt::format("the wgmma at {} cannot start: warp {} of the warpgroup has not issued it "
                      "(now: {})",
                      line_of(location(op->pc)), first + i, whereabouts(*cta.warps[first + i])));
    }
    return;
  }
}

void explain_registers(const Cluster& cluster, Waiter& waiter, const Wait& wait) {
  waiter.object = wait.operation;
  const Cta& cta = *cluster.ctas[waiter.agents.front().cta];
  const uint32_t held = cta.warps[waiter.agents.front().first_warp]->registers;
  std::vector<std::string> shares;
  for (size_t i = 0; i < cta.warps.size();) {
    size_t end = i;
    while (end < cta.warps.size() && cta.warps[end]->registers == cta.warps[i]->registers) ++end;
    shares.push_back(i + 1 == end ? fmt::format("warp {} holds {}", i, cta.warps[i]->registers)
                                  : fmt::format("warps {}-{} hold {}", i, end - 1, cta.warps[i]->registers));
    i = end;
  }
  waiter.causes.push_back(fmt::format(
      "{} registers per thread instead of {} take {} more per warp, and the CTA's pool has {}: {} per thread", wait.id,
      held, 32 * (wait.id - held), cta.free_registers, fmt::join(shares, ", ")));
}

void explain_cluster(const Cluster& cluster, Waiter& waiter) {
  waiter.object = "cluster barrier";
  waiter.arrived = cluster.barrier.arrived;
  waiter.expected = cluster.alive;
  std::vector<std::string> names;
  for (const auto& cta : cluster.ctas) {
    for (const auto& warp : cta->warps) {
      uint32_t absent = 0;
      const Thread* witness = nullptr;
      for (const Thread* lane : warp->lanes) {
        if (lane->state == Thread::State::exited || lane->cluster_arrived) continue;
        absent |= 1u << lane->id.lane;
        if (witness == nullptr || witness->wait.kind == WaitKind::warp_collective) witness = lane;
      }
      if (witness != nullptr)
        names.push_back(fmt::format("{} {}", describe(agents_of(*warp, absent)), whereabouts(*witness)));
    }
  }
  const uint32_t missing = waiter.expected - waiter.arrived;
  std::string text = fmt::format("{} thread{} not arrived", missing, missing == 1 ? " has" : "s have");
  if (!names.empty()) text += fmt::format(": {}", names.front());
  if (names.size() > 1) text += fmt::format(" (and {} more warps)", names.size() - 1);
  waiter.causes.push_back(std::move(text));
}

void explain_collective(const Cluster& cluster, Waiter& waiter, const Wait& wait) {
  waiter.object = fmt::format("{} of its own warp", wait.operation);
  uint32_t present = 0;
  for (const Agents& agents : waiter.agents) present |= agents.lanes;
  const uint32_t missing = wait.mask & ~present;
  std::string text = fmt::format("lanes 0x{:08x} of mask 0x{:08x} have not come", missing, wait.mask);
  const Agents& agents = waiter.agents.front();
  for (const Thread* lane : cluster.ctas[agents.cta]->warps[agents.first_warp]->lanes) {
    if ((missing >> lane->id.lane & 1) == 0) continue;
    text += fmt::format("; lane {} {}", lane->id.lane,
                        lane->state == Thread::State::exited   ? std::string("has exited")
                        : lane->state == Thread::State::parked ? whereabouts(*lane)
                                                               : std::string("is running"));
    break;
  }
  waiter.causes.push_back(std::move(text));
}

void explain(const Cluster& cluster, Waiter& waiter, const Wait& wait) {
  collapse(waiter.agents);
  switch (wait.kind) {
    case WaitKind::mbarrier: explain_mbarrier(cluster, waiter, wait); break;
    case WaitKind::named_barrier: explain_named(cluster, waiter, wait); break;
    case WaitKind::cluster_barrier: explain_cluster(cluster, waiter); break;
    case WaitKind::warp_collective: explain_collective(cluster, waiter, wait); break;
    case WaitKind::bulk_group:
      waiter.object = "bulk store groups";
      waiter.causes.emplace_back("the stores cannot make progress");
      break;
    case WaitKind::tmem_alloc:
      waiter.object = wait.operation;
      waiter.causes.push_back(std::string_view(wait.operation).find("pair") != std::string_view::npos
                                  ? "the other CTA of the pair has not joined"
                                  : fmt::format("{} columns of tensor memory are not free", wait.id));
      break;
    case WaitKind::wgmma_group: explain_wgmma(cluster, waiter); break;
    case WaitKind::registers: explain_registers(cluster, waiter, wait); break;
    case WaitKind::held: waiter.object = "its turn, which the schedule holds back"; break;
    case WaitKind::atomic:
      waiter.object = fmt::format("another answer of {}", wait.operation);
      waiter.causes.emplace_back("every try finds the same in the word, and nobody is left who could change it");
      break;
    case WaitKind::grid_dependency: waiter.object = "the grids before this one"; break;
  }
}

}  // namespace

std::vector<Waiter> waiters_of(const Cluster& cluster) {
  std::vector<Waiter> list;
  std::vector<const Thread*> first;  // of each row
  for (const auto& thread : cluster.threads) {
    if (thread->state != Thread::State::parked) continue;
    // Lanes that wait for their own warp are shown only where nothing else holds that warp up.
    if (thread->wait.kind == WaitKind::warp_collective && held_elsewhere(*thread->warp)) continue;
    add(list, first, *thread);
  }
  for (size_t i = 0; i < list.size(); ++i) explain(cluster, list[i], first[i]->wait);
  // A phase that has begun and stands still says most about the cause; it comes first.
  auto telling = [](const Waiter& waiter) {
    const bool partial = waiter.arrived > 0 && waiter.arrived < waiter.expected;
    return waiter.kind == WaitKind::mbarrier && (partial || waiter.bytes_armed != waiter.bytes_landed);
  };
  // After it comes one who waits for somebody that waits for nothing of the kind: there it may have begun.
  const std::vector<Edge> all = edges(cluster);
  const Edge* const begin = root(all);
  const auto rank = [&](const Waiter& waiter) {
    if (telling(waiter)) return 0;
    return begin != nullptr && waiter.kind == WaitKind::mbarrier && waiter.object == begin->object ? 1 : 2;
  };
  std::vector<Waiter> ranks[3];
  for (Waiter& waiter : list) ranks[rank(waiter)].push_back(std::move(waiter));
  std::vector<Waiter> ordered;
  for (std::vector<Waiter>& of_rank : ranks)
    for (Waiter& waiter : of_rank) ordered.push_back(std::move(waiter));
  return ordered;
}

void deadlock(Cluster& cluster) {
  note_meetings(cluster);
  cluster.findings.report.waiting = waiters_of(cluster);
  if (isa::partial_warpgroup(cluster) || any_stranded(cluster)) return;
  std::set<std::pair<uint32_t, uint32_t>> warps;
  for (const auto& thread : cluster.threads)
    if (thread->state == Thread::State::parked) warps.insert({thread->cta->rank, thread->id.warp});
  add_finding(cluster, nullptr, nullptr, "DEADLOCK",
              fmt::format("{} and nothing can make progress",
                          warps.size() == 1 ? "1 warp waits" : fmt::format("{} warps wait", warps.size())),
              notes(cluster));
}

}  // namespace warploom::loom
