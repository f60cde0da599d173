// The verdict over all schedules, or over those tried. Exploration goes against the usual course at one point after
// the other (bounded partial-order reduction: only where somebody else could have gone first), in turn with schedules
// of random priorities.
#include "warploom/loom/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

namespace warploom::loom {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t small_seeds = 16;
constexpr size_t frontier_limit = 100'000;

const char* compiler() {
#if defined(__clang__)
  return "clang++ " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

/// Those tried first: every policy, every fault, every CTA of a cluster last.
std::vector<Schedule> fixed_schedules(const Schedule& base) {
  std::vector<Schedule> list;
  for (const Policy policy : {Policy::lazy, Policy::adversarial}) {
    Schedule schedule = base;
    schedule.policy = policy;
    if (policy != base.policy) list.push_back(schedule);
  }
  for (const Fault fault : all_faults) {
    Schedule schedule = base;
    schedule.add(fault);
    if (!base.has(fault)) list.push_back(schedule);
  }
  constexpr int ranks = 2;  // of larger clusters, random schedules hold others back
  for (int rank = 0; rank < ranks; ++rank) {
    Schedule schedule = base;
    schedule.policy = Policy::lazy;
    schedule.skew = rank;
    if (base.skew < 0) list.push_back(schedule);
  }
  return list;
}

/// One schedule's result.
struct Trial {
  Outcome outcome;
  std::string wrong;
  bool good() const { return outcome.ok() && wrong.empty(); }
  std::string code() const {
    return outcome.ok() ? wrong.empty() ? "" : "wrong result" : outcome.report.findings.front().code;
  }
};

class Explorer {
 public:
  Explorer(const Subject& subject, const CheckOptions& options)
      : subject_(subject), options_(options), state_(options.from), fixed_(fixed_schedules(options.run.schedule)) {}

  Verdict run() {
    verdict_.what = subject_.what;
    const auto start = std::chrono::steady_clock::now();
    if (state_.done == 0) {
      const Trial first = attempt(options_.run.schedule);
      if (!first.good()) return failed(first, options_.run.schedule);
      if (first.outcome.points.empty() && !options_.explore) return finish(Verdict::Kind::holds);
      if (!verdict_.points.empty()) extend({}, first.outcome.points);
    }
    while (state_.done < options_.schedules) {
      if (options_.seconds > 0 &&
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > options_.seconds)
        break;
      std::vector<Decision> decisions;
      const std::optional<Schedule> schedule = next(decisions);
      if (!schedule) break;
      const Trial trial = attempt(*schedule);
      if (refused(trial)) continue;
      if (!trial.good()) return failed(trial, *schedule);
      if (!decisions.empty()) extend(decisions, trial.outcome.points);
    }
    verdict_.exhausted = state_.frontier.empty() && state_.dropped == 0;
    return finish(verdict_.points.empty() ? Verdict::Kind::holds : Verdict::Kind::none_found);
  }

 private:
  Verdict finish(Verdict::Kind kind) {
    verdict_.kind = kind;
    verdict_.exploration = std::move(state_);
    return std::move(verdict_);
  }

  /// A schedule that names a CTA this launch does not have.
  static bool refused(const Trial& trial) {
    return !trial.outcome.ok() && trial.outcome.report.findings.front().code == "LAUNCH";
  }

  Trial attempt(const Schedule& schedule) {
    Options options = options_.run;
    options.check = true;
    options.schedule = schedule;
    Trial trial{subject_.launch(options), {}};
    if (trial.outcome.ok() && subject_.wrong) trial.wrong = subject_.wrong();
    if (!refused(trial)) {
      ++state_.done;
      verdict_.suppressed = std::max(verdict_.suppressed, trial.outcome.suppressed);
      note(trial.outcome.points);
    }
    if (options_.progress) options_.progress(state_);
    return trial;
  }

  void note(const std::vector<Point>& points) {
    for (const Point& point : points) {
      const auto same = [&](const Point& known) {
        return known.operation == point.operation && known.at.user.file == point.at.user.file &&
               known.at.user.line == point.at.user.line;
      };
      if (std::none_of(verdict_.points.begin(), verdict_.points.end(), same)) verdict_.points.push_back(point);
    }
  }

  /// Further decisions after those of a run, at the points it came to.
  void extend(const std::vector<Decision>& made, const std::vector<Point>& points) {
    const auto after = [](const Decision& a, const Decision& b) {
      return a.cluster != b.cluster ? a.cluster > b.cluster : a.point > b.point;
    };
    for (const Point& point : points) {
      if (!made.empty() && !after(point.decision, made.back())) continue;
      for (const Choice choice : {Choice::hold, Choice::refuse}) {
        if (choice == Choice::hold ? !point.may_hold : !point.may_refuse) continue;
        if (made.size() >= options_.deviations || state_.frontier.size() >= frontier_limit) {
          ++state_.dropped;
          continue;
        }
        std::vector<Decision> more = made;
        more.push_back({point.decision.cluster, point.decision.point, choice});
        state_.frontier.push_back(std::move(more));
      }
    }
  }

  std::optional<Schedule> next(std::vector<Decision>& decisions) {
    if (state_.next_fixed < fixed_.size()) return fixed_[state_.next_fixed++];
    state_.turn = !state_.turn;
    if (!state_.frontier.empty() && state_.turn) {
      decisions = std::move(state_.frontier.front());
      state_.frontier.erase(state_.frontier.begin());
      Schedule schedule = options_.run.schedule;
      schedule.decisions = decisions;
      return schedule;
    }
    // Odd seeds give every warp a random priority that changes now and then, even ones draw at every step.
    Schedule schedule = options_.run.schedule;
    schedule.policy = Policy::random;
    schedule.seed = state_.next_seed++;
    return schedule;
  }

  Verdict failed(const Trial& trial, const Schedule& schedule) {
    Trial shortest = trial;
    verdict_.schedule = shrink(schedule, trial.code(), shortest);
    verdict_.report = shortest.outcome.report;
    verdict_.wrong_result = shortest.wrong;
    return finish(shortest.outcome.ok() ? Verdict::Kind::wrong : Verdict::Kind::fails);
  }

  /// The same failure under a schedule that says less: none at all, fewer decisions, no fault, a small seed.
  static size_t weight(const Schedule& schedule) {
    return 4 * schedule.decisions.size() + 4 * static_cast<size_t>(std::popcount(schedule.faults)) +
           4 * static_cast<size_t>(schedule.skew >= 0) + 2 * static_cast<size_t>(schedule.policy == Policy::random) +
           static_cast<size_t>(schedule.seed >= small_seeds);
  }

  Schedule shrink(const Schedule& schedule, const std::string& code, Trial& shortest) {
    Schedule best = schedule;
    const auto still = [&](const Schedule& candidate) {
      if (weight(candidate) >= weight(best)) return false;
      Trial trial = attempt(candidate);
      if (trial.code() != code) return false;
      best = candidate;
      shortest = std::move(trial);
      return true;
    };
    for (const Policy policy : {Policy::eager, Policy::lazy, Policy::adversarial})
      if (still(Schedule{policy})) return best;
    for (size_t i = best.decisions.size(); i-- > 0;) {
      Schedule fewer = best;
      fewer.decisions.erase(fewer.decisions.begin() + static_cast<std::ptrdiff_t>(i));
      still(fewer);
    }
    for (const Fault fault : all_faults) {
      Schedule fewer = best;
      fewer.faults &= ~(1u << static_cast<uint32_t>(fault));
      still(fewer);
    }
    Schedule even = best;
    even.skew = -1;
    still(even);
    for (uint64_t seed = 1; seed < small_seeds && best.policy == Policy::random && best.seed >= small_seeds; ++seed) {
      Schedule smaller = best;
      smaller.seed = seed;
      still(smaller);
    }
    return best;
  }

  const Subject& subject_;
  const CheckOptions& options_;
  Exploration state_;
  std::vector<Schedule> fixed_;
  Verdict verdict_;
};

}  // namespace

Verdict check(const Subject& subject, const CheckOptions& options) { return Explorer(subject, options).run(); }

std::string Verdict::sentence() const {
  const std::string apart =
      suppressed == 0 ? ""
                      : fmt::format(", apart from {} suppressed finding{}", suppressed, suppressed == 1 ? "" : "s");
  switch (kind) {
    case Kind::holds:
      return fmt::format(
          "HOLDS on every schedule of this launch ({}; these inputs, this grid){}, loom model {}, as compiled by {}. "
          "Not covered: other shapes, ptxas, the model itself.",
          what, apart, model_version, compiler());
    case Kind::none_found: {
      std::string places;
      for (const Point& point : points)
        places += fmt::format("{}{} at {}:{}", places.empty() ? "" : ", ", point.operation, point.at.user.file,
                              point.at.user.line);
      return fmt::format("no failure found in {} schedules of {}{}; the run depends on the schedule: {}.{}",
                         exploration.done, what, apart, places,
                         exhausted ? " Every decision against the usual course was tried." : "");
    }
    case Kind::fails:
      return fmt::format("FAILS under schedule {}: {}", schedule.text(),
                         report.findings.empty() ? "" : report.findings.front().code);
    case Kind::wrong: return fmt::format("WRONG RESULT under schedule {}: {}", schedule.text(), wrong_result);
  }
  return {};
}

std::string Exploration::to_json() const {
  Json list = Json::array();
  for (const std::vector<Decision>& decisions : frontier) {
    Json one = Json::array();
    for (const Decision& d : decisions) one.push_back({d.cluster, d.point, static_cast<int>(d.choice)});
    list.push_back(std::move(one));
  }
  return Json{{"done", done}, {"next_fixed", next_fixed}, {"next_seed", next_seed}, {"dropped", dropped},
              {"turn", turn}, {"frontier", list}}
      .dump();
}

Result<Exploration> Exploration::from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const Error bad{"the file does not hold the state of an exploration"};
  if (!json.is_object()) return bad;
  Exploration state;
  const auto number = [&](const char* name, uint64_t& to) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number_unsigned()) return false;
    to = found->get<uint64_t>();
    return true;
  };
  if (!number("done", state.done) || !number("next_fixed", state.next_fixed) || !number("next_seed", state.next_seed) ||
      !number("dropped", state.dropped) || !json.contains("turn") || !json["turn"].is_boolean() ||
      !json.contains("frontier") || !json["frontier"].is_array())
    return bad;
  state.turn = json["turn"].get<bool>();
  for (const Json& one : json["frontier"]) {
    std::vector<Decision> decisions;
    if (!one.is_array()) return bad;
    for (const Json& d : one) {
      if (!d.is_array() || d.size() != 3 ||
          !std::all_of(d.begin(), d.end(), [](const Json& n) { return n.is_number_unsigned(); }) || d[2] > 2)
        return bad;
      decisions.push_back({d[0].get<uint32_t>(), d[1].get<uint32_t>(), static_cast<Choice>(d[2].get<int>())});
    }
    state.frontier.push_back(std::move(decisions));
  }
  return state;
}

}  // namespace warploom::loom
