// warploom check: a kernel under the checker, with a verdict.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/interruption.hpp"
#include "cli/lines.hpp"
#include "cli/pages.hpp"
#include "cli/session.hpp"
#include "cli/state_file.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "cli/verdicts.hpp"

namespace warploom::cli {
namespace {

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
  refused.refused = true;
  refused.refusal = outcome.code();
  refused.report.findings.push_back({.code = "LAUNCH", .message = outcome.error(), .agent = {}, .at = {}, .notes = {}});
  return refused;
}

loom::Subject subject_of(Session& session, const std::string& kernel) {
  return {.what = name_of(session, kernel),
          .launch = [&session](const loom::Options& options) { return unwrapped(session.launch(options)); },
          .wrong =
              [&session] {
                const GemmData::Accuracy accuracy = session.compare();
                return session.correct(accuracy) ? std::string() : accuracy.text();
              },
          .parts = session.parts()};
}

/// "" or why the code names no finding that could be let pass.
std::string unknown(const loom::Suppression& known) {
  const auto pages = check_pages();
  if (std::any_of(pages.begin(), pages.end(), [&](const Page& page) { return page.code == known.code; })) return {};
  return fmt::format("--suppress: there is no finding {}; the nearest are {} (warploom explain lists them all)",
                     known.code, in_words(nearest_codes(known.code)));
}

Result<loom::CheckOptions> options_of(const RunArguments& run, const CheckArguments& check, Session& session) {
  loom::CheckOptions options;
  options.run = session.options();
  options.explore = check.explore;
  options.schedules = check.schedules != 0 ? check.schedules : check.all ? 16 : 256;
  options.deviations = check.deviations;
  options.seconds = check.seconds;
  for (const std::string& text : check.suppress) {
    if (!is_utf8(text)) return Error{fmt::format("--suppress: {} is no text in UTF-8", text)};
    Result<loom::Suppression> known = loom::Suppression::parse(text);
    if (!known) return known.why();
    if (std::string reason = unknown(*known); !reason.empty()) return Error{reason};
    options.run.suppressed.push_back(std::move(*known));
  }
  if (!run.mutate.empty()) {
    loom::Options listing = options.run;
    listing.record_sites = true;
    Result<loom::Outcome> listed = session.launch(listing);
    if (!listed) return listed.why();
    if (listed->refused) return why_refused(*listed);
    if (!listed->ok()) return Error{"the kernel as written does not run: " + listed->report.findings.front().message};
    Result<loom::Mutation> mutation = parse_mutation(run.mutate, listed->sites);
    if (!mutation) return mutation.why();
    options.run.mutation = *mutation;
    // A mutation may have it go round for ever.
    options.run.step_limit = 20 * listed->steps + 1000;
  }
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

namespace {

/// What was tried of what there is, and what cannot be found this way.
Json explored(const loom::Verdict& verdict) {
  const loom::Exploration& e = verdict.exploration;
  Json decisions = Json::array();
  for (size_t i = 0; i < e.known.size(); ++i)
    decisions.push_back({{"decisions", i + 1}, {"tried", i < e.made.size() ? e.made[i] : 0}, {"known", e.known[i]}});
  return {{"fixed", {{"tried", e.fixed - e.skipped}, {"known", e.fixed_known - e.skipped}}},
          {"with_decisions", decisions},
          {"orders", {{"tried", e.orders}, {"known", e.orders_known}}},
          {"random", e.random},
          {"most_decisions", verdict.deviations},
          {"not_covered",
           verdict.kind == loom::Verdict::Kind::none_found ? verdict.not_covered() : std::vector<std::string>()}};
}

}  // namespace

Json json_of(const ProblemVerdict& verdict) {
  constexpr const char* kinds[] = {"holds", "none_found", "fails", "wrong_result", "refused"};
  Json points = Json::array();
  for (const loom::Point& point : verdict.points)
    points.push_back({{"operation", point.operation}, {"file", point.at.user.file}, {"line", point.at.user.line}});
  Json json{{"verdict", kinds[static_cast<size_t>(verdict.kind)]},
            {"sentence", verdict.sentence()},
            {"subject", verdict.what},
            {"model", loom::model_version},
            {"schedules", verdict.exploration.done},
            {"explored", explored(verdict)},
            {"depends_on", points},
            {"suppressed", verdict.suppressed},
            {"warnings", verdict.warnings.size()}};
  if (verdict.launched.processors != 0) json["processors"] = verdict.launched.processors;
  if (!verdict.good()) json["schedule"] = verdict.schedule.text();
  if (verdict.kind == loom::Verdict::Kind::fails) json["report"] = Json::parse(to_json(verdict.report));
  if (verdict.kind == loom::Verdict::Kind::wrong) json["wrong_result"] = verdict.wrong_result;
  return json;
}

void print(const ProblemVerdict& verdict) {
  if (verdict.kind == loom::Verdict::Kind::fails) put(to_text(verdict.report, terminal().color));
  say("{}\n", verdict.sentence());
}

Result<ProblemVerdict> verdict_of(const RunArguments& arguments, const CheckArguments& how, StateFile* file,
                                  Progress& progress) {
  Result<std::unique_ptr<Session>> prepared = Session::prepare(arguments);
  if (!prepared) return prepared.why();
  Session& session = **prepared;
  if (session.target() == "gpu") return Error{"the checker needs the loom: --on loom:sm90"};
  Result<loom::CheckOptions> options = options_of(arguments, how, session);
  if (!options) return options.why();
  if (file != nullptr) options->from = file->found();
  options->progress = [&](const loom::Exploration& state) {
    if (file != nullptr) file->note(state);
    if (!how.all)
      progress.show(state.done, options->schedules,
                    fmt::format("schedules tried at most, {} decisions to go", state.frontier.size()));
  };
  ProblemVerdict verdict{loom::check(subject_of(session, arguments.kernel), *options),
                         session.m() == 0 || session.n() == 0 || session.batch() == 0};
  if (verdict.kind == loom::Verdict::Kind::refused)
    return Error{file != nullptr && !file->found().of.empty() ? fmt::format("{}: {}", how.resume, verdict.refusal)
                                                              : verdict.refusal,
                 verdict.refusal_code};
  return verdict;
}

int check(const RunArguments& arguments, const CheckArguments& how) {
  if (how.all) return check_all(arguments, how);
  if (arguments.kernel.empty()) return bad("name a kernel, or give --all", arguments.json);
  std::unique_ptr<StateFile> file;
  if (!how.resume.empty()) {
    file = std::make_unique<StateFile>(how.resume);
    if (file->problem()) return fail(file->problem(), arguments.json);
  }
  Interruption interruption({.last =
                                 [&](int signal) {
                                   fail({file ? file->last_words() : "interrupted before there was a verdict"},
                                        arguments.json, signal);
                                 },
                             .tick =
                                 [&] {
                                   if (file) file->tick();
                                 }});
  Progress progress;
  Result<ProblemVerdict> verdict = verdict_of(arguments, how, file.get(), progress);
  progress.clear();
  const Trouble trouble = file && verdict ? file->save(verdict->exploration) : Trouble{};
  interruption.over();
  if (!verdict) return bad(verdict, arguments.json);
  if (arguments.json) {
    Json json = json_of(*verdict);
    json["lines"] = has_line_information();
    if (trouble) {
      json["error"] = trouble.sentence;
      json["exit"] = trouble.exit;
    }
    put_json(json);
  } else {
    remark_on_missing_lines();
    print(*verdict);
  }
  if (trouble) return arguments.json ? static_cast<int>(trouble.exit) : fail(trouble, false);
  return verdict->good() ? right : finding;
}

}  // namespace warploom::cli
