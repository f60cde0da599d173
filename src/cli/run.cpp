#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/refusals.hpp"
#include "cli/session.hpp"
#include "cli/tell.hpp"

namespace warploom::cli {
namespace {

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

namespace {

/// What a session is about, for JSON.
Json heading(const RunArguments& arguments, const Session& session) {
  Json json{{"kernel", arguments.kernel}, {"target", session.target()}, {"config", session.config()},
            {"m", session.m()},           {"n", session.n()},           {"k", session.k()},
            {"batch", session.batch()},   {"alpha", arguments.alpha},   {"beta", arguments.beta}};
  if (const std::string plan = session.plan(); !plan.empty()) json["plan"] = plan;
  if (const std::string better = session.instead_of(); !better.empty()) json["instead_of"] = better;
  return json;
}

void add_accuracy(Json& json, const GemmData::Accuracy& accuracy) {
  json["max_abs_error"] = accuracy.max_abs_error;
  json["max_rel_error"] = accuracy.max_rel_error;
  json["diff"] = accuracy.diff;
  json["diff_unquantised"] = accuracy.diff_unquantised;
  json["rows_compared"] = accuracy.rows;
}

double flops_of(const Session& session) {
  return 2.0 * static_cast<double>(session.m()) * static_cast<double>(session.n()) * static_cast<double>(session.k()) *
         static_cast<double>(session.batch());
}

void print_accuracy(const Session& session, const GemmData::Accuracy& accuracy, bool correct) {
  fmt::print(
      "{}: largest error {:.3g} ({:.2g} of the largest value), diff {:.2e}, {} of {} rows compared with double\n",
      correct ? "correct" : "WRONG", accuracy.max_abs_error, accuracy.max_rel_error, accuracy.diff, accuracy.rows,
      session.m() * session.batch());
}

std::string shape_of(const Session& session) {
  return fmt::format("{} x {} x {}{}", session.m(), session.n(), session.k(),
                     session.batch() == 1 ? "" : fmt::format(", batch {}", session.batch()));
}

int run_on_gpu(const RunArguments& arguments, GemmSession& session) {
  if (arguments.sites || arguments.timeline || !arguments.mutate.empty())
    return bad("--sites, --timeline and --mutate need the loom: --on loom:sm90", arguments.json);
  Result<GpuRun> ran = session.run_on_gpu();
  if (!ran) return bad(ran.error(), arguments.json);
  const GemmData::Accuracy accuracy = session.compare();
  const bool correct = session.correct(accuracy);
  if (std::string problem = session.save(); !problem.empty()) return bad(problem, arguments.json);
  const double tflops = ran->microseconds > 0 ? flops_of(session) / ran->microseconds * 1e-6 : 0;
  if (arguments.json) {
    Json json = heading(arguments, session);
    json["device"] = ran->device;
    json["correct"] = correct;
    add_accuracy(json, accuracy);
    json["microseconds"] = ran->microseconds;
    json["predicted_microseconds"] = session.chosen().predicted_us;
    json["tflops"] = tflops;
    fmt::print("{}\n", json.dump(2));
    return correct ? 0 : 1;
  }
  fmt::print("{} {} on {}, configuration {}\n", arguments.kernel, shape_of(session), ran->device, session.config());
  print_accuracy(session, accuracy, correct);
  fmt::print("{:.1f} us, {:.0f} TFLOP/s\n", ran->microseconds, tflops);
  return correct ? 0 : 1;
}

}  // namespace

int run(const RunArguments& arguments) {
  Result<std::unique_ptr<Session>> prepared = Session::prepare(arguments);
  if (!prepared) return bad(prepared.error(), arguments.json);
  Session* const session = prepared->get();
  if (session->target() == "gpu") return run_on_gpu(arguments, static_cast<GemmSession&>(*session));
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
  if (outcome->refused) return bad(outcome->report.findings.front().message, arguments.json);
  const bool clean = outcome->ok();
  GemmData::Accuracy accuracy;
  if (clean) accuracy = session->compare();
  const bool correct = clean && session->correct(accuracy);
  if (clean)
    if (std::string problem = session->save(); !problem.empty()) return bad(problem, arguments.json);
  const double gflops = flops_of(*session) / seconds * 1e-9;

  if (arguments.json) {
    Json json = heading(arguments, *session);
    json["correct"] = correct;
    if (clean) add_accuracy(json, accuracy);
    json["gflops"] = gflops;
    json["seconds"] = seconds;
    json["schedule"] = options.schedule.text();
    json["numerics"] = to_string(options.numerics);
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
  fmt::print("{} {} on {}, configuration {}, schedule {}{}\n", arguments.kernel, shape_of(*session), session->target(),
             session->config(), options.schedule.text(),
             options.numerics == loom::Numerics::exact ? ", exact numerics" : "");
  print_accuracy(*session, accuracy, correct);
  fmt::print("{:.2f} s on this CPU, {:.2f} GFLOP/s, {} operations\n", seconds, gflops, outcome->steps);
  return correct ? 0 : 1;
}

int plan(const RunArguments& arguments) {
  RunArguments a = arguments;
  if (a.kernel != "gemm" && a.kernel != "blockwise-fp8")
    return bad(fmt::format("there is no kernel '{}'; there are gemm and blockwise-fp8", a.kernel), a.json);
  if (a.on.empty()) a.on = default_target(a);
  if (a.on != "loom:sm90" && a.on != "loom:sm100" && a.on != "gpu")
    return bad(fmt::format("--on is loom:sm90, loom:sm100 or gpu, not '{}'", a.on), a.json);
  if (std::string reason = not_honoured(a); !reason.empty()) return bad(reason, a.json);
  if (a.on == "gpu")
    if (std::string reason = GemmSession::why_no_gpu(); !reason.empty()) return bad(reason, a.json);
  Result<GemmDataSpec> spec = spec_of(a);
  if (!spec) return bad(spec.error(), a.json);
  const ChipLimits chip = GemmSession::chip_of(a);
  if (std::string reason = refusal(a, *spec, chip.chip); !reason.empty()) return bad(reason, a.json);
  const GemmProblem problem = described(*spec);
  const std::vector<GemmPlan> plans = gemm_plans(problem, chip);
  if (plans.empty()) return bad(plan_gemm(problem, chip).error(), a.json);
  if (a.json) {
    Json list = Json::array();
    for (const GemmPlan& candidate : plans)
      list.push_back(
          {{"config", candidate.config->key},
           {"splits", candidate.splits},
           {"ctas", candidate.ctas},
           {"raster",
            {{"along", candidate.raster.along == Raster::Along::m ? "m" : "n"}, {"group", candidate.raster.group}}},
           {"workspace_bytes", candidate.workspace_bytes},
           {"predicted_us", candidate.predicted_us},
           {"built", a.on == "gpu" || built_for_loom(*candidate.config)},
           {"why", candidate.why}});
    fmt::print("{}\n", list.dump(2));
    return 0;
  }
  // A plan is for the chip. What of it this program's loom can run is said beside it.
  size_t missing = 0;
  auto unbuilt = [&](const GemmPlan& candidate) {
    if (a.on == "gpu" || built_for_loom(*candidate.config)) return "";
    ++missing;
    return "  [not built]";
  };
  fmt::print("{}{}\n", plans.front().why, unbuilt(plans.front()));
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return 0;  // they all take no time
  for (size_t i = 1; i < plans.size(); ++i)
    fmt::print("  {:5.2f} times as long  {}{}\n", plans[i].predicted_us / std::max(plans.front().predicted_us, 1e-9),
               plans[i].why, unbuilt(plans[i]));
  if (missing > 0) {
    const Result<GemmPlan> taken = plan_gemm_on_loom(problem, chip);
    fmt::print("{}\n", taken ? fmt::format("On the loom this program takes {}.", taken->why)
                             : fmt::format("On the loom it does not run: {}.", taken.error()));
  }
  return 0;
}

}  // namespace warploom::cli
