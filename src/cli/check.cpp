// warploom check: a kernel under the checker, with a verdict.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "cli/session.hpp"
#include "cli/verdicts.hpp"

namespace warploom::cli {
namespace {

constexpr uint64_t save_every = 32;  // schedules

std::string name_of(const Session& session, const std::string& kernel) {
  const std::string better = session.instead_of();
  return fmt::format("{} {}x{}x{}{}, {}{} on {}", kernel, session.m(), session.n(), session.k(),
                     session.batch() == 1 ? "" : fmt::format(" x{}", session.batch()), session.config(),
                     better.empty() ? "" : fmt::format(" (in place of {}, which is not built)", better),
                     session.target());
}

loom::Outcome unwrapped(Result<loom::Outcome> outcome) {
  if (outcome) return std::move(*outcome);
  loom::Outcome refused;
  refused.report.findings.push_back({.code = "LAUNCH", .message = outcome.error(), .agent = {}, .at = {}, .notes = {}});
  return refused;
}

loom::Subject subject_of(Session& session, const std::string& kernel) {
  return {.what = name_of(session, kernel),
          .launch = [&session](const loom::Options& options) { return unwrapped(session.launch(options)); },
          .wrong =
              [&session] {
                const GemmData::Accuracy accuracy = session.compare();
                return session.correct(accuracy)
                           ? std::string()
                           : fmt::format("the result differs from the double-precision one by up to {:.3g}{}",
                                         accuracy.max_abs_error,
                                         accuracy.padding_untouched ? "" : ", and padding was written to");
              }};
}

/// "" or a sentence.
std::string read_state(const std::string& path, loom::Exploration& state) {
  std::ifstream file(path);
  if (!file) return {};  // it begins here
  std::ostringstream text;
  text << file.rdbuf();
  Result<loom::Exploration> read = loom::Exploration::from_json(text.str());
  if (!read) return fmt::format("{}: {}", path, read.error());
  state = std::move(*read);
  return {};
}

std::string write_state(const std::string& path, const loom::Exploration& state) {
  const std::string beside = path + ".new";
  std::ofstream file(beside);
  file << state.to_json() << '\n';
  file.close();
  if (!file || std::rename(beside.c_str(), path.c_str()) != 0) return fmt::format("cannot write {}", path);
  return {};
}

Result<loom::CheckOptions> options_of(const RunArguments& run, const CheckArguments& check, Session& session) {
  loom::CheckOptions options;
  options.run = session.options();
  options.explore = check.explore;
  options.schedules = check.schedules != 0 ? check.schedules : check.all ? 16 : 256;
  options.deviations = check.deviations;
  options.seconds = check.seconds;
  for (const std::string& text : check.suppress) {
    Result<loom::Suppression> known = loom::Suppression::parse(text);
    if (!known) return Error{known.error()};
    options.run.suppressed.push_back(std::move(*known));
  }
  if (!run.mutate.empty()) {
    loom::Options listing = options.run;
    listing.record_sites = true;
    Result<loom::Outcome> listed = session.launch(listing);
    if (!listed) return Error{listed.error()};
    if (!listed->ok()) return Error{"the kernel as written does not run: " + listed->report.findings.front().message};
    Result<loom::Mutation> mutation = parse_mutation(run.mutate, listed->sites);
    if (!mutation) return Error{mutation.error()};
    options.run.mutation = *mutation;
    // An alteration may have it go round for ever.
    options.run.step_limit = 20 * listed->steps + 1000;
  }
  if (!check.resume.empty())
    if (std::string problem = read_state(check.resume, options.from); !problem.empty()) return Error{problem};
  return options;
}

}  // namespace

std::string ProblemVerdict::sentence() const {
  if (nothing_to_compute)
    return fmt::format("nothing to compute ({}): no kernel is launched, so there is nothing to check.", what);
  const bool tried_more = kind == Kind::holds && exploration.done > 1;
  return Verdict::sentence() +
         (tried_more ? fmt::format(" {} schedules were tried, and all agree.", exploration.done) : "");
}

Json json_of(const ProblemVerdict& verdict) {
  constexpr const char* kinds[] = {"holds", "none_found", "fails", "wrong_result"};
  Json points = Json::array();
  for (const loom::Point& point : verdict.points)
    points.push_back({{"operation", point.operation}, {"file", point.at.user.file}, {"line", point.at.user.line}});
  Json json{{"verdict", kinds[static_cast<size_t>(verdict.kind)]},
            {"sentence", verdict.sentence()},
            {"subject", verdict.what},
            {"model", loom::model_version},
            {"schedules", verdict.exploration.done},
            {"depends_on", points},
            {"suppressed", verdict.suppressed}};
  if (!verdict.good()) json["schedule"] = verdict.schedule.text();
  if (verdict.kind == loom::Verdict::Kind::fails) json["report"] = Json::parse(to_json(verdict.report));
  if (verdict.kind == loom::Verdict::Kind::wrong) json["wrong_result"] = verdict.wrong_result;
  return json;
}

void print(const ProblemVerdict& verdict) {
  if (verdict.kind == loom::Verdict::Kind::fails) fmt::print("{}", to_text(verdict.report, isatty(STDOUT_FILENO) != 0));
  fmt::print("{}\n", verdict.sentence());
}

Result<ProblemVerdict> verdict_of(const RunArguments& arguments, const CheckArguments& how) {
  Result<std::unique_ptr<Session>> prepared = Session::prepare(arguments);
  if (!prepared) return Error{prepared.error()};
  Session& session = **prepared;
  if (session.target() == "gpu") return Error{"the checker needs the loom: --on loom:sm90"};
  Result<loom::CheckOptions> options = options_of(arguments, how, session);
  if (!options) return Error{options.error()};
  const auto start = std::chrono::steady_clock::now();
  std::string trouble;
  options->progress = [&](const loom::Exploration& state) {
    if (!how.resume.empty() && state.done % save_every == 0) trouble = write_state(how.resume, state);
    if (isatty(STDERR_FILENO) == 0 || seconds_since(start) < 1.0) return;
    fmt::print(stderr, "\r{} schedules tried, {} decisions to go ", state.done, state.frontier.size());
    std::fflush(stderr);
  };
  ProblemVerdict verdict{loom::check(subject_of(session, arguments.kernel), *options),
                         session.m() == 0 || session.n() == 0 || session.batch() == 0};
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r{:60}\r", "");
  if (!how.resume.empty() && trouble.empty()) trouble = write_state(how.resume, verdict.exploration);
  if (!trouble.empty()) return Error{trouble};
  return verdict;
}

int check(const RunArguments& arguments, const CheckArguments& how) {
  if (how.all) return check_all(arguments, how);
  if (arguments.kernel.empty()) return bad("name a kernel, or give --all", arguments.json);
  Result<ProblemVerdict> verdict = verdict_of(arguments, how);
  if (!verdict) return bad(verdict.error(), arguments.json);
  if (arguments.json)
    fmt::print("{}\n", json_of(*verdict).dump(2));
  else
    print(*verdict);
  return verdict->good() ? 0 : 1;
}

}  // namespace warploom::cli
