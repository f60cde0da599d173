#include "fuzz/differential.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <set>

namespace warploom::loom::fuzz {
namespace {

/// Codes that say that the machine went wrong, not the program: the interpreter makes no stray access.
bool is_crash(const Report& report) {
  static const std::set<std::string> codes{"FAULT", "STACK", "EXCEPTION", "ENDLESS-LOOP", "LAUNCH"};
  return !report.clean() && codes.contains(report.findings.front().code);
}

Judgement bad(Kind kind, const Schedule& schedule, const Ran& ran, const char* values = "") {
  return {kind, schedule, ran.clean() ? values : ran.report.findings.front().code, ran.report};
}

/// "", or how a run is not like the first.
const char* difference(const Ran& ran, const Ran& first, const Trial& trial) {
  if (!ran.clean()) return "a finding";
  if (ran.read != first.read) return "threads read other values";
  return trial.memory_at_end && ran.left != first.left ? "global memory ends with other values" : "";
}

}  // namespace

std::vector<Schedule> schedules_for(const Program& program, uint32_t seeds) {
  std::vector<Schedule> list{{Policy::lazy}, {Policy::adversarial}};
  for (uint64_t seed = 1; seed <= seeds; ++seed) list.push_back({Policy::random, seed});
  list.push_back({Policy::lazy, 5});
  list.push_back({Policy::adversarial, 6});
  if (program.uses_any({Op::bulk_load_multicast, Op::send, Op::send_reduce, Op::store_async, Op::commit})) {
    list.push_back({Policy::eager});
    list.back().add(Fault::multicast);
    list.push_back({Policy::random, 7});
    list.back().add(Fault::multicast);
  }
  if (program.uses_any({Op::test, Op::test_token, Op::poll})) {
    list.push_back({Policy::eager});
    list.back().add(Fault::timeout);
  }
  if (program.uses(Op::try_cancel)) {
    list.push_back({Policy::eager});
    list.back().add(Fault::clc);
  }
  for (int skew = 0; program.ctas > 1 && skew < program.ctas; ++skew)
    list.push_back({skew % 2 == 0 ? Policy::eager : Policy::random, 0, skew});
  return list;
}

Judgement judge(const Program& program, const Trial& trial) {
  Ran first = run(program, trial.first, true, trial.without);
  std::erase_if(first.points, [&](const Point& point) {
    return std::any_of(trial.without.begin(), trial.without.end(),
                       [&](const std::string& rule) { return rule == "points" || rule == point.operation; });
  });
  if (is_crash(first.report)) return bad(Kind::crashed, trial.first, first);
  if (!first.clean()) return {Kind::finding, trial.first, first.report.findings.front().code, {}};
  if (!first.points.empty()) {
    // Nothing is claimed, but the machine must bear it.
    const Schedule other{Policy::random, 3};
    const Ran second = run(program, other, true, trial.without);
    if (is_crash(second.report)) return bad(Kind::crashed, other, second);
    return {Kind::points, trial.first, {}, {}};
  }
  const std::vector<Schedule> schedules = schedules_for(program, trial.seeds);
  for (size_t i = 0; i < schedules.size(); ++i) {
    const Ran other = run(program, schedules[i], true, trial.without);
    if (is_crash(other.report)) return bad(Kind::crashed, schedules[i], other);
    if (const char* how = difference(other, first, trial); *how != '\0')
      return bad(Kind::refuted, schedules[i], other, how);
    if (i > 1) continue;
    // The values do not depend on whether anybody watches.
    const Ran unwatched = run(program, schedules[i], false);
    if (const char* how = difference(unwatched, first, trial); *how != '\0')
      return bad(Kind::refuted, schedules[i], unwatched, how);
  }
  return {};
}

namespace {

class Shrinker {
 public:
  Shrinker(const Program& program, const Trial& trial)
      : best_(program), trial_(trial), how_(judge(program, trial).how) {}

  Program shrunk() {
    // Each round tries everything once; a program of some dozens of steps takes three or four rounds.
    for (uint32_t round = 0; round < 8; ++round) {
      const Program before = best_;
      drop_bodies();
      drop_steps();
      smaller_machine();
      simpler_steps();
      if (best_.steps() <= 24) drop_pairs();
      if (before.grids == best_.grids && before.counts == best_.counts && before.ctas == best_.ctas &&
          before.warps == best_.warps && before.clusters == best_.clusters)
        break;
    }
    return best_;
  }

 private:
  bool keep(const Program& candidate) {
    const Judgement judgement = judge(candidate, trial_);
    if (judgement.kind != Kind::refuted && judgement.kind != Kind::crashed) return false;
    if (judgement.how != how_) return false;  // refuted, but for another reason
    best_ = candidate;
    return true;
  }
  template <class Change>
  bool attempt(Change&& change) {
    Program candidate = best_;
    change(candidate);
    return keep(candidate);
  }

  void drop_bodies() {
    for (size_t g = 0; g < best_.grids.size(); ++g)
      for (size_t w = 0; w < best_.grids[g].size(); ++w)
        if (!best_.grids[g][w].empty()) attempt([&](Program& p) { p.grids[g][w].clear(); });
    for (size_t g = best_.grids.size(); g-- > 0 && best_.grids.size() > 1;)
      attempt([&](Program& p) { p.grids.erase(p.grids.begin() + static_cast<std::ptrdiff_t>(g)); });
  }

  void drop_steps() {
    // A step of all warps goes from all of them at once, or the rest would wait.
    for (const Op op : {Op::syncthreads, Op::cluster_arrive, Op::cluster_wait, Op::bar_sync, Op::set_registers})
      if (best_.uses(op))
        attempt([&](Program& p) {
          for (Bodies& bodies : p.grids)
            for (auto& body : bodies) std::erase_if(body, [&](const Step& step) { return step.op == op; });
        });
    attempt([&](Program& p) {
      for (Bodies& bodies : p.grids)
        for (auto& body : bodies)
          std::erase_if(body, [&](const Step& s) { return s.op == Op::cluster_arrive || s.op == Op::cluster_wait; });
    });
    for (uint32_t b = 0; b < barrier_count; ++b)
      if (best_.counts[b] != 0)
        attempt([&](Program& p) {
          p.counts[b] = 0;
          for (Bodies& bodies : p.grids)
            for (auto& body : bodies)
              std::erase_if(body, [&](const Step& step) {
                const Operands& operands = operands_of(step.op);
                for (uint32_t i = 0; i < 4; ++i)
                  if (operands.kind[i] == 'B' && step.x[i] == b) return true;
                return false;
              });
        });
    for (size_t g = 0; g < best_.grids.size(); ++g)
      for (size_t w = 0; w < best_.grids[g].size(); ++w)
        for (size_t chunk : {4, 2, 1})
          for (size_t i = best_.grids[g][w].size(); i-- > 0;) {
            if (i + chunk > best_.grids[g][w].size()) continue;
            attempt([&](Program& p) {
              auto& body = p.grids[g][w];
              const auto at = body.begin() + static_cast<std::ptrdiff_t>(i);
              body.erase(at, at + static_cast<std::ptrdiff_t>(chunk));
            });
          }
    // The same step of several warps (a warpgroup's, say).
    for (size_t g = 0; g < best_.grids.size(); ++g)
      for (size_t w = 0; w < best_.grids[g].size(); ++w)
        for (size_t i = best_.grids[g][w].size(); i-- > 0;) {
          if (i >= best_.grids[g][w].size()) continue;
          const Step step = best_.grids[g][w][i];
          attempt([&](Program& p) {
            for (auto& body : p.grids[g])
              if (const auto at = std::find(body.begin(), body.end(), step); at != body.end()) body.erase(at);
          });
        }
  }

  /// An arrival and its wait, say, of which neither can go alone.
  void drop_pairs() {
    struct Place {
      size_t grid, body, step;
    };
    std::vector<Place> places;
    for (size_t g = 0; g < best_.grids.size(); ++g)
      for (size_t w = 0; w < best_.grids[g].size(); ++w)
        for (size_t i = best_.grids[g][w].size(); i-- > 0;) places.push_back({g, w, i});
    for (size_t i = 0; i < places.size(); ++i)
      for (size_t j = i + 1; j < places.size(); ++j)
        if (attempt([&](Program& p) {
              for (const Place& place : {places[i], places[j]}) {  // of one body the later step first
                auto& body = p.grids[place.grid][place.body];
                body.erase(body.begin() + static_cast<std::ptrdiff_t>(place.step));
              }
            }))
          return drop_pairs();
  }

  void smaller_machine() {
    while (best_.ctas > 1 && attempt([](Program& p) {
             for (Bodies& bodies : p.grids) bodies.resize(bodies.size() - p.warps);
             --p.ctas;
           })) {
    }
    // A warp without steps, the last of each CTA or another.
    for (uint32_t w = best_.warps; w-- > 0 && best_.warps > 1;) {
      if (w >= best_.warps) continue;
      attempt([&](Program& p) {
        for (Bodies& bodies : p.grids)
          for (uint32_t cta = p.ctas; cta-- > 0;)
            bodies.erase(bodies.begin() + static_cast<std::ptrdiff_t>(cta * p.warps + w));
        --p.warps;
      });
    }
    while (best_.clusters > 1 && attempt([](Program& p) { --p.clusters; })) {
    }
    if (!best_.fill_cells) attempt([](Program& p) { p.fill_cells = true; });
    if (best_.registers != 0) attempt([](Program& p) { p.registers = 0; });
    if (best_.processors > 1) attempt([](Program& p) { p.processors = 1; });
    for (uint32_t b = 0; b < barrier_count; ++b) {
      if (best_.counts[b] != 0) attempt([&](Program& p) { p.counts[b] = 0; });
      while (best_.counts[b] > 1 && attempt([&](Program& p) { --p.counts[b]; })) {
      }
    }
  }

  void simpler_steps() {
    for (size_t g = 0; g < best_.grids.size(); ++g)
      for (size_t w = 0; w < best_.grids[g].size(); ++w)
        for (size_t i = 0; i < best_.grids[g][w].size(); ++i) {
          const Step step = best_.grids[g][w][i];
          const Operands& operands = operands_of(step.op);
          const auto change = [&](auto&& edit) { return attempt([&](Program& p) { edit(p.grids[g][w][i]); }); };
          if (step.cluster >= 0) change([](Step& s) { s.cluster = -1; });
          if (!operands.whole_warp && !std::has_single_bit(step.lanes) && operands.kind[4] != 'M')
            change([](Step& s) { s.lanes = 1; });
          for (uint32_t x = 0; x < 4; ++x)
            if (step.x[x] != 0 && operands.kind[x] != 'B' && operands.kind[x] != 'T')
              change([&](Step& s) { s.x[x] = 0; });
          const char kind = operands.kind[4];
          if (kind == 'V' && step.n != 0) change([](Step& s) { s.n = 0; });
          if ((kind == 'P' || kind == 'N') && step.n > 1) change([](Step& s) { --s.n; });
        }
  }

  Program best_;
  Trial trial_;
  std::string how_;
};

}  // namespace

Program shrink(const Program& program, const Trial& trial) { return Shrinker(program, trial).shrunk(); }

std::string to_text(const Refutation& refutation) {
  const Judgement& j = refutation.judgement;
  std::string text = fmt::format("{} on {} ({}; from seed {})\n", j.kind == Kind::crashed ? "CRASHED" : "REFUTED",
                                 j.schedule.text(), j.how, refutation.seed);
  text += to_text(refutation.program);
  if (!j.report.clean()) text += fmt::format("  there: {}: {}\n", j.how, j.report.findings.front().message);
  return text;
}

std::string signature(const Refutation& refutation) {
  std::set<std::string> ops;
  for (const Bodies& bodies : refutation.program.grids)
    for (const auto& body : bodies)
      for (const Step& step : body) ops.insert(to_string(step.op));
  return fmt::format("{}: {}", refutation.judgement.how, fmt::join(ops, " "));
}

}  // namespace warploom::loom::fuzz
