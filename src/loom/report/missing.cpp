// Who should have arrived at a barrier and has not: whoever arrived in the phase before, or those that the barrier's
// policies name.
#include "loom/report/missing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "loom/report/agents.hpp"

namespace warploom::loom {
namespace {

/// "... of epilogue" names epilogue but not epilogue-load.
bool names_role(std::string_view text, std::string_view role) {
  for (size_t at = text.find(role); at != std::string_view::npos; at = text.find(role, at + 1)) {
    const size_t end = at + role.size();
    if ((at == 0 || text[at - 1] == ' ') && (end == text.size() || text[end] == ' ')) return true;
  }
  return false;
}

/// Warps in a role that the barrier's policies name whose arrivals have not come; one of them is returned. Those of
/// the barrier's own CTA if there are any; else, where the policies reach across CTAs, those of the pair.
const Warp* meant(const Cluster& cluster, const Barrier& barrier, const std::set<const Warp*>& came,
                  std::vector<Agents>& absent) {
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
    for (const auto& cta : cluster.ctas) {
      if (own ? cta.get() != barrier.cta : cta.get() == barrier.cta || cta->rank / 2 != barrier.cta->rank / 2) continue;
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

}  // namespace

/// Warps that should have brought the missing arrivals of a barrier.
std::vector<const Warp*> suppliers(const Cluster& cluster, const Barrier& barrier) {
  std::vector<const Warp*> list;
  std::set<const Warp*> came;
  for (const Signal& signal : barrier.current)
    if (signal.arrivals > 0) came.insert(signal.warp);
  for (const Signal& signal : barrier.previous)
    if (signal.arrivals > 0 && !came.contains(signal.warp)) list.push_back(signal.warp);
  if (!list.empty()) return list;
  std::vector<Agents> absent;
  meant(cluster, barrier, came, absent);
  for (const Agents& agents : absent)
    for (uint32_t warp = agents.first_warp; warp <= agents.last_warp; ++warp)
      list.push_back(cluster.ctas[agents.cta]->warps[warp].get());
  return list;
}

void missing_bytes(const Cluster& cluster, Waiter& waiter, const Barrier& barrier) {
  const MbarrierState& state = barrier.state;
  int64_t coming = 0;
  const AsyncOp* copy = nullptr;
  for (const auto& op : cluster.pending) {
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
void missing_arrivals(const Cluster& cluster, Waiter& waiter, const Barrier& barrier) {
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
  const std::string count = fmt::format("{} of {} arrivals are missing", barrier.state.pending, barrier.state.expected);
  if (!absent.empty()) {
    std::vector<std::string> names;
    for (const Agents& agents : absent) names.push_back(describe(agents));
    waiter.causes.push_back(fmt::format("{}: {} brought them in phase {} from {} (now: {})", count,
                                        fmt::join(names, ", "), barrier.state.phase - 1, where, doing));
    return;
  }
  // First phase, or everyone who came before came again: the policies say who is meant.
  const Warp* witness = meant(cluster, barrier, came, absent);
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

}  // namespace warploom::loom
