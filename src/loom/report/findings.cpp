// Findings, from the moment at which a rule is broken to a report with lines.
#include "loom/report/findings.hpp"

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/report/agents.hpp"
#include "loom/report/diagnose.hpp"
#include "loom/report/symbols.hpp"

namespace warploom::loom {

namespace {

bool let_pass(Cluster& cluster, Pc pc, const char* code, const std::vector<OtherSide>& sides) {
  const auto& list = cluster.options().suppressed;
  if (std::none_of(list.begin(), list.end(), [&](const Suppression& known) { return known.code == code; }))
    return false;
  const auto matches = [&](Pc place) {
    const Location at = cluster.running() != nullptr ? cluster.location_from_fiber(place) : location(place);
    return std::any_of(list.begin(), list.end(),
                       [&](const Suppression& known) { return known.code == code && known.matches(at); });
  };
  std::vector<Pc> places{pc};
  for (const OtherSide& side : sides) places.push_back(side.pc);
  const auto [entry, added] = cluster.findings.passed_by.try_emplace({code, places}, false);
  if (added) {
    entry->second = std::any_of(places.begin(), places.end(), matches);
  }
  if (entry->second) ++cluster.findings.let_pass_count;
  return entry->second;
}

}  // namespace

void add_finding(Cluster& cluster, Thread* thread, Pc pc, const char* code, std::string message,
                 std::vector<std::string> notes) {
  cluster.findings.dead = true;
  Finding finding{.code = code, .message = std::move(message), .agent = {}, .at = {}, .notes = std::move(notes)};
  if (thread != nullptr) finding.agent = agents_of(*thread->warp, 1u << thread->id.lane);
  cluster.findings.report.cluster = cluster.index();
  cluster.findings.report.findings.push_back(std::move(finding));
  cluster.findings.pcs.push_back(pc);
  cluster.findings.side_pcs.emplace_back();
}

void stop(Cluster& cluster, const Warp* warp, uint32_t lanes, Pc pc, const char* code, std::string message,
          std::vector<std::string> notes, std::vector<OtherSide> sides, Concern concern) {
  if (!cluster.dead() && let_pass(cluster, pc, code, sides)) return;
  if (!cluster.dead() && warns(cluster, code, concern))
    return add_warning(cluster, warp, lanes, pc, code, concern, std::move(message), std::move(notes), std::move(sides));
  if (!cluster.dead()) {
    add_finding(cluster, nullptr, pc, code, std::move(message), std::move(notes));
    Finding& finding = cluster.findings.report.findings.back();
    if (warp != nullptr) finding.agent = agents_of(*warp, lanes);
    for (OtherSide& side : sides) {
      finding.sides.push_back(
          {std::move(side.what), side.warp != nullptr ? agents_of(*side.warp, side.lanes) : side.agents, {}});
      cluster.findings.side_pcs.back().push_back(side.pc);
    }
  }
  if (cluster.running() == nullptr) return;
  for (;;) cluster.running()->fiber.suspend();
}

void fail_async(const AsyncOp& op, const char* code, std::string message) {
  ends_run(*op.issuer, op.pc, code, std::move(message));
}

void locate_findings(Cluster& cluster) {
  for (size_t i = 0; i < cluster.findings.report.findings.size(); ++i) {
    cluster.findings.report.findings[i].at = location(cluster.findings.pcs[i]);
    if (std::string inlined = inlined_at(cluster.findings.pcs[i]); !inlined.empty())
      cluster.findings.report.findings[i].notes.push_back(std::move(inlined));
    for (size_t side = 0; side < cluster.findings.report.findings[i].sides.size(); ++side)
      cluster.findings.report.findings[i].sides[side].at = location(cluster.findings.side_pcs[i][side]);
  }
  locate_warnings(cluster);
  if (!cluster.findings.report.clean() && cluster.findings.report.findings.front().code == "STEP-LIMIT")
    cluster.findings.report.waiting = waiters_of(cluster);
}

}  // namespace warploom::loom
