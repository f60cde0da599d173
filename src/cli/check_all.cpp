// warploom check --all: every configuration of every kernel, on problems with full and partial tiles.
#include <fmt/format.h>

#include <chrono>

#include "cli/interruption.hpp"
#include "cli/lines.hpp"
#include "cli/session.hpp"
#include "cli/tell.hpp"
#include "cli/verdicts.hpp"
#include "warploom/kernels/gemm_problem.hpp"

namespace warploom::cli {
namespace {

const char* major_name(Major major) { return major == Major::k ? "k" : "mn"; }

/// Two problems for a configuration: whole tiles alone, and partial ones in every direction with a residual.
std::vector<RunArguments> problems_for(const GemmConfig& config, const RunArguments& common) {
  const GemmShape& shape = config.shape;
  RunArguments a = common;
  a.given.clear();  // what follows is nobody's option
  a.kernel = config.scaling == Scaling::none ? "gemm" : "blockwise-fp8";
  a.on = shape.chip == Chip::sm90 ? "loom:sm90" : "loom:sm100";
  a.config = config.key;
  a.a_type = name_of(config.a);
  a.b_type = name_of(config.b);
  a.a_major = major_name(config.a_major);
  a.b_major = major_name(config.b_major);
  a.b_scales = config.scaling == Scaling::a_rows_b_rows ? "rows" : "blocks";
  const int64_t tile_m = shape.swap ? shape.tile_right : shape.tile_left;
  const int64_t tile_n = shape.swap ? shape.tile_left : shape.tile_right;
  const int64_t cluster_m = shape.swap ? shape.cluster_right : shape.cluster_left;
  const int64_t cluster_n = shape.swap ? shape.cluster_left : shape.cluster_right;
  a.sms = shape.cluster_left * shape.cluster_right * shape.cluster_k;
  const int64_t k_block = shape.tile_k;
  RunArguments whole = a;
  whole.m = tile_m * cluster_m * 2;
  whole.n = tile_n * cluster_n;
  whole.k = k_block * (shape.stages * shape.k_group + 2);
  whole.beta = 0;
  RunArguments partial = a;
  partial.m = tile_m * cluster_m + tile_m / 2 + 3;
  partial.n = tile_n * cluster_n + tile_n / 2 + 5;
  if (config.scaling != Scaling::none) partial.n = partial.n / 8 * 8;
  partial.k = k_block * 3 + 24;
  partial.beta = 1;
  if (!common.gave("--bias")) partial.bias = "n";
  if (!common.gave("--activation")) partial.activation = "relu";
  return {whole, partial};
}

/// "" or which options would have no effect.
std::string without_effect(const RunArguments& arguments, const CheckArguments& how) {
  if (!how.resume.empty()) return "--resume keeps one exploration, and --all makes one per problem; leave it out";
  std::vector<std::string> left_out;
  if (!arguments.kernel.empty()) left_out.push_back(arguments.kernel);
  for (const char* option : {"--m", "--n", "--k", "--beta", "--a-type", "--b-type", "--a-major", "--b-major",
                             "--b-scales", "--sms", "--on", "--config", "--tensors"})
    if (arguments.gave(option)) left_out.emplace_back(option);
  if (left_out.empty()) return {};
  return fmt::format("--all checks every kernel on problems of its own; leave out {}", in_words(left_out));
}

}  // namespace

namespace {

/// What was found so far, for whoever ends the program in the middle, too.
class Tally {
 public:
  Tally(size_t problems, bool json) : problems_(problems), json_(json) {}

  void add(const ProblemVerdict& verdict, double seconds) {
    ++done_;
    ++counts_[static_cast<size_t>(verdict.kind)];
    if (json_) {
      list_.push_back(json_of(verdict));
      return;
    }
    constexpr const char* words[] = {"holds", "no failure", "FAILS", "WRONG", "refused"};
    say("{:<10}  {:5.2f} s  {}{}\n", words[static_cast<size_t>(verdict.kind)], seconds, verdict.what,
        verdict.kind == loom::Verdict::Kind::none_found ? fmt::format("  ({} schedules)", verdict.exploration.done)
                                                        : "");
    if (!verdict.good()) print(verdict);
    flush();
  }

  bool good() const { return counts_[2] + counts_[3] == 0; }

  void tell(bool was_interrupted) const {
    const double seconds = seconds_since(start_);
    if (json_) {
      const size_t known = gemm_configs(Chip::sm90).size() + gemm_configs(Chip::sm100).size();
      put_json({{"interrupted", was_interrupted},
                {"good", good()},
                {"seconds", seconds},
                {"configurations", problems_ / 2},
                {"not_built", known - problems_ / 2},
                {"problems", problems_},
                {"lines", has_line_information()},
                {"verdicts", list_}});
      return;
    }
    if (was_interrupted) say("interrupted after {} of {} problems\n", done_, problems_);
    say("{} problems: {} hold on every schedule, {} without failure in the schedules tried, {} fail; {:.0f} s\n",
        was_interrupted ? done_ : problems_, counts_[0], counts_[1], counts_[2] + counts_[3], seconds);
    if (const std::string part = part_that_is_built(); !part.empty()) say("{}\n", part);
  }

 private:
  size_t problems_;
  bool json_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  size_t done_ = 0;
  size_t counts_[5] = {};
  Json list_ = Json::array();
};

}  // namespace

int check_all(const RunArguments& arguments, const CheckArguments& how) {
  if (std::string problem = without_effect(arguments, how); !problem.empty()) return bad(problem, arguments.json);
  std::vector<RunArguments> problems;
  for (Chip chip : {Chip::sm90, Chip::sm100})
    for (const GemmConfig& config : gemm_configs(chip))
      if (built_for_loom(config))
        for (RunArguments& problem : problems_for(config, arguments)) problems.push_back(std::move(problem));

  Tally tally(problems.size(), arguments.json);
  Interruption interruption({.last = [&](int) { tally.tell(true); }});
  if (!arguments.json) remark_on_missing_lines();
  Progress progress;
  for (size_t i = 0; i < problems.size(); ++i) {
    progress.show(i, problems.size(), "problems");
    const auto begun = std::chrono::steady_clock::now();
    Result<ProblemVerdict> verdict = verdict_of(problems[i], how, nullptr, progress);
    if (!verdict) {
      interruption.over();
      return fail({fmt::format("{}: {}", problems[i].config, verdict.error()), exit_for(verdict.code())},
                  arguments.json);
    }
    const auto held = interruption.hold();
    progress.clear();
    tally.add(*verdict, seconds_since(begun));
  }
  interruption.over();
  tally.tell(false);
  return tally.good() ? right : finding;
}

}  // namespace warploom::cli
