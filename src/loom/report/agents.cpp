// Who did something, and what a waiting thread waits for, in the words of a report.
#include "loom/report/agents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "loom/exec/cluster.hpp"
#include "loom/report/symbols.hpp"

namespace warploom::loom {

Agents agents_of(const Warp& warp, uint32_t lanes) {
  return {.cta = warp.cta->rank, .first_warp = warp.index, .last_warp = warp.index, .lanes = lanes, .role = warp.role};
}

Location location(Pc pc) { return pc == nullptr ? Location{} : locate(pc); }

std::string line_of(const Location& at) {
  return at.user.line == 0 ? std::string("?") : fmt::format("{}:{}", at.user.file, at.user.line);
}

/// Adds warp `warp` to a list of ranges of like agents.
void merge(std::vector<Agents>& list, const Agents& more) {
  for (Agents& known : list) {
    if (known.cta == more.cta && known.role == more.role && known.lanes == more.lanes &&
        known.last_warp + 1 >= more.first_warp && known.first_warp <= more.first_warp) {
      known.last_warp = std::max(known.last_warp, more.last_warp);
      return;
    }
  }
  list.push_back(more);
}

std::string describe(const Agents& agents) {
  std::string text = agents.first_warp == agents.last_warp
                         ? fmt::format("cta {} warp {}", agents.cta, agents.first_warp)
                         : fmt::format("cta {} warps {}-{}", agents.cta, agents.first_warp, agents.last_warp);
  if (agents.lanes != 0 && std::has_single_bit(agents.lanes))
    text += fmt::format(" lane {}", std::countr_zero(agents.lanes));
  if (!agents.role.empty()) text += fmt::format(" ({})", agents.role);
  return text;
}

std::vector<Contribution> contributions(const std::vector<Signal>& signals) {
  std::vector<Contribution> list;
  for (const Signal& signal : signals) {
    Contribution contribution{.kind = signal.kind,
                              .agents = agents_of(*signal.warp, signal.lanes),
                              .at = location(signal.pc),
                              .times = signal.times,
                              .arrivals = signal.arrivals,
                              .bytes = signal.bytes};
    // Neighbouring warps that did the same from the same line are one entry.
    auto same = std::find_if(list.begin(), list.end(), [&](const Contribution& known) {
      return known.kind == contribution.kind && line_of(known.at) == line_of(contribution.at) &&
             known.agents.cta == contribution.agents.cta && known.agents.role == contribution.agents.role &&
             known.agents.lanes == contribution.agents.lanes &&
             known.agents.last_warp + 1 == contribution.agents.first_warp;
    });
    if (same == list.end()) {
      list.push_back(std::move(contribution));
    } else {
      same->agents.last_warp = contribution.agents.last_warp;
      same->times += contribution.times;
      same->arrivals += contribution.arrivals;
      same->bytes += contribution.bytes;
    }
  }
  return list;
}

/// What the threads of a warp are doing now, in a few words.
std::string whereabouts(const Warp& warp) {
  const Thread* waiting = nullptr;
  bool exited = true;
  for (const Thread* lane : warp.lanes) {
    exited = exited && lane->state == Thread::State::exited;
    if (lane->state != Thread::State::parked) continue;
    // A lane in a warp collective waits for its own warp; the lane that is elsewhere says more.
    if (waiting == nullptr || waiting->wait.kind == WaitKind::warp_collective) waiting = lane;
  }
  if (exited) return "has exited";
  if (waiting == nullptr) return "is running";
  return whereabouts(*waiting);
}

std::string whereabouts(const Thread& waiting) {
  const Wait& wait = waiting.wait;
  const std::string line = line_of(location(wait.pc));
  switch (wait.kind) {
    case WaitKind::mbarrier:
      if (wait.phases == 0) return fmt::format("waits for 0 phases of {} at {}", wait.barrier->name(), line);
      return fmt::format("waits for {} {} at {}", wait.barrier->name(), phase_text(wait.phases), line);
    case WaitKind::named_barrier: return fmt::format("waits at named barrier {} at {}", wait.id, line);
    case WaitKind::cluster_barrier: return fmt::format("waits at the cluster barrier at {}", line);
    case WaitKind::warp_collective: return fmt::format("waits for its own lanes in {} at {}", wait.operation, line);
    case WaitKind::bulk_group: return fmt::format("waits for bulk stores at {}", line);
    case WaitKind::tmem_alloc:
    case WaitKind::grid_dependency:
    case WaitKind::held:
    case WaitKind::registers: return fmt::format("waits in {} at {}", wait.operation, line);
    case WaitKind::wgmma_group: return fmt::format("waits for its wgmma groups at {}", line);
    case WaitKind::atomic: return fmt::format("asks {} at {} over and over", wait.operation, line);
  }
  return "waits";
}

}  // namespace warploom::loom
