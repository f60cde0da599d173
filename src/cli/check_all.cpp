// warploom check --all: every configuration of every kernel, on problems with full and partial tiles.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

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

int check_all(const RunArguments& arguments, const CheckArguments& how) {
  if (std::string problem = without_effect(arguments, how); !problem.empty()) return bad(problem, arguments.json);
  std::vector<RunArguments> problems;
  for (Chip chip : {Chip::sm90, Chip::sm100})
    for (const GemmConfig& config : gemm_configs(chip))
      if (built_for_loom(config))
        for (RunArguments& problem : problems_for(config, arguments)) problems.push_back(std::move(problem));

  const auto start = std::chrono::steady_clock::now();
  Json list = Json::array();
  size_t counts[5] = {};
  for (const RunArguments& problem : problems) {
    const auto begun = std::chrono::steady_clock::now();
    Result<ProblemVerdict> verdict = verdict_of(problem, how);
    if (!verdict) return bad(fmt::format("{}: {}", problem.config, verdict.error()), arguments.json);
    ++counts[static_cast<size_t>(verdict->kind)];
    if (arguments.json) {
      list.push_back(json_of(*verdict));
      continue;
    }
    constexpr const char* words[] = {"holds", "no failure", "FAILS", "WRONG", "refused"};
    fmt::print(
        "{:<10}  {:5.2f} s  {}{}\n", words[static_cast<size_t>(verdict->kind)], seconds_since(begun), verdict->what,
        verdict->kind == loom::Verdict::Kind::none_found ? fmt::format("  ({} schedules)", verdict->exploration.done)
                                                         : "");
    if (!verdict->good()) print(*verdict);
    std::fflush(stdout);
  }
  const bool good = counts[2] + counts[3] == 0;
  if (arguments.json)
    fmt::print("{}\n", Json{{"good", good},
                            {"seconds", seconds_since(start)},
                            {"configurations", problems.size() / 2},
                            {"not_built",
                             gemm_configs(Chip::sm90).size() + gemm_configs(Chip::sm100).size() - problems.size() / 2},
                            {"verdicts", list}}
                           .dump(2));
  else
    fmt::print("{} problems: {} hold on every schedule, {} without failure in the schedules tried, {} fail; {:.0f} s\n",
               problems.size(), counts[0], counts[1], counts[2] + counts[3], seconds_since(start));
  if (const std::string part = part_that_is_built(); !arguments.json && !part.empty()) fmt::print("{}\n", part);
  return good ? 0 : 1;
}

}  // namespace warploom::cli
