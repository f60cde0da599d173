#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/session.hpp"

namespace warploom::cli {
namespace {

using Json = nlohmann::ordered_json;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A line on the terminal that says how far a long run is; nothing when the output is not one.
auto progress_line() {
  return [start = std::chrono::steady_clock::now()](uint32_t done, uint32_t total) {
    if (isatty(STDERR_FILENO) == 0 || seconds_since(start) < 1.0) return;
    fmt::print(stderr, "\r{} of {} clusters{}", done, total, done == total ? "\r                              \r" : "");
    std::fflush(stderr);
  };
}

int bad(const std::string& sentence, bool json) {
  if (json)
    fmt::print("{}\n", Json{{"error", sentence}}.dump());
  else
    fmt::print(stderr, "warploom: {}\n", sentence);
  return 2;
}

void print_sites(const std::vector<loom::Site>& sites, bool json) {
  if (json) {
    Json list = Json::array();
    for (size_t i = 0; i < sites.size(); ++i) {
      Json alterations = Json::array();
      for (loom::Alteration alteration : loom::alterations_of(sites[i].operation))
        alterations.push_back(to_string(alteration));
      list.push_back({{"site", i},
                      {"operation", sites[i].operation},
                      {"object", sites[i].object},
                      {"file", sites[i].at.user.file},
                      {"line", sites[i].at.user.line},
                      {"library_file", sites[i].at.library.file},
                      {"library_line", sites[i].at.library.line},
                      {"executions", sites[i].executions},
                      {"alterations", alterations}});
    }
    fmt::print("{}\n", list.dump(2));
    return;
  }
  for (size_t i = 0; i < sites.size(); ++i) fmt::print("{:3}  {}  x{}\n", i, describe(sites[i]), sites[i].executions);
}

}  // namespace

int run(const RunArguments& arguments) {
  Result<Session> session = Session::prepare(arguments);
  if (!session) return bad(session.error(), arguments.json);
  loom::Options options = session->options();
  if (arguments.sites || !arguments.mutate.empty()) {
    loom::Options listing = options;
    listing.record_sites = true;
    Result<loom::Outcome> listed = session->launch(listing);
    if (!listed) return bad(listed.error(), arguments.json);
    if (!listed->ok())
      return bad("the kernel as written does not run: " + listed->report.findings.front().message, arguments.json);
    if (arguments.sites) {
      print_sites(listed->sites, arguments.json);
      return 0;
    }
    Result<loom::Mutation> mutation = parse_mutation(arguments.mutate, listed->sites);
    if (!mutation) return bad(mutation.error(), arguments.json);
    options.mutation = *mutation;
  }
  options.record_events = arguments.timeline;
  options.progress = progress_line();

  const auto start = std::chrono::steady_clock::now();
  Result<loom::Outcome> outcome = session->launch(options);
  const double seconds = seconds_since(start);
  if (!outcome) return bad(outcome.error(), arguments.json);
  const bool clean = outcome->ok();
  BlockwiseFP8Data::Accuracy accuracy;
  if (clean) accuracy = session->compare();
  const bool correct = clean && session->correct(accuracy);
  const double gflops = 2.0 * static_cast<double>(arguments.m) * static_cast<double>(arguments.n) *
                        static_cast<double>(arguments.k) / seconds * 1e-9;

  if (arguments.json) {
    Json json{{"kernel", arguments.kernel}, {"target", arguments.on}, {"config", session->config()},
              {"m", arguments.m},           {"n", arguments.n},       {"k", arguments.k},
              {"alpha", arguments.alpha},   {"beta", arguments.beta}, {"correct", correct}};
    if (clean) {
      json["max_abs_error"] = accuracy.max_abs_error;
      json["max_rel_error"] = accuracy.max_rel_error;
      json["diff"] = accuracy.diff;
      json["diff_unquantised"] = accuracy.diff_unquantised;
      json["rows_compared"] = accuracy.rows;
    }
    json["gflops"] = gflops;
    json["seconds"] = seconds;
    json["schedule"] = options.schedule.text();
    json["steps"] = outcome->steps;
    json["nominal_cycles"] = outcome->nominal_cycles;
    if (!clean) json["report"] = Json::parse(to_json(outcome->report));
    if (arguments.timeline)
      json["timeline"] = render_timeline(outcome->events, {.cluster = outcome->report.cluster, .width = 100});
    fmt::print("{}\n", json.dump(2));
    return correct ? 0 : 1;
  }
  if (arguments.timeline)
    fmt::print("{}\n", render_timeline(outcome->events, {.cluster = clean ? 0 : outcome->report.cluster,
                                                         .width = 100,
                                                         .color = isatty(STDOUT_FILENO) != 0}));
  if (!clean) {
    fmt::print("{}", to_text(outcome->report));
    return 1;
  }
  fmt::print("{} {} x {} x {} on {}, configuration {}, schedule {}\n", arguments.kernel, arguments.m, arguments.n,
             arguments.k, arguments.on, session->config(), options.schedule.text());
  fmt::print(
      "{}: largest error {:.3g} ({:.2g} of the largest value), diff {:.2e}, {} of {} rows compared with double\n",
      correct ? "correct" : "WRONG", accuracy.max_abs_error, accuracy.max_rel_error, accuracy.diff, accuracy.rows,
      arguments.m);
  fmt::print("{:.2f} s on this CPU, {:.2f} GFLOP/s, {} operations\n", seconds, gflops, outcome->steps);
  return correct ? 0 : 1;
}

int mutate(const RunArguments& arguments) {
  Result<Session> session = Session::prepare(arguments);
  if (!session) return bad(session.error(), arguments.json);
  loom::Options options = session->options();
  // An alteration that one schedule forgives another may not: unless one is asked for, several are tried in turn.
  std::vector<loom::Schedule> schedules{options.schedule};
  if (arguments.schedule.empty() && arguments.policy.empty() && arguments.seed == 0)
    for (const char* text : {"lazy", "adversarial", "random:1", "random:2"})
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

  Json list = Json::array();
  uint32_t total = 0, reported = 0, wrong = 0;
  std::vector<std::string> silent;
  for (size_t i = 0; i < original->sites.size(); ++i) {
    const loom::Site& site = original->sites[i];
    std::string line;
    for (loom::Alteration alteration : loom::alterations_of(site.operation)) {
      options.mutation = loom::Mutation{site.key(), alteration};
      std::string verdict;
      std::string seen_under;
      ++total;
      for (const loom::Schedule& schedule : schedules) {
        options.schedule = schedule;
        Result<loom::Outcome> outcome = session->launch(options);
        if (!outcome) return bad(outcome.error(), arguments.json);
        if (!outcome->ok()) {
          verdict = outcome->report.findings.front().code;
        } else if (!session->correct(session->compare())) {
          verdict = "wrong result";
        } else {
          continue;
        }
        seen_under = schedule.text();
        break;
      }
      if (verdict.empty()) {
        verdict = "not seen";
        silent.push_back(fmt::format("{:<12} {}", to_string(alteration), describe(site)));
      } else if (verdict == "wrong result") {
        ++wrong;
      } else {
        ++reported;
      }
      list.push_back({{"site", i},
                      {"operation", site.operation},
                      {"object", site.object},
                      {"file", site.at.user.file},
                      {"line", site.at.user.line},
                      {"alteration", to_string(alteration)},
                      {"verdict", verdict},
                      {"schedule", seen_under}});
      line += fmt::format("  {} {}", to_string(alteration), verdict);
      if (!seen_under.empty() && seen_under != schedules.front().text()) line += fmt::format(" ({})", seen_under);
    }
    if (!arguments.json) fmt::print("{:3}  {}\n      {}\n", i, describe(site), line);
  }
  const double share = total == 0 ? 0 : 100.0 * reported / total;
  if (arguments.json) {
    fmt::print("{}\n", Json{{"kernel", arguments.kernel},
                            {"config", session->config()},
                            {"mutants", total},
                            {"reported", reported},
                            {"wrong_result", wrong},
                            {"not_seen", silent.size()},
                            {"list", list}}
                           .dump(2));
    return 0;
  }
  fmt::print(
      "\n{} alterations of {} barrier operations: {} reported with a cause ({:.0f} %), {} gave a wrong result only, "
      "{} not seen\n",
      total, original->sites.size(), reported, share, wrong, silent.size());
  if (!silent.empty()) fmt::print("not seen: harmless, or for a race detector to find\n");
  for (const std::string& text : silent) fmt::print("  {}\n", text);
  return 0;
}

}  // namespace warploom::cli
