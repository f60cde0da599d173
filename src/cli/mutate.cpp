// warploom mutate: every mutation of every barrier operation of a kernel, each under the checker.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "cli/interruption.hpp"
#include "cli/lines.hpp"
#include "cli/session.hpp"
#include "cli/tell.hpp"

namespace warploom::cli {
namespace {

constexpr const char* unseen = "not seen";
constexpr const char* wrong_result = "wrong result";

/// What became of one mutation.
struct Fate {
  std::string verdict = unseen;  ///< a code, or one of the above
  std::string seen_under = {};   ///< the schedule that showed it
  bool differs = false;          ///< some schedules report it and others do not
  std::set<std::string> codes = {};
};

class Mutator {
 public:
  Mutator(Session& session, loom::Options options, std::vector<loom::Schedule> schedules, bool every)
      : session_(session), options_(std::move(options)), schedules_(std::move(schedules)), every_(every) {}

  Result<Fate> alter(const loom::Site& site, loom::MutationKind kind) {
    options_.mutation = loom::Mutation{site.key(), kind};
    Fate fate;
    size_t reported = 0, tried = 0;
    for (const loom::Schedule& schedule : schedules_) {
      options_.schedule = schedule;
      Result<loom::Outcome> outcome = session_.launch(options_);
      if (!outcome) return outcome.why();
      // Memory or threads ran out: that says nothing about the mutation.
      if (outcome->refused) return why_refused(*outcome);
      ++tried;
      std::string verdict;
      if (!outcome->ok())
        verdict = outcome->report.findings.front().code;
      else if (!session_.correct(session_.compare()))
        verdict = wrong_result;
      if (verdict.empty()) continue;
      if (!outcome->ok()) {
        ++reported;
        fate.codes.insert(verdict);
      }
      if (fate.verdict == unseen || (fate.verdict == wrong_result && !outcome->ok())) {
        fate.verdict = verdict;
        fate.seen_under = schedule.text();
      }
      if (!every_ && !outcome->ok()) break;
    }
    fate.differs = every_ && reported != 0 && reported != tried;
    return fate;
  }

 private:
  Session& session_;
  loom::Options options_;
  std::vector<loom::Schedule> schedules_;
  bool every_;
};

/// What became of all of them so far, for whoever ends the program in the middle, too.
class Tally {
 public:
  Tally(const RunArguments& arguments, const MutateArguments& how, const Session& session,
        const std::vector<loom::Site>& sites, size_t schedules)
      : arguments_(arguments), how_(how), session_(session), sites_(sites), schedules_(schedules) {
    for (const loom::Site& site : sites) planned_ += loom::mutations_of(site.operation).size();
  }

  size_t planned() const { return planned_; }
  size_t done() const { return total_; }

  void add(size_t site, loom::MutationKind kind, const Fate& fate) {
    const loom::Site& at = sites_[site];
    ++total_;
    if (fate.verdict == unseen)
      silent_.push_back(fmt::format("{:<12} {}", to_string(kind), describe(at)));
    else if (fate.verdict == wrong_result)
      ++wrong_;
    else
      ++reported_;
    if (fate.differs) split_.push_back(fmt::format("{:<12} {}", to_string(kind), describe(at)));
    list_.push_back({{"site", site},
                     {"operation", at.operation},
                     {"object", at.object},
                     {"file", at.at.user.file},
                     {"line", at.at.user.line},
                     {"mutation", to_string(kind)},
                     {"verdict", fate.verdict},
                     {"codes", fate.codes},
                     {"schedule", fate.seen_under},
                     {"differs", fate.differs}});
  }

  void tell(bool was_interrupted) const {
    if (arguments_.json) {
      put_json({{"kernel", arguments_.kernel},
                {"config", session_.config()},
                {"instead_of", session_.instead_of()},
                {"target", session_.target()},
                {"interrupted", was_interrupted},
                {"checked", !how_.unchecked},
                {"schedules", how_.every_schedule ? schedules_ : 1},
                {"planned", planned_},
                {"mutants", total_},
                {"reported", reported_},
                {"wrong_result", wrong_},
                {"not_seen", silent_.size()},
                {"differing", split_.size()},
                {"lines", has_line_information()},
                {"list", list_}});
      return;
    }
    if (was_interrupted) say("\ninterrupted after {} of {} mutations\n", total_, planned_);
    const double share = total_ == 0 ? 0 : 100.0 * static_cast<double>(reported_) / static_cast<double>(total_);
    say("\n{} mutations of {} barrier operations: {} reported with a cause ({:.0f} %), {} gave a wrong result only, "
        "{} not seen\n",
        total_, sites_.size(), reported_, share, wrong_, silent_.size());
    for (const std::string& text : silent_) say("  not seen: {}\n", text);
    if (!how_.every_schedule) return;
    say("{} of them reported under some of {} schedules and not under others\n", split_.size(), schedules_);
    for (const std::string& text : split_) say("  {}\n", text);
  }

 private:
  const RunArguments& arguments_;
  const MutateArguments& how_;
  const Session& session_;
  const std::vector<loom::Site>& sites_;
  size_t schedules_;
  size_t planned_ = 0, total_ = 0, reported_ = 0, wrong_ = 0;
  std::vector<std::string> silent_, split_;
  Json list_ = Json::array();
};

}  // namespace

int mutate(const RunArguments& arguments, const MutateArguments& how) {
  const bool own_schedule = arguments.gave("--schedule") || arguments.gave("--policy") || arguments.gave("--seed");
  if (own_schedule && how.every_schedule)
    return bad("--every-schedule tries eight schedules; leave out --schedule, --policy and --seed", arguments.json);
  std::optional<Tally> tally;
  Interruption interruption({.last = [&](int signal) {
    if (tally)
      tally->tell(true);
    else
      fail({"interrupted before the first mutation"}, arguments.json, signal);
  }});
  Result<std::unique_ptr<Session>> prepared = Session::prepare(arguments);
  if (!prepared) return bad(prepared, arguments.json);
  Session* const session = prepared->get();
  if (session->target() == "gpu") return bad("mutations need the loom: --on loom:sm90", arguments.json);
  loom::Options options = session->options();
  options.check = !how.unchecked;
  // A mutation that one schedule forgives another may not: unless one is asked for, several are tried in turn.
  std::vector<loom::Schedule> schedules{options.schedule};
  if (!own_schedule)
    for (const char* text : {"lazy", "adversarial", "random:1", "random:2", "random:3", "random:4", "lazy:0:skew=0"})
      schedules.push_back(*loom::Schedule::parse(text));
  options.record_sites = true;
  Result<loom::Outcome> original = session->launch(options);
  if (!original) return bad(original, arguments.json);
  if (original->refused) return refused(*original, arguments.json);
  if (!original->ok() || !session->correct(session->compare())) {
    if (!arguments.json) put(to_text(original->report));
    return bad("the kernel as written does not run correctly, so altering it shows nothing", arguments.json);
  }
  options.record_sites = false;
  options.step_limit = 20 * original->steps + 1000;

  Mutator mutator(*session, options, schedules, how.every_schedule);
  {
    const auto held = interruption.hold();
    tally.emplace(arguments, how, *session, original->sites, schedules.size());
    if (!arguments.json) remark_on_missing_lines();
  }
  Progress progress;
  for (size_t i = 0; i < original->sites.size(); ++i) {
    const loom::Site& site = original->sites[i];
    std::string line;
    for (loom::MutationKind kind : loom::mutations_of(site.operation)) {
      progress.show(tally->done(), tally->planned(), "mutations");
      Result<Fate> fate = mutator.alter(site, kind);
      if (!fate) {
        interruption.over();
        return bad(fate, arguments.json);
      }
      const auto held = interruption.hold();
      tally->add(i, kind, *fate);
      line += fmt::format("  {} {}", to_string(kind), fate->verdict);
      if (!fate->seen_under.empty() && fate->seen_under != schedules.front().text())
        line += fmt::format(" ({})", fate->seen_under);
    }
    if (arguments.json) continue;
    const auto held = interruption.hold();
    progress.clear();
    say("{:3}  {}\n      {}\n", i, describe(site), line);
    flush();
  }
  interruption.over();
  progress.clear();
  tally->tell(false);
  return right;
}

}  // namespace warploom::cli
