#include <fmt/format.h>

#include <algorithm>

#include "cli/interruption.hpp"
#include "cli/lines.hpp"
#include "cli/refusals.hpp"
#include "cli/session.hpp"
#include "cli/tell.hpp"
#include "cli/terminal.hpp"
#include "cli/text.hpp"
#include "cli/whole_file.hpp"

namespace warploom::cli {
namespace {

void print_sites(const std::vector<loom::Site>& sites, bool json) {
  if (json) {
    Json list = Json::array();
    for (size_t i = 0; i < sites.size(); ++i) {
      Json mutations = Json::array();
      for (loom::MutationKind kind : loom::mutations_of(sites[i].operation)) mutations.push_back(to_string(kind));
      list.push_back({{"site", i},
                      {"operation", sites[i].operation},
                      {"object", sites[i].object},
                      {"file", sites[i].at.user.file},
                      {"line", sites[i].at.user.line},
                      {"library_file", sites[i].at.library.file},
                      {"library_line", sites[i].at.library.line},
                      {"executions", sites[i].executions},
                      {"mutations", mutations}});
    }
    put_json({{"lines", has_line_information()}, {"sites", list}});
    return;
  }
  remark_on_missing_lines();
  for (size_t i = 0; i < sites.size(); ++i) say("{:3}  {}  x{}\n", i, describe(sites[i]), sites[i].executions);
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
  json["elements_compared"] = accuracy.elements;
  json["elements_wrong"] = accuracy.wrong;
  json["elements_unjudged"] = accuracy.unjudged;
  json["groups_biased"] = accuracy.biased;
  json["padding_untouched"] = accuracy.padding_untouched;
  json["largest_bound"] = accuracy.largest_bound;
  json["worst_of_bound"] = accuracy.worst;
  json["judgement"] = accuracy.text();
  if (accuracy.wrong > 0) {
    const WrongElement& first = accuracy.first;
    json["first_wrong"] = {{"matrix", first.matrix}, {"row", first.row},           {"column", first.column},
                           {"got", first.got},       {"expected", first.expected}, {"bound", first.bound}};
    json["pattern"] = {
        {"place", name_of(accuracy.place)}, {"cause", name_of(accuracy.cause)}, {"text", accuracy.pattern}};
  }
  if (accuracy.biased > 0) {
    const BiasedGroup& first = accuracy.first_biased;
    json["first_biased"] = {{"of", first.of},         {"matrix", first.matrix}, {"row", first.row},
                            {"column", first.column}, {"bias", first.bias},     {"allowed", first.allowed}};
  }
}

double flops_of(const Session& session) {
  return 2.0 * static_cast<double>(session.m()) * static_cast<double>(session.n()) * static_cast<double>(session.k()) *
         static_cast<double>(session.batch());
}

void print_accuracy(const GemmData::Accuracy& accuracy) {
  const uint32_t columns = terminal().columns;
  put(columns == 0 ? accuracy.text() + "\n" : wrapped(accuracy.text() + "\n", columns));
}

std::string shape_of(const Session& session) {
  return fmt::format("{} x {} x {}{}", session.m(), session.n(), session.k(),
                     session.batch() == 1 ? "" : fmt::format(", batch {}", session.batch()));
}

/// What became of --out. A wrong result takes nobody's place.
struct Written {
  bool done = false;
  std::string why_not = {};
};
Written to_file(const RunArguments& arguments, const Session& session, bool correct, Trouble& trouble) {
  if (arguments.out.empty()) return {};
  if (!correct) return {false, "the result is not right"};
  trouble = session.save();
  return {!trouble};
}
void add(Json& json, const RunArguments& arguments, const Written& written) {
  if (arguments.out.empty()) return;
  json["out"] = shown(arguments.out);
  json["written"] = written.done;
}
void print(const RunArguments& arguments, const Written& written) {
  if (!written.why_not.empty()) say("d is not written to '{}': {}\n", shown(arguments.out), written.why_not);
}

int run_on_gpu(const RunArguments& arguments, GemmSession& session) {
  if (arguments.sites || arguments.timeline || !arguments.mutate.empty())
    return bad("--sites, --timeline and --mutate need the loom: --on loom:sm90", arguments.json);
  Result<GpuRun> ran = session.run_on_gpu();
  if (!ran) return bad(ran, arguments.json);
  const GemmData::Accuracy accuracy = session.compare();
  const bool correct = session.correct(accuracy);
  Trouble trouble;
  const Written written = to_file(arguments, session, correct, trouble);
  if (trouble) return fail(trouble, arguments.json);
  const double tflops = ran->microseconds > 0 ? flops_of(session) / ran->microseconds * 1e-6 : 0;
  if (arguments.json) {
    Json json = heading(arguments, session);
    json["device"] = ran->device;
    json["correct"] = correct;
    add_accuracy(json, accuracy);
    json["microseconds"] = ran->microseconds;
    json["predicted_microseconds"] = session.chosen().predicted_us;
    json["tflops"] = tflops;
    add(json, arguments, written);
    put_json(json);
    return correct ? right : finding;
  }
  say("{} {} on {}, configuration {}\n", arguments.kernel, shape_of(session), ran->device, session.config());
  print_accuracy(accuracy);
  say("{:.1f} us, {:.0f} TFLOP/s\n", ran->microseconds, tflops);
  print(arguments, written);
  return correct ? right : finding;
}

}  // namespace

namespace {

/// Columns of the time axis, so that the whole fits: labels stand left of it and shares on the right.
uint32_t width_of_timeline() {
  constexpr uint32_t usual = 100, beside = 34, narrowest = 10, widest = 1000;
  const uint32_t columns = terminal().columns;
  return columns == 0 ? usual : std::clamp(columns, beside + narrowest, widest) - beside;
}

/// The legend below the chart, too, is as wide as the terminal.
std::string with_narrow_legend(const std::string& timeline) {
  const uint32_t columns = terminal().columns;
  std::string text;
  for (size_t at = 0; at < timeline.size();) {
    const size_t end = std::min(timeline.find('\n', at), timeline.size() - 1) + 1;
    const std::string line = timeline.substr(at, end - at);
    const bool of_legend = std::count(timeline.begin() + static_cast<std::ptrdiff_t>(end), timeline.end(), '\n') < 2;
    text += columns != 0 && of_legend ? wrapped(line, columns) : line;
    at = end;
  }
  return text;
}

}  // namespace

int run(const RunArguments& arguments) {
  if (!arguments.out.empty())
    if (const Trouble trouble = try_to_write("--out", arguments.out)) return fail(trouble, arguments.json);
  Interruption interruption({.last = [&](int signal) {
    abandon_unfinished_files();
    const char* const file = arguments.out.empty() ? ""
                             : finished_a_file()   ? "; d is in the file that --out names"
                                                   : "; nothing was written";
    fail({fmt::format("interrupted{}", file)}, arguments.json, signal);
  }});
  Result<std::unique_ptr<Session>> prepared = Session::prepare(arguments);
  if (!prepared) return bad(prepared, arguments.json);
  Session* const session = prepared->get();
  if (session->target() == "gpu") return run_on_gpu(arguments, static_cast<GemmSession&>(*session));
  loom::Options options = session->options();
  if (arguments.sites || !arguments.mutate.empty()) {
    loom::Options listing = options;
    listing.record_sites = true;
    Result<loom::Outcome> listed = session->launch(listing);
    if (!listed) return bad(listed, arguments.json);
    if (listed->refused) return refused(*listed, arguments.json);
    if (!listed->ok())
      return bad("the kernel as written does not run: " + listed->report.findings.front().message, arguments.json);
    if (arguments.sites) {
      interruption.over();
      print_sites(listed->sites, arguments.json);
      return 0;
    }
    Result<loom::Mutation> mutation = parse_mutation(arguments.mutate, listed->sites);
    if (!mutation) return bad(mutation, arguments.json);
    options.mutation = *mutation;
  }
  options.record_events = arguments.timeline;
  Progress progress;
  options.progress = [&](uint32_t done, uint32_t total) { progress.show(done, total, "clusters"); };

  const auto start = std::chrono::steady_clock::now();
  Result<loom::Outcome> outcome = session->launch(options);
  const double seconds = seconds_since(start);
  progress.clear();
  if (!outcome) return bad(outcome, arguments.json);
  if (outcome->refused) return refused(*outcome, arguments.json);
  const bool clean = outcome->ok();
  GemmData::Accuracy accuracy;
  if (clean) accuracy = session->compare();
  const bool correct = clean && session->correct(accuracy);
  Trouble trouble;
  const Written written = to_file(arguments, *session, correct, trouble);
  interruption.over();
  if (trouble) return fail(trouble, arguments.json);
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
    json["lines"] = has_line_information();
    if (!clean) json["report"] = Json::parse(to_json(outcome->report));
    if (arguments.timeline)
      json["timeline"] = render_timeline(outcome->events, {.cluster = outcome->report.cluster, .width = 100});
    add(json, arguments, written);
    put_json(json);
    return correct ? right : finding;
  }
  if (arguments.timeline)
    say("{}\n", with_narrow_legend(render_timeline(outcome->events, {.cluster = clean ? 0 : outcome->report.cluster,
                                                                     .width = width_of_timeline(),
                                                                     .color = terminal().color})));
  if (!clean) {
    remark_on_missing_lines();
    put(to_text(outcome->report));
    print(arguments, written);
    return finding;
  }
  say("{} {} on {}, configuration {}, schedule {}{}\n", arguments.kernel, shape_of(*session), session->target(),
      session->config(), options.schedule.text(), options.numerics == loom::Numerics::exact ? ", exact numerics" : "");
  print_accuracy(accuracy);
  say("{:.2f} s on this CPU, {:.2f} GFLOP/s, {} operations\n", seconds, gflops, outcome->steps);
  print(arguments, written);
  return correct ? right : finding;
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
  if (!spec) return bad(spec, a.json);
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
    put_json({{"plans", list}});
    return 0;
  }
  // A plan is for the chip. What of it this program's loom can run is said beside it.
  size_t missing = 0;
  auto unbuilt = [&](const GemmPlan& candidate) {
    if (a.on == "gpu" || built_for_loom(*candidate.config)) return "";
    ++missing;
    return "  [not built]";
  };
  say("{}{}\n", plans.front().why, unbuilt(plans.front()));
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return 0;  // they all take no time
  for (size_t i = 1; i < plans.size(); ++i)
    say("  {:5.2f} times as long  {}{}\n", plans[i].predicted_us / std::max(plans.front().predicted_us, 1e-9),
        plans[i].why, unbuilt(plans[i]));
  if (missing > 0) {
    const Result<GemmPlan> taken = plan_gemm_on_loom(problem, chip);
    say("{}\n", taken ? fmt::format("On the loom this program takes {}.", taken->why)
                      : fmt::format("On the loom it does not run: {}.", taken.error()));
  }
  return 0;
}

}  // namespace warploom::cli
