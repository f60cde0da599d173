// Findings about foreign code after which the run goes on (severity.hpp): each place once, and how often.
#include "loom/report/warnings.hpp"

#include <algorithm>
#include <tuple>

#include "loom/exec/cluster.hpp"
#include "loom/report/agents.hpp"
#include "loom/report/symbols.hpp"

namespace warploom::loom {

bool warns(const Cluster& cluster, const char* code, Concern concern) {
  return cluster.launch().options->foreign && warning_of(code, concern) != nullptr;
}

void add_warning(Cluster& cluster, const Warp* warp, uint32_t lanes, Pc pc, const char* code, Concern concern,
                 std::string message, std::vector<std::string> notes, std::vector<OtherSide> sides) {
  std::vector<Pc> places{pc};
  for (const OtherSide& side : sides) places.push_back(side.pc);
  const auto [known, added] =
      cluster.findings.warned.try_emplace({code, std::move(places)}, cluster.findings.report.warnings.size());
  if (!added) {
    ++cluster.findings.report.warnings[known->second].times;
    return;
  }
  Finding warning{.code = code, .message = std::move(message), .agent = {}, .at = {}, .notes = std::move(notes)};
  warning.severity = Severity::warning;
  warning.clause = warning_of(code, concern)->clause;
  if (warp != nullptr) warning.agent = agents_of(*warp, lanes);
  for (OtherSide& side : sides)
    warning.sides.push_back(
        {std::move(side.what), side.warp != nullptr ? agents_of(*side.warp, side.lanes) : side.agents, {}});
  cluster.findings.report.warnings.push_back(std::move(warning));
}

bool ends_run(Thread& thread, Pc pc, const char* code, std::string message, std::vector<std::string> notes) {
  Cluster& cluster = *thread.cluster;
  if (warns(cluster, code, Concern::any)) {
    add_warning(cluster, thread.warp, 1u << thread.id.lane, pc, code, Concern::any, std::move(message),
                std::move(notes), {});
    return false;
  }
  add_finding(cluster, &thread, pc, code, std::move(message), std::move(notes));
  return true;
}

void Cluster::fail_or_warn(Thread& thread, Pc pc, const char* code, std::string message,
                           std::vector<std::string> notes) {
  if (!warns(*this, code, Concern::any)) fail(thread, pc, code, std::move(message), std::move(notes));
  add_warning(*this, thread.warp, 1u << thread.id.lane, pc, code, Concern::any, std::move(message), std::move(notes),
              {});
}

void locate_warnings(Cluster& cluster) {
  for (const auto& [key, index] : cluster.findings.warned) {
    Finding& warning = cluster.findings.report.warnings[index];
    const std::vector<Pc>& places = key.second;
    warning.at = location(places.front());
    if (std::string inlined = inlined_at(places.front()); !inlined.empty()) warning.notes.push_back(std::move(inlined));
    for (size_t side = 0; side < warning.sides.size(); ++side) warning.sides[side].at = location(places[side + 1]);
  }
}

void add_warnings(std::vector<Finding>& all, std::vector<Finding> more) {
  const auto line_of = [](const Location& at) { return std::tie(at.user.file, at.user.line); };
  const auto same = [&](const Finding& one, const Finding& two) {
    return one.code == two.code && line_of(one.at) == line_of(two.at) && one.sides.size() == two.sides.size() &&
           std::equal(one.sides.begin(), one.sides.end(), two.sides.begin(),
                      [&](const FindingSide& a, const FindingSide& b) { return line_of(a.at) == line_of(b.at); });
  };
  for (Finding& warning : more) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const Finding& one) { return same(one, warning); });
    if (known == all.end())
      all.push_back(std::move(warning));
    else
      known->times += warning.times;
  }
}

}  // namespace warploom::loom
