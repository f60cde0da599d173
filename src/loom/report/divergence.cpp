// Lanes of a warp that do not come together: some wait in a warp collective for others that never will join it.
#include "loom/report/divergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "loom/exec/cluster.hpp"
#include "loom/front/deferred.hpp"

namespace warploom::loom {

namespace {

/// "lane 5", "lanes 0-4, 6-31"
std::string lanes_in_words(uint32_t lanes) {
  std::string text = std::has_single_bit(lanes) ? "lane " : "lanes ";
  for (uint32_t first = 0; first < 32; ++first) {
    if ((lanes >> first & 1) == 0) continue;
    uint32_t last = first;
    while (last < 31 && (lanes >> (last + 1) & 1) != 0) ++last;
    text += first == last ? fmt::format("{}, ", first) : fmt::format("{}-{}, ", first, last);
    first = last;
  }
  text.resize(text.size() - 2);
  return text;
}

const char* verb(uint32_t lanes, const char* one, const char* several) {
  return std::has_single_bit(lanes) ? one : several;
}

}  // namespace

void note_meetings(Cluster& cluster) {
  for (const auto& cta : cluster.ctas)
    for (const auto& warp : cta->warps) {
      for (uint32_t i = 0; i < warp->round_left; ++i)
        warp->lanes[(warp->round_next + i) % 32]->state = Thread::State::ready;
      // What a lane waits for that catches up has changed meanwhile.
      for (Thread* lane : warp->lanes)
        if ((warp->whole.catching_up >> lane->id.lane & 1) != 0) note_oldest_posted(*lane);
      for (Thread* lane : warp->lanes) {
        if (lane->state != Thread::State::meeting) continue;
        const Collective& meeting = warp->whole.meeting;
        lane->state = Thread::State::parked;
        lane->parked_at = lane->time;
        if (warp->whole.held_up) {  // whatever it meets for comes after what is posted
          note_oldest_posted(*lane);
          continue;
        }
        if ((warp->gate.lanes >> lane->id.lane & 1) != 0)
          lane->wait = {.kind = WaitKind::mbarrier,
                        .pc = warp->gate.pc,
                        .barrier = warp->gate.barrier,
                        .phases = warp->gate.phases,
                        .parity = (warp->gate.phases + 1) & 1};
        else
          lane->wait = warp->blocked ? warp->blocked_by
                                     : Wait{.kind = WaitKind::warp_collective,
                                            .pc = meeting.pc,
                                            .operation = meeting.operation,
                                            .mask = meeting.mask};
      }
    }
}

bool stranded(Warp& warp, bool standstill) {
  Cluster& cluster = *warp.cluster;
  struct Open {
    const char* operation;
    uint32_t mask, arrived, first_lane;
    Pc pc;
  };
  note_meetings(cluster);
  std::vector<Open> all;
  for (uint32_t i = 0; i < warp.whole.posted(); ++i) {
    const Posted& posted = warp.whole[i];
    uint32_t arrived = 0;
    for (const Thread* lane : warp.lanes)
      if (lane->joined > warp.whole.over + i) arrived |= 1u << lane->id.lane;
    all.push_back({name_of(posted.kind), whole_warp, arrived, posted.first_lane, posted.pc});
  }
  const auto add = [&](const Collective& open) {
    all.push_back({open.operation, open.mask, open.arrived, open.first_lane, open.pc});
  };
  if (warp.whole.meets) add(warp.whole.meeting);
  for (const auto& open : warp.open) add(*open);

  for (const Open& open : all) {
    const uint32_t missing = open.mask & ~open.arrived;
    uint32_t exited = 0;
    bool circular = false, undecided = false;
    std::map<std::string, uint32_t> elsewhere;  // where the others of them are
    for (const Thread* lane : warp.lanes) {
      const uint32_t bit = 1u << lane->id.lane;
      if ((missing & bit) == 0) continue;
      if (lane->state == Thread::State::exited) {
        exited |= bit;
      } else if (lane->state != Thread::State::parked) {
        undecided = true;  // it may still come, or exit as well
      } else if (standstill) {
        // The cluster barrier and collectives wait for every lane, also for those that wait here. An mbarrier need not.
        circular =
            circular || lane->wait.kind == WaitKind::cluster_barrier || lane->wait.kind == WaitKind::warp_collective;
      }
    }
    if (exited == 0 ? !circular : undecided && !standstill) continue;
    for (const Thread* lane : warp.lanes)
      if ((missing & ~exited) >> lane->id.lane & 1) elsewhere[whereabouts(*lane)] |= 1u << lane->id.lane;

    std::vector<std::string> causes;
    if (exited != 0) causes.push_back(fmt::format("{} {} exited", lanes_in_words(exited), verb(exited, "has", "have")));
    for (const auto& [where, lanes] : elsewhere)  // "waits at ...", but several lanes wait
      causes.push_back(fmt::format("{} {}{}", lanes_in_words(lanes), verb(lanes, "waits", "wait"), where.substr(5)));
    Thread* first = warp.lanes[open.first_lane];
    add_finding(cluster, first, open.pc, "DIVERGENCE",
                fmt::format("{} of warp {} {} in {} for the rest of the warp, but {}", lanes_in_words(open.arrived),
                            warp.index, verb(open.arrived, "waits", "wait"), open.operation, causes.front()),
                {causes.begin() + 1, causes.end()});
    cluster.findings.report.findings.back().agent.lanes = open.arrived;
    return true;
  }
  return false;
}

bool any_stranded(Cluster& cluster) {
  return std::any_of(cluster.ctas.begin(), cluster.ctas.end(), [&](const auto& cta) {
    return std::any_of(cta->warps.begin(), cta->warps.end(), [&](const auto& warp) { return stranded(*warp, true); });
  });
}

}  // namespace warploom::loom
