// Who waits for whom when nothing can go on.
#include "loom/report/wait_cycle.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "loom/report/agents.hpp"
#include "loom/report/missing.hpp"

namespace warploom::loom {

std::vector<Edge> edges(const Cluster& cluster) {
  std::vector<Edge> list;
  for (const auto& thread : cluster.threads) {
    if (thread->state != Thread::State::parked || thread->wait.kind != WaitKind::mbarrier) continue;
    const Barrier& barrier = *thread->wait.barrier;
    if (barrier.state.pending == 0 || barrier.state.phase >= thread->wait.phases) continue;
    const bool known = std::any_of(list.begin(), list.end(), [&](const Edge& edge) {
      return edge.warp == thread->warp && edge.object == barrier.name();
    });
    if (!known) list.push_back({thread->warp, barrier.name(), suppliers(cluster, barrier)});
  }
  return list;
}

/// One whose suppliers do not wait at an mbarrier, or nobody.
const Edge* root(const std::vector<Edge>& list) {
  const auto waits = [&](const Warp* warp) {
    return std::any_of(list.begin(), list.end(), [&](const Edge& edge) { return edge.warp == warp; });
  };
  const auto found = std::find_if(list.begin(), list.end(), [&](const Edge& edge) {
    return !edge.from.empty() && std::none_of(edge.from.begin(), edge.from.end(), waits);
  });
  return found == list.end() ? nullptr : &*found;
}

namespace {

/// "a cycle: A waits for x, which B should bring; B waits for y, which A should bring", or nothing.
std::string cycle(const Cluster& cluster) {
  const std::vector<Edge> list = edges(cluster);
  const auto edge_of = [&](const Warp* warp) {
    return std::find_if(list.begin(), list.end(), [&](const Edge& edge) { return edge.warp == warp; });
  };
  for (const Edge& start : list) {
    std::vector<const Edge*> path;
    const Edge* at = &start;
    while (at != nullptr && std::find(path.begin(), path.end(), at) == path.end()) {
      path.push_back(at);
      const Edge* next = nullptr;
      for (const Warp* warp : at->from)
        if (const auto edge = edge_of(warp); edge != list.end() && next == nullptr) next = &*edge;
      at = next;
    }
    if (at == nullptr) continue;
    path.erase(path.begin(), std::find(path.begin(), path.end(), at));
    std::vector<std::string> parts;
    for (size_t i = 0; i < path.size(); ++i)
      parts.push_back(fmt::format("{} waits for {}, which {} should bring", describe(agents_of(*path[i]->warp, 0)),
                                  path[i]->object, describe(agents_of(*path[(i + 1) % path.size()]->warp, 0))));
    return fmt::format("they wait in a circle: {}", fmt::join(parts, "; "));
  }
  return {};
}

/// Where they do not wait in a circle: who waits for somebody that does not come.
std::string beginning(const Cluster& cluster) {
  // A phase that stands half-way says itself what is wrong.
  const bool half_way = std::any_of(cluster.threads.begin(), cluster.threads.end(), [](const auto& thread) {
    if (thread->state != Thread::State::parked || thread->wait.kind != WaitKind::mbarrier) return false;
    const MbarrierState& state = thread->wait.barrier->state;
    return state.tx != 0 || (state.arrived() > 0 && state.pending > 0);
  });
  const std::vector<Edge> list = edges(cluster);
  const Edge* const begin = root(list);
  if (begin == nullptr || half_way) return {};
  const Warp& absent = *begin->from.front();
  return fmt::format("it begins here: {} waits for {}, which {} should bring and does not; that one {}",
                     describe(agents_of(*begin->warp, 0)), begin->object, describe(agents_of(absent, 0)),
                     whereabouts(absent));
}

bool waited_for(const Cluster& cluster, const Barrier& barrier) {
  return std::any_of(cluster.threads.begin(), cluster.threads.end(), [&](const auto& thread) {
    return thread->state == Thread::State::parked && thread->wait.kind == WaitKind::mbarrier &&
           thread->wait.barrier == &barrier;
  });
}

/// "[0-3] phase 1 0/5, [4] phase 0 3/5 arrived": neighbours that stand alike are one.
std::string standing(const std::vector<const Barrier*>& barriers) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < barriers.size();) {
    const MbarrierState& state = barriers[i]->state;
    size_t end = i;
    while (end < barriers.size() && barriers[end]->state.phase == state.phase &&
           barriers[end]->state.pending == state.pending && barriers[end]->state.tx == state.tx)
      ++end;
    const std::string stages = end - i == 1 ? fmt::format("{}", barriers[i]->stage)
                                            : fmt::format("{}-{}", barriers[i]->stage, barriers[end - 1]->stage);
    parts.push_back(fmt::format("[{}] phase {} {}/{}{}", stages, state.phase, state.arrived(), state.expected,
                                state.tx > 0 ? fmt::format(" and {} bytes short", state.tx) : ""));
    i = end;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Of each ring somebody waits for: how far every barrier of that side is, and who is missing there.
std::vector<std::string> rings(const Cluster& cluster) {
  using Key = std::pair<std::string, uint8_t>;                         // ring and side
  std::map<Key, std::map<uint32_t, std::vector<const Barrier*>>> all;  // by CTA
  std::set<std::pair<Key, uint32_t>> waited;
  for (const auto& cta : cluster.ctas)
    for (const auto& barrier : cta->barriers) {
      if (!barrier->live || barrier->ring == nullptr) continue;
      const Key key{barrier->ring, barrier->side};
      all[key][cta->rank].push_back(barrier.get());
      if (waited_for(cluster, *barrier)) waited.insert({key, cta->rank});
    }
  std::vector<std::string> list;
  for (const auto& [key, ctas] : all) {
    std::map<std::string, std::pair<std::vector<uint32_t>, std::vector<Agents>>> alike;
    for (const auto& [rank, barriers] : ctas) {
      if (!waited.contains({key, rank})) continue;
      auto& [ranks, absent] = alike[standing(barriers)];
      ranks.push_back(rank);
      for (const Barrier* barrier : barriers)
        if (barrier->state.pending > 0 && waited_for(cluster, *barrier))
          for (const Warp* warp : suppliers(cluster, *barrier)) merge(absent, agents_of(*warp, 0));
    }
    for (const auto& [text, who] : alike) {
      std::vector<std::string> names;
      for (const Agents& agents : who.second) names.push_back(describe(agents));
      const char* const side = key.second == 0 ? ".full" : key.second == 1 ? ".empty" : "";
      list.push_back(fmt::format("{}{} of cta {}: {} arrived{}", key.first, side, fmt::join(who.first, ", "), text,
                                 names.empty() ? "" : fmt::format("; missing: {}", fmt::join(names, ", "))));
    }
  }
  return list;
}

}  // namespace

/// Whether those who wait do so in a circle, and how the rings stand that they wait for.
std::vector<std::string> notes(const Cluster& cluster) {
  std::vector<std::string> list{cycle(cluster)};
  if (list[0].empty()) list[0] = beginning(cluster);
  for (std::string& ring : rings(cluster)) list.push_back(std::move(ring));
  std::erase_if(list, [](const std::string& note) { return note.empty(); });
  return list;
}

}  // namespace warploom::loom
