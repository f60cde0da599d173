// warploom mutate: every alteration of every barrier operation of a kernel, each under the checker.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/session.hpp"
#include "cli/tell.hpp"

namespace warploom::cli {
namespace {

constexpr const char* unseen = "not seen";
constexpr const char* wrong_result = "wrong result";

/// What became of one alteration.
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

  Result<Fate> alter(const loom::Site& site, loom::Alteration alteration) {
    options_.mutation = loom::Mutation{site.key(), alteration};
    Fate fate;
    size_t reported = 0, tried = 0;
    for (const loom::Schedule& schedule : schedules_) {
      options_.schedule = schedule;
      Result<loom::Outcome> outcome = session_.launch(options_);
      if (!outcome) return Error{outcome.error()};
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

}  // namespace

int mutate(const RunArguments& arguments, const MutateArguments& how) {
  Result<std::unique_ptr<Session>> prepared = Session::prepare(arguments);
  if (!prepared) return bad(prepared.error(), arguments.json);
  Session* const session = prepared->get();
  if (session->target() == "gpu") return bad("mutations need the loom: --on loom:sm90", arguments.json);
  loom::Options options = session->options();
  options.check = !how.unchecked;
  // An alteration that one schedule forgives another may not: unless one is asked for, several are tried in turn.
  std::vector<loom::Schedule> schedules{options.schedule};
  if (arguments.schedule.empty() && arguments.policy.empty() && arguments.seed == 0)
    for (const char* text : {"lazy", "adversarial", "random:1", "random:2", "random:3", "random:4", "lazy:0:skew=0"})
      schedules.push_back(*loom::Schedule::parse(text));
  options.record_sites = true;
  Result<loom::Outcome> original = session->launch(options);
  if (!original) return bad(original.error(), arguments.json);
  if (!original->ok() || !session->correct(session->compare())) {
    if (!arguments.json) fmt::print("{}", to_text(original->report));
    return bad("the kernel as written does not run correctly, so altering it shows nothing", arguments.json);
  }
  options.record_sites = false;
  options.step_limit = 20 * original->steps + 1000;

  Mutator mutator(*session, options, schedules, how.every_schedule);
  Json list = Json::array();
  uint32_t total = 0, reported = 0, wrong = 0, differing = 0;
  std::vector<std::string> silent, split;
  for (size_t i = 0; i < original->sites.size(); ++i) {
    const loom::Site& site = original->sites[i];
    std::string line;
    for (loom::Alteration alteration : loom::alterations_of(site.operation)) {
      Result<Fate> fate = mutator.alter(site, alteration);
      if (!fate) return bad(fate.error(), arguments.json);
      ++total;
      if (fate->verdict == unseen)
        silent.push_back(fmt::format("{:<12} {}", to_string(alteration), describe(site)));
      else if (fate->verdict == wrong_result)
        ++wrong;
      else
        ++reported;
      if (fate->differs) {
        ++differing;
        split.push_back(fmt::format("{:<12} {}", to_string(alteration), describe(site)));
      }
      list.push_back({{"site", i},
                      {"operation", site.operation},
                      {"object", site.object},
                      {"file", site.at.user.file},
                      {"line", site.at.user.line},
                      {"alteration", to_string(alteration)},
                      {"verdict", fate->verdict},
                      {"codes", fate->codes},
                      {"schedule", fate->seen_under},
                      {"differs", fate->differs}});
      line += fmt::format("  {} {}", to_string(alteration), fate->verdict);
      if (!fate->seen_under.empty() && fate->seen_under != schedules.front().text())
        line += fmt::format(" ({})", fate->seen_under);
    }
    if (!arguments.json) fmt::print("{:3}  {}\n      {}\n", i, describe(site), line);
  }
  const double share = total == 0 ? 0 : 100.0 * reported / total;
  if (arguments.json) {
    fmt::print("{}\n", Json{{"kernel", arguments.kernel},
                            {"config", session->config()},
                            {"instead_of", session->instead_of()},
                            {"target", session->target()},
                            {"checked", !how.unchecked},
                            {"schedules", how.every_schedule ? schedules.size() : 1},
                            {"mutants", total},
                            {"reported", reported},
                            {"wrong_result", wrong},
                            {"not_seen", silent.size()},
                            {"differing", differing},
                            {"list", list}}
                           .dump(2));
    return 0;
  }
  fmt::print(
      "\n{} alterations of {} barrier operations: {} reported with a cause ({:.0f} %), {} gave a wrong result only, "
      "{} not seen\n",
      total, original->sites.size(), reported, share, wrong, silent.size());
  for (const std::string& text : silent) fmt::print("  not seen: {}\n", text);
  if (how.every_schedule) {
    fmt::print("{} of them reported under some of {} schedules and not under others\n", differing, schedules.size());
    for (const std::string& text : split) fmt::print("  {}\n", text);
  }
  return 0;
}

}  // namespace warploom::cli
