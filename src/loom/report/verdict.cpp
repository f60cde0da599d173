// The verdict over all schedules, or over those tried. Exploration goes against the usual course at one point after
// the other (bounded partial-order reduction: only where somebody else could have gone first), in turn with schedules
// of random priorities.
#include "warploom/loom/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <numeric>
#include <optional>

#include "loom/report/program.hpp"
#include "loom/report/warnings.hpp"
#include "types/no_throw.hpp"

namespace warploom::loom {
namespace {

constexpr uint64_t small_seeds = 16;
constexpr size_t frontier_limit = 100'000;
/// Orders of the threads at one object that are tried: all of six, the first places of more.
constexpr uint64_t most_orders = 720;
/// Of so many schedules one is random, as long as there are decisions to be tried.
constexpr uint64_t random_every = 3;

/// Refused for what the process has, and not for what the schedule is.
bool ran_out(ErrorCode code) {
  return code == ErrorCode::out_of_memory || code == ErrorCode::no_threads || code == ErrorCode::internal;
}

/// Those tried first: every policy, every fault, each of two CTAs of a cluster last.
std::vector<Schedule> fixed_schedules(const Schedule& base, uint32_t ctas) {
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
  const int ranks = ctas > 1 ? 2 : 0;  // of larger clusters, random schedules hold others back
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
    if (outcome.ok()) return wrong.empty() ? "" : "wrong result";
    return outcome.report.findings.empty() ? "LAUNCH" : outcome.report.findings.front().code;
  }
};

class Explorer {
 public:
  Explorer(const Subject& subject, const CheckOptions& options)
      : subject_(subject), options_(options), state_(options.from.of.empty() ? Exploration() : options.from) {}

  Verdict run() {
    verdict_.what = subject_.what;
    verdict_.deviations = options_.deviations;
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Part> parts = parts_of(subject_, options_);
    const bool goes_on = !state_.of.empty();
    if (goes_on) {
      if (std::string reason = difference(state_.of, parts); !reason.empty())
        return refuse("the exploration to go on from is not this one: " + reason);
      if (std::string reason = misfit(); !reason.empty())
        return refuse("the exploration to go on from makes no sense: " + reason);
      note(state_.points);
    }
    state_.of = parts;

    // The usual course is run whatever was tried before: what one run says of all schedules, this run says.
    const Trial first = attempt(options_.run.schedule);
    if (first.outcome.refused) return refuse(first.outcome);
    verdict_.launched = first.outcome.launched;
    if (!goes_on) state_.done = 1;
    if (!first.good()) return failed(first, options_.run.schedule);
    if (state_.failure) return failed_before();
    fixed_ = fixed_schedules(options_.run.schedule, first.outcome.launched.ctas);
    if (state_.fixed > fixed_.size())
      return refuse(fmt::format("the exploration to go on from has tried {} fixed schedules, and there are {}",
                                state_.fixed, fixed_.size()));
    state_.fixed_known = fixed_.size();
    if (speaks_for_all() && !options_.explore) return finish(Verdict::Kind::holds);
    if (!goes_on || state_.known.empty()) {
      extend({}, first.outcome.points);
      add_orders(first.outcome.contests);
    }
    progress();
    while (state_.done < options_.schedules) {
      if (options_.seconds > 0 &&
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > options_.seconds)
        break;
      std::vector<Decision> decisions;
      const bool fixed = state_.fixed < fixed_.size();
      const Schedule schedule = next(decisions);
      const Trial trial = attempt(schedule);
      if (trial.outcome.refused) {
        // Of the fixed ones, some launches do not have all.
        if (!fixed || ran_out(trial.outcome.refusal)) return refuse(trial.outcome);
        ++state_.skipped;
        continue;
      }
      ++state_.done;
      if (!trial.good()) return failed(trial, schedule);
      if (!decisions.empty() && decisions.front().choice != Choice::order) extend(decisions, trial.outcome.points);
      progress();
    }
    return finish(speaks_for_all() ? Verdict::Kind::holds : Verdict::Kind::none_found);
  }

 private:
  /// What a suppressed finding is about may depend on the schedule as well.
  bool speaks_for_all() const { return verdict_.points.empty() && verdict_.suppressed == 0; }

  Verdict finish(Verdict::Kind kind) {
    verdict_.kind = kind;
    state_.points = verdict_.points;
    verdict_.exploration = std::move(state_);
    return std::move(verdict_);
  }

  Verdict refuse(const Outcome& outcome) {
    const std::vector<Finding>& findings = outcome.report.findings;
    return refuse(findings.empty() ? out_of_memory_sentence : findings.front().message, outcome.refusal);
  }

  Verdict refuse(std::string why, ErrorCode code = ErrorCode::bad_argument) {
    verdict_.refusal = std::move(why);
    verdict_.refusal_code = code;
    state_ = options_.from;
    return finish(Verdict::Kind::refused);
  }

  void progress() {
    if (!options_.progress) return;
    state_.points = verdict_.points;
    options_.progress(state_);
  }

  /// "" or what of a state cannot be, under these options.
  std::string misfit() const {
    if (std::string reason = state_.nonsense(); !reason.empty()) return reason;
    for (const std::vector<Decision>& decisions : state_.frontier)
      if (decisions.size() > std::max(1u, options_.deviations))
        return fmt::format("a schedule with {} decisions is to be tried, and {} are allowed", decisions.size(),
                           options_.deviations);
    return {};
  }

  Trial attempt(const Schedule& schedule) {
    Options options = options_.run;
    options.check = true;
    options.schedule = schedule;
    Trial trial{subject_.launch(options), {}};
    if (trial.outcome.ok() && subject_.wrong) trial.wrong = subject_.wrong();
    if (!trial.outcome.refused) {
      verdict_.suppressed = std::max(verdict_.suppressed, trial.outcome.suppressed);
      note(trial.outcome.points);
      add_warnings(verdict_.warnings, trial.outcome.report.warnings);
    }
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

  static void count(std::vector<uint64_t>& list, size_t decisions) {
    if (list.size() < decisions) list.resize(decisions);
    ++list[decisions - 1];
  }

  /// Further decisions after those of a run, at the points it came to.
  void extend(const std::vector<Decision>& made, const std::vector<Point>& points) {
    const auto after = [](const Decision& a, const Decision& b) {
      return a.cluster != b.cluster ? a.cluster > b.cluster : a.point > b.point;
    };
    for (const Point& point : points) {
      if (!made.empty() && !after(point.decision, made.back())) continue;
      const bool test = point.operation == "mbarrier.test_wait";
      for (const Choice choice : {Choice::hold, Choice::refuse, Choice::deny}) {
        if (choice == Choice::hold ? !point.may_hold : choice == Choice::refuse ? !point.may_refuse : !test) continue;
        count(state_.known, made.size() + 1);
        if (made.size() >= options_.deviations || state_.frontier.size() >= frontier_limit) continue;
        std::vector<Decision> more = made;
        more.push_back({point.decision.cluster, point.decision.point, choice});
        state_.frontier.push_back(std::move(more));
      }
    }
  }

  /// All orders of the threads that came to an object, but the one in which they came.
  void add_orders(const std::vector<Contest>& contests) {
    for (const Contest& contest : contests) {
      uint64_t all = 1;
      for (uint64_t i = 2; i <= contest.threads; ++i) all *= i;
      state_.orders_known += all - 1;
      for (uint64_t order = 1; order < std::min(all, most_orders); ++order) {
        if (state_.frontier.size() >= frontier_limit) break;
        state_.frontier.push_back({{contest.cluster, contest.point, Choice::order, static_cast<uint32_t>(order)}});
      }
    }
  }

  Schedule next(std::vector<Decision>& decisions) {
    if (state_.fixed < fixed_.size()) return fixed_[state_.fixed++];
    Schedule schedule = options_.run.schedule;
    if (!state_.frontier.empty() && ++state_.turn % random_every != 0) {
      decisions = std::move(state_.frontier.front());
      state_.frontier.pop_front();
      if (decisions.front().choice == Choice::order)
        ++state_.orders;
      else
        count(state_.made, decisions.size());
      schedule.decisions = decisions;
      return schedule;
    }
    // Odd seeds give every warp a random priority that changes now and then, even ones draw at every step.
    schedule.policy = Policy::random;
    schedule.seed = ++state_.random;
    return schedule;
  }

  Verdict failed(const Trial& trial, const Schedule& schedule) {
    Trial shortest = trial;
    verdict_.schedule = shrink(schedule, trial.code(), shortest);
    verdict_.report = shortest.outcome.report;
    verdict_.wrong_result = shortest.wrong;
    state_.failure = {verdict_.schedule.text(), trial.code()};
    progress();
    return finish(shortest.outcome.ok() ? Verdict::Kind::wrong : Verdict::Kind::fails);
  }

  /// The exploration to go on from has ended with a failure: here it is again.
  Verdict failed_before() {
    const Schedule schedule = *Schedule::parse(state_.failure->schedule);
    const Trial trial = attempt(schedule);
    if (trial.outcome.refused) return refuse(trial.outcome);
    if (!trial.good()) return failed(trial, schedule);
    return refuse(fmt::format(
        "the exploration to go on from has found {} under schedule {}, and here that schedule is clean: the launch is "
        "not the same each time",
        state_.failure->code, state_.failure->schedule));
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

Verdict check(const Subject& subject, const CheckOptions& options) {
  return no_throw<Verdict>([&] { return Explorer(subject, options).run(); },
                           [](Error error) {
                             Verdict verdict;
                             verdict.kind = Verdict::Kind::refused;
                             verdict.refusal = std::move(error.message);
                             verdict.refusal_code = error.code;
                             return verdict;
                           });
}

namespace {

std::string counted(uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string in_words(const std::vector<std::string>& list) {
  if (list.size() < 2) return list.empty() ? "" : list.front();
  return fmt::format("{} and {}", fmt::join(list.begin(), list.end() - 1, ", "), list.back());
}

}  // namespace

std::string Verdict::tried() const {
  const Exploration& e = exploration;
  if (e.done < 2) return {};
  std::vector<std::string> list{"the usual course"};
  list.push_back(fmt::format("{} of {} fixed schedules (policies, faults, a CTA held back)", e.fixed - e.skipped,
                             e.fixed_known - e.skipped));
  for (size_t i = 0; i < e.known.size() && i < deviations; ++i)
    list.push_back(fmt::format("{} of {} known with {}", i < e.made.size() ? e.made[i] : 0, e.known[i],
                               counted(i + 1, "decision")));
  if (e.orders_known != 0)
    list.push_back(fmt::format("{} of {} orders of the threads at one object", e.orders, e.orders_known));
  list.push_back(counted(e.random, "random one"));
  return fmt::format("Tried: {}.", in_words(list));
}

std::vector<std::string> Verdict::not_covered() const {
  const Exploration& e = exploration;
  std::vector<std::string> list;
  if (launched.clusters > 1 && launched.talks_across_clusters)
    list.emplace_back("clusters that run at the same time (they ran one after the other, in several orders)");
  uint64_t left = 0;
  for (size_t i = 0; i < e.known.size() && i < deviations; ++i)
    left += e.known[i] - (i < e.made.size() ? e.made[i] : 0);
  if (left != 0)
    list.push_back(fmt::format("the {} with decisions that were not tried", counted(left, "known schedule")));
  if (e.known.size() > deviations)
    list.push_back(fmt::format("more than {} in one schedule", counted(deviations, "decision")));
  if (e.orders < e.orders_known)
    list.push_back(fmt::format("{} of threads at one object", counted(e.orders_known - e.orders, "order")));
  return list;
}

std::string Verdict::sentence() const {
  std::string apart = suppressed == 0
                          ? ""
                          : fmt::format(", apart from {} suppressed finding{}", suppressed, suppressed == 1 ? "" : "s");
  if (!warnings.empty()) {
    apart += fmt::format("{} {}: ", apart.empty() ? ", apart from" : " and", counted(warnings.size(), "warning"));
    for (const Finding& warning : warnings)
      apart += fmt::format("{}{} at {}:{}", &warning == &warnings.front() ? "" : ", ", warning.code,
                           warning.at.user.file, warning.at.user.line);
  }
  switch (kind) {
    case Kind::holds:
      return fmt::format(
          "HOLDS on every schedule of this launch{} ({}; these inputs, this grid){}, loom model {}, as compiled by {}. "
          "Not covered: other shapes, plain C++ accesses to global memory, ptxas, the model itself.",
          launched.processors == 0 ? "" : fmt::format(" on {}", counted(launched.processors, "processor")), what, apart,
          model_version, compiler());
    case Kind::none_found: {
      std::string places;
      for (const Point& point : points)
        places += fmt::format("{}{} at {}:{}", places.empty() ? "" : ", ", point.operation, point.at.user.file,
                              point.at.user.line);
      if (places.empty()) places = "what was suppressed may";
      const std::string numbers = tried(), rest = in_words(not_covered());
      return fmt::format(
          "no failure found in {} of {}{}{}; the run depends on the schedule: {}.{}{}",
          counted(exploration.done, "schedule"), what,
          launched.processors == 0 ? "" : fmt::format(" on {}", counted(launched.processors, "processor")), apart,
          places, numbers.empty() ? "" : " " + numbers, rest.empty() ? "" : fmt::format(" Not covered: {}.", rest));
    }
    case Kind::fails:
      return fmt::format("FAILS under schedule {}: {}", schedule.text(),
                         report.findings.empty() ? "" : report.findings.front().code);
    case Kind::wrong: return fmt::format("WRONG RESULT under schedule {}: {}", schedule.text(), wrong_result);
    case Kind::refused: return fmt::format("no verdict on {}: {}", what, refusal);
  }
  return {};
}

}  // namespace warploom::loom
