// From the machine's state to a report: findings with their lines, and at a standstill who waits for whom and why.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "loom/exec/cluster.hpp"
#include "loom/report/symbols.hpp"

namespace warploom::loom {
namespace {

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

}  // namespace

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

/// Reads a cluster at a standstill.
class Diagnosis {
 public:
  explicit Diagnosis(Cluster& cluster) : cluster_(cluster) {}

  std::vector<Waiter> waiters() {
    std::vector<Waiter> list;
    std::vector<const Thread*> first;  // of each row
    for (const auto& thread : cluster_.threads_) {
      if (thread->state != Thread::State::parked) continue;
      // Lanes that wait for their own warp are shown only where nothing else holds that warp up.
      if (thread->wait.kind == WaitKind::warp_collective && held_elsewhere(*thread->warp)) continue;
      add(list, first, *thread);
    }
    for (size_t i = 0; i < list.size(); ++i) explain(list[i], first[i]->wait);
    // A phase that has begun and stands still says most about the cause; it comes first.
    auto telling = [](const Waiter& waiter) {
      const bool partial = waiter.arrived > 0 && waiter.arrived < waiter.expected;
      return waiter.kind == WaitKind::mbarrier && (partial || waiter.bytes_armed != waiter.bytes_landed);
    };
    // After it comes one who waits for somebody that waits for nothing of the kind: there it may have begun.
    const std::vector<Edge> all = edges();
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

  /// Whether those who wait do so in a circle, and how the rings stand that they wait for.
  std::vector<std::string> notes() {
    std::vector<std::string> list{cycle()};
    if (list[0].empty()) list[0] = beginning();
    for (std::string& ring : rings()) list.push_back(std::move(ring));
    std::erase_if(list, [](const std::string& note) { return note.empty(); });
    return list;
  }

 private:
  /// A warp, and what it waits for: `object`, which `from` should bring.
  struct Edge {
    const Warp* warp = nullptr;
    std::string object;
    std::vector<const Warp*> from;
  };

  /// Warps that should have brought the missing arrivals of a barrier.
  std::vector<const Warp*> suppliers(const Barrier& barrier) {
    std::vector<const Warp*> list;
    std::set<const Warp*> came;
    for (const Signal& signal : barrier.current)
      if (signal.arrivals > 0) came.insert(signal.warp);
    for (const Signal& signal : barrier.previous)
      if (signal.arrivals > 0 && !came.contains(signal.warp)) list.push_back(signal.warp);
    if (!list.empty()) return list;
    std::vector<Agents> absent;
    meant(barrier, came, absent);
    for (const Agents& agents : absent)
      for (uint32_t warp = agents.first_warp; warp <= agents.last_warp; ++warp)
        list.push_back(cluster_.cta(agents.cta).warps[warp].get());
    return list;
  }

  std::vector<Edge> edges() {
    std::vector<Edge> list;
    for (const auto& thread : cluster_.threads_) {
      if (thread->state != Thread::State::parked || thread->wait.kind != WaitKind::mbarrier) continue;
      const Barrier& barrier = *thread->wait.barrier;
      if (barrier.state.pending == 0 || barrier.state.phase >= thread->wait.phases) continue;
      const bool known = std::any_of(list.begin(), list.end(), [&](const Edge& edge) {
        return edge.warp == thread->warp && edge.object == barrier.name();
      });
      if (!known) list.push_back({thread->warp, barrier.name(), suppliers(barrier)});
    }
    return list;
  }

  /// "a cycle: A waits for x, which B should bring; B waits for y, which A should bring", or nothing.
  std::string cycle() {
    const std::vector<Edge> list = edges();
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

  /// One whose suppliers do not wait at an mbarrier, or nobody.
  static const Edge* root(const std::vector<Edge>& list) {
    const auto waits = [&](const Warp* warp) {
      return std::any_of(list.begin(), list.end(), [&](const Edge& edge) { return edge.warp == warp; });
    };
    const auto found = std::find_if(list.begin(), list.end(), [&](const Edge& edge) {
      return !edge.from.empty() && std::none_of(edge.from.begin(), edge.from.end(), waits);
    });
    return found == list.end() ? nullptr : &*found;
  }

  /// Where they do not wait in a circle: who waits for somebody that does not come.
  std::string beginning() {
    // A phase that stands half-way says itself what is wrong.
    const bool half_way = std::any_of(cluster_.threads_.begin(), cluster_.threads_.end(), [](const auto& thread) {
      if (thread->state != Thread::State::parked || thread->wait.kind != WaitKind::mbarrier) return false;
      const MbarrierState& state = thread->wait.barrier->state;
      return state.tx != 0 || (state.arrived() > 0 && state.pending > 0);
    });
    const std::vector<Edge> list = edges();
    const Edge* const begin = root(list);
    if (begin == nullptr || half_way) return {};
    const Warp& absent = *begin->from.front();
    return fmt::format("it begins here: {} waits for {}, which {} should bring and does not; that one {}",
                       describe(agents_of(*begin->warp, 0)), begin->object, describe(agents_of(absent, 0)),
                       whereabouts(absent));
  }

  bool waited_for(const Barrier& barrier) const {
    return std::any_of(cluster_.threads_.begin(), cluster_.threads_.end(), [&](const auto& thread) {
      return thread->state == Thread::State::parked && thread->wait.kind == WaitKind::mbarrier &&
             thread->wait.barrier == &barrier;
    });
  }

  /// "[0-3] phase 1 0/5, [4] phase 0 3/5 arrived": neighbours that stand alike are one.
  static std::string standing(const std::vector<const Barrier*>& barriers) {
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
  std::vector<std::string> rings() {
    using Key = std::pair<std::string, uint8_t>;                         // ring and side
    std::map<Key, std::map<uint32_t, std::vector<const Barrier*>>> all;  // by CTA
    std::set<std::pair<Key, uint32_t>> waited;
    for (const auto& cta : cluster_.ctas_)
      for (const auto& barrier : cta->barriers) {
        if (!barrier->live || barrier->ring == nullptr) continue;
        const Key key{barrier->ring, barrier->side};
        all[key][cta->rank].push_back(barrier.get());
        if (waited_for(*barrier)) waited.insert({key, cta->rank});
      }
    std::vector<std::string> list;
    for (const auto& [key, ctas] : all) {
      std::map<std::string, std::pair<std::vector<uint32_t>, std::vector<Agents>>> alike;
      for (const auto& [rank, barriers] : ctas) {
        if (!waited.contains({key, rank})) continue;
        auto& [ranks, absent] = alike[standing(barriers)];
        ranks.push_back(rank);
        for (const Barrier* barrier : barriers)
          if (barrier->state.pending > 0 && waited_for(*barrier))
            for (const Warp* warp : suppliers(*barrier)) merge(absent, agents_of(*warp, 0));
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

  /// An elected lane that waits for others keeps its warp from rejoining. A lane at a barrier of whole warps does not:
  /// it is the one that went past the collective.
  static bool held_elsewhere(const Warp& warp) {
    return std::any_of(warp.lanes.begin(), warp.lanes.end(), [](const Thread* lane) {
      return lane->state == Thread::State::parked &&
             (lane->wait.kind == WaitKind::mbarrier || lane->wait.kind == WaitKind::bulk_group);
    });
  }

  /// The same wait, be it in several CTAs: there each on its own copy of the barrier, which stands alike.
  static bool same_wait(const Thread& one, const Thread& two) {
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

  static void collapse(std::vector<Agents>& agents) {
    if (agents.size() < 2) return;
    const Agents last = agents.back();
    agents.pop_back();
    merge(agents, last);
  }

  void explain(Waiter& waiter, const Wait& wait) {
    collapse(waiter.agents);
    switch (wait.kind) {
      case WaitKind::mbarrier: explain_mbarrier(waiter, wait); break;
      case WaitKind::named_barrier: explain_named(waiter, wait); break;
      case WaitKind::cluster_barrier: explain_cluster(waiter); break;
      case WaitKind::warp_collective: explain_collective(waiter, wait); break;
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
      case WaitKind::wgmma_group: explain_wgmma(waiter); break;
      case WaitKind::registers: explain_registers(waiter, wait); break;
      case WaitKind::held: waiter.object = "its turn, which the schedule holds back"; break;
      case WaitKind::atomic:
        waiter.object = fmt::format("another answer of {}", wait.operation);
        waiter.causes.emplace_back("every try finds the same in the word, and nobody is left who could change it");
        break;
      case WaitKind::grid_dependency: waiter.object = "the grids before this one"; break;
    }
  }

  void explain_mbarrier(Waiter& waiter, const Wait& wait) {
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
    if (state.tx > 0) missing_bytes(waiter, barrier);
    if (state.tx < 0)
      waiter.causes.push_back(
          fmt::format("{} bytes landed beyond the {} armed: {}", -state.tx, waiter.bytes_armed,
                      waiter.bytes_armed == 0 ? "nobody armed this phase" : "too little was armed"));
    if (state.pending > 0) missing_arrivals(waiter, barrier);
    if (several && !waiter.causes.empty())
      waiter.causes.front() = fmt::format("in cta {}, the others alike: {}", barrier.cta->rank, waiter.causes.front());
  }

  void missing_bytes(Waiter& waiter, const Barrier& barrier) {
    const MbarrierState& state = barrier.state;
    int64_t coming = 0;
    const AsyncOp* copy = nullptr;
    for (const auto& op : cluster_.pending_) {
      const bool brings = op->kind == AsyncOp::Kind::tma_load || op->kind == AsyncOp::Kind::bulk_send ||
                          op->kind == AsyncOp::Kind::store_async || op->kind == AsyncOp::Kind::try_cancel;
      if (!brings || op->barrier_cta != barrier.cta || op->barrier_offset != barrier.offset) continue;
      coming += op->bytes;
      if (copy == nullptr) copy = op.get();
    }
    if (coming == 0) {
      waiter.causes.push_back(
          fmt::format("{} of {} armed bytes have not landed and no TMA load is in flight: more was armed than issued",
                      state.tx, waiter.bytes_armed));
      return;
    }
    waiter.causes.push_back(
        fmt::format("{} of {} armed bytes have not landed; {} are in flight (the copy at {}), and this schedule lets "
                    "them land only "
                    "when no thread can run{}",
                    state.tx, waiter.bytes_armed, coming, line_of(location(copy->pc)),
                    coming < state.tx ? fmt::format("; {} more were armed than issued", state.tx - coming) : ""));
  }

  /// Who brought arrivals in the phase before, or is said to, and has not in this one.
  void missing_arrivals(Waiter& waiter, const Barrier& barrier) {
    std::set<const Warp*> came;
    for (const Signal& signal : barrier.current)
      if (signal.arrivals > 0) came.insert(signal.warp);
    std::vector<Agents> absent;
    std::string where;
    std::string doing;
    for (const Signal& signal : barrier.previous) {
      if (signal.arrivals == 0) continue;
      uint32_t now = 0;
      for (const Signal& current : barrier.current)
        if (current.warp == signal.warp && current.kind == signal.kind) now += current.arrivals;
      if (now >= signal.arrivals) continue;
      merge(absent, agents_of(*signal.warp, signal.lanes));
      where = line_of(location(signal.pc));
      doing = whereabouts(*signal.warp);
    }
    const std::string count =
        fmt::format("{} of {} arrivals are missing", barrier.state.pending, barrier.state.expected);
    if (!absent.empty()) {
      std::vector<std::string> names;
      for (const Agents& agents : absent) names.push_back(describe(agents));
      waiter.causes.push_back(fmt::format("{}: {} brought them in phase {} from {} (now: {})", count,
                                          fmt::join(names, ", "), barrier.state.phase - 1, where, doing));
      return;
    }
    // First phase, or everyone who came before came again: the policies say who is meant.
    const Warp* witness = meant(barrier, came, absent);
    if (witness == nullptr) {
      waiter.causes.push_back(barrier.signalled_by[0] == '\0'
                                  ? count + silent(barrier, came)
                                  : fmt::format("{}; they come from {}", count, barrier.signalled_by));
      return;
    }
    std::vector<std::string> names;
    for (const Agents& agents : absent) names.push_back(describe(agents));
    waiter.causes.push_back(
        fmt::format("{}: {} did not bring them (now: {})", count, fmt::join(names, ", "), whereabouts(*witness)));
  }

  /// Of a barrier that nobody has said anything about: who in its CTA has brought it nothing, and has not waited for it
  /// either.
  std::string silent(const Barrier& barrier, const std::set<const Warp*>& came) {
    std::vector<Agents> absent;
    const Warp* witness = nullptr;
    for (const auto& warp : barrier.cta->warps) {
      const bool waits = std::any_of(warp->lanes.begin(), warp->lanes.end(), [&](const Thread* lane) {
        return lane->state == Thread::State::parked && lane->wait.kind == WaitKind::mbarrier &&
               lane->wait.barrier == &barrier;
      });
      if (waits || came.contains(warp.get())) continue;
      merge(absent, agents_of(*warp, 0));
      if (witness == nullptr) witness = warp.get();
    }
    if (witness == nullptr) return {};
    std::vector<std::string> names;
    for (const Agents& agents : absent) names.push_back(describe(agents));
    return fmt::format(": {} {} brought none (now: {})", fmt::join(names, ", "),
                       names.size() == 1 && absent[0].first_warp == absent[0].last_warp ? "has" : "have",
                       whereabouts(*witness));
  }

  /// Warps in a role that the barrier's policies name whose arrivals have not come; one of them is returned. Those of
  /// the barrier's own CTA if there are any; else, where the policies reach across CTAs, those of the pair.
  const Warp* meant(const Barrier& barrier, const std::set<const Warp*>& came, std::vector<Agents>& absent) {
    const std::string_view text = barrier.signalled_by;
    const bool crosses =
        text.find("of the pair") != std::string_view::npos || text.find("commit") != std::string_view::npos;
    // A role that came from elsewhere alone (a commit of the pair's leader) is not missing here.
    auto came_from_elsewhere_only = [&](const Warp& warp) {
      bool here = false, elsewhere = false;
      for (const Warp* other : came) {
        if (std::string_view(other->role) != warp.role) continue;
        (other->cta == warp.cta ? here : elsewhere) = true;
      }
      return elsewhere && !here && text.find("of the pair") == std::string_view::npos;
    };
    const Warp* witness = nullptr;
    for (const bool own : {true, false}) {
      if (!own && !crosses) break;
      for (const auto& cta : cluster_.ctas_) {
        if (own ? cta.get() != barrier.cta : cta.get() == barrier.cta || cta->rank / 2 != barrier.cta->rank / 2)
          continue;
        for (const auto& warp : cta->warps) {
          if (warp->role[0] == '\0' || came.contains(warp.get()) || came_from_elsewhere_only(*warp)) continue;
          if (!names_role(text, warp->role)) continue;
          merge(absent, agents_of(*warp, 0));
          if (witness == nullptr) witness = warp.get();
        }
      }
      if (witness != nullptr) break;
    }
    return witness;
  }

  /// "... of epilogue" names epilogue but not epilogue-load.
  static bool names_role(std::string_view text, std::string_view role) {
    for (size_t at = text.find(role); at != std::string_view::npos; at = text.find(role, at + 1)) {
      const size_t end = at + role.size();
      if ((at == 0 || text[at - 1] == ' ') && (end == text.size() || text[end] == ' ')) return true;
    }
    return false;
  }

  void explain_named(Waiter& waiter, const Wait& wait) {
    const Cta& cta = cluster_.cta(waiter.agents.front().cta);
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
  void explain_wgmma(Waiter& waiter) {
    waiter.object = "wgmma groups";
    const Cta& cta = cluster_.cta(waiter.agents.front().cta);
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

  void explain_registers(Waiter& waiter, const Wait& wait) {
    waiter.object = wait.operation;
    const Cta& cta = cluster_.cta(waiter.agents.front().cta);
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
        "{} registers per thread instead of {} take {} more per warp, and the CTA's pool has {}: {} per thread",
        wait.id, held, 32 * (wait.id - held), cta.free_registers, fmt::join(shares, ", ")));
  }

  void explain_cluster(Waiter& waiter) {
    waiter.object = "cluster barrier";
    waiter.arrived = cluster_.cluster_arrived_;
    waiter.expected = cluster_.alive_;
    std::vector<std::string> names;
    for (const auto& cta : cluster_.ctas_) {
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

  void explain_collective(Waiter& waiter, const Wait& wait) {
    waiter.object = fmt::format("{} of its own warp", wait.operation);
    uint32_t present = 0;
    for (const Agents& agents : waiter.agents) present |= agents.lanes;
    const uint32_t missing = wait.mask & ~present;
    std::string text = fmt::format("lanes 0x{:08x} of mask 0x{:08x} have not come", missing, wait.mask);
    const Agents& agents = waiter.agents.front();
    for (const Thread* lane : cluster_.cta(agents.cta).warps[agents.first_warp]->lanes) {
      if ((missing >> lane->id.lane & 1) == 0) continue;
      text += fmt::format("; lane {} {}", lane->id.lane,
                          lane->state == Thread::State::exited   ? std::string("has exited")
                          : lane->state == Thread::State::parked ? whereabouts(*lane)
                                                                 : std::string("is running"));
      break;
    }
    waiter.causes.push_back(std::move(text));
  }

  Cluster& cluster_;
};

void Cluster::add_finding(Thread* thread, Pc pc, const char* code, std::string message,
                          std::vector<std::string> notes) {
  dead_ = true;
  Finding finding{.code = code, .message = std::move(message), .agent = {}, .at = {}, .notes = std::move(notes)};
  if (thread != nullptr) finding.agent = agents_of(*thread->warp, 1u << thread->id.lane);
  report.cluster = index_;
  report.findings.push_back(std::move(finding));
  finding_pcs_.push_back(pc);
  side_pcs_.emplace_back();
}

void Cluster::stop(const Warp* warp, uint32_t lanes, Pc pc, const char* code, std::string message,
                   std::vector<std::string> notes, std::vector<OtherSide> sides) {
  if (!dead_ && let_pass(pc, code, sides)) return;
  if (!dead_) {
    add_finding(nullptr, pc, code, std::move(message), std::move(notes));
    Finding& finding = report.findings.back();
    if (warp != nullptr) finding.agent = agents_of(*warp, lanes);
    for (OtherSide& side : sides) {
      finding.sides.push_back(
          {std::move(side.what), side.warp != nullptr ? agents_of(*side.warp, side.lanes) : side.agents, {}});
      side_pcs_.back().push_back(side.pc);
    }
  }
  if (running_ == nullptr) return;
  for (;;) running_->fiber.suspend();
}

bool Cluster::let_pass(Pc pc, const char* code, const std::vector<OtherSide>& sides) {
  const auto& list = launch_.options->suppressed;
  if (std::none_of(list.begin(), list.end(), [&](const Suppression& known) { return known.code == code; }))
    return false;
  const auto matches = [&](Pc place) {
    const Location at = running_ != nullptr ? location_from_fiber(place) : location(place);
    return std::any_of(list.begin(), list.end(),
                       [&](const Suppression& known) { return known.code == code && known.matches(at); });
  };
  std::vector<Pc> places{pc};
  for (const OtherSide& side : sides) places.push_back(side.pc);
  const auto [entry, added] = passed_by_.try_emplace({code, places}, false);
  if (added) {
    entry->second = std::any_of(places.begin(), places.end(), matches);
  }
  if (entry->second) ++let_pass_count;
  return entry->second;
}

void Cluster::locate_findings() {
  for (size_t i = 0; i < report.findings.size(); ++i) {
    report.findings[i].at = location(finding_pcs_[i]);
    for (size_t side = 0; side < report.findings[i].sides.size(); ++side)
      report.findings[i].sides[side].at = location(side_pcs_[i][side]);
  }
  if (!report.clean() && report.findings.front().code == "STEP-LIMIT") report.waiting = Diagnosis(*this).waiters();
}

void Cluster::deadlock() {
  note_meetings();
  Diagnosis diagnosis(*this);
  report.waiting = diagnosis.waiters();
  if (partial_warpgroup() || any_stranded()) return;
  std::set<std::pair<uint32_t, uint32_t>> warps;
  for (const auto& thread : threads_)
    if (thread->state == Thread::State::parked) warps.insert({thread->cta->rank, thread->id.warp});
  add_finding(nullptr, nullptr, "DEADLOCK",
              fmt::format("{} and nothing can make progress",
                          warps.size() == 1 ? "1 warp waits" : fmt::format("{} warps wait", warps.size())),
              diagnosis.notes());
}

Mutated Cluster::mutate(const char* operation, Pc pc, const Barrier* object) {
  const Options& options = *launch_.options;
  if (!options.record_sites && !options.mutation) return {};
  const uint64_t key = reinterpret_cast<uintptr_t>(pc) * 31 + reinterpret_cast<uintptr_t>(operation);
  const auto [entry, added] = site_index_.try_emplace(key, sites.size());
  if (added) {
    SiteEntry site{.operation = operation, .pc = pc, .object = {}, .executions = 0, .mutated = false};
    if (object != nullptr && object->ring != nullptr)
      site.object = fmt::format("{}{}", object->ring, object->side == 0 ? ".full" : object->side == 1 ? ".empty" : "");
    if (options.mutation)
      site.mutated = Site{.operation = operation, .object = site.object, .at = location_from_fiber(pc)}.key() ==
                     options.mutation->site;
    sites.push_back(std::move(site));
  }
  SiteEntry& site = sites[entry->second];
  ++site.executions;
  if (!site.mutated) return {};
  const int64_t execution = mutated_executions_++;
  if (options.mutation->only >= 0 && options.mutation->only != execution) return {};
  switch (options.mutation->kind) {
    case MutationKind::drop: return {.times = 0};
    case MutationKind::twice: return {.times = 2};
    case MutationKind::count_plus: return {.count = 1};
    case MutationKind::count_minus: return {.count = -1};
    case MutationKind::bytes_plus: return {.bytes = 16};
    case MutationKind::bytes_minus: return {.bytes = -16};
    case MutationKind::flip_parity: return {.flip_parity = true};
    case MutationKind::wrong_stage: return {.wrong_stage = true};
  }
  return {};
}

std::vector<MutationKind> mutations_of(std::string_view operation) {
  using enum MutationKind;
  if (operation == "mbarrier.init") return {drop, twice, count_plus, count_minus};
  if (operation == "mbarrier.arrive" || operation == "mbarrier.arrive_drop")
    return {drop, twice, count_plus, count_minus, wrong_stage};
  if (operation == "mbarrier.wait" || operation == "mbarrier.test_wait") return {drop, flip_parity, wrong_stage};
  if (operation.find("_tx") != std::string_view::npos) return {drop, twice, bytes_plus, bytes_minus, wrong_stage};
  if (operation == "tcgen05.commit" || operation == "cp.async.bulk.tensor" || operation == "cp.async.mbarrier.arrive" ||
      operation == "clusterlaunchcontrol.try_cancel" || operation == "st.async" || operation == "cp.async.bulk" ||
      operation == "cp.reduce.async.bulk")
    return {drop, twice, wrong_stage};
  if (operation == "bar.sync" || operation == "bar.arrive") return {drop, twice, count_plus, count_minus, wrong_stage};
  if (operation == "barrier.cluster.arrive") return {drop, twice};
  if (operation == "wgmma.wait_group") return {drop, count_plus};
  return {drop};
}

std::string Site::key() const {
  return fmt::format("{}@{}@{}:{}@{}:{}", operation, object, at.user.file, at.user.line, at.library.file,
                     at.library.line);
}

}  // namespace warploom::loom
