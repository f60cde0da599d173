#include "cli/refusals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "cli/session.hpp"
#include "cli/tell.hpp"
#include "cli/text.hpp"

namespace warploom::cli {
namespace {

const char* name_of(Major major) { return major == Major::k ? "k" : "mn"; }
const char* name_of(BiasAlong along) { return along == BiasAlong::none ? "none" : along == BiasAlong::n ? "n" : "m"; }
using warploom::name_of;

/// Whether a sentence has the number as a word.
bool says(std::string_view sentence, const std::string& number) {
  auto is_digit = [&](size_t at) {
    return at < sentence.size() && std::isdigit(static_cast<unsigned char>(sentence[at])) != 0;
  };
  for (size_t at = sentence.find(number); at != std::string_view::npos; at = sentence.find(number, at + 1))
    if (!(at > 0 && is_digit(at - 1)) && !is_digit(at + number.size())) return true;
  return false;
}

/// What must change, in words for the command line; "" if nothing there helps.
std::string what_works(const RunArguments& a, const GemmDataSpec& spec, Chip chip, const std::string& reason) {
  const GemmProblem p = nearest_that_runs(described(spec), chip);
  GemmDataSpec nearest = spec;
  nearest.m = p.m;
  nearest.n = p.n;
  nearest.k = p.k;
  nearest.batch = p.batch;
  nearest.a = p.a.type;
  nearest.b = p.b.type;
  nearest.d = p.d.type;
  nearest.a_major = p.a.major;
  nearest.b_major = p.b.major;
  nearest.bias = p.bias.along;
  nearest.bias_type = p.bias.type;
  nearest.activation = p.activation;
  nearest.scaling = p.scaling;
  nearest.beta = p.beta;
  // The options make tensors of their own, which must do as well.
  if (!why_not(described(nearest), chip).empty()) return {};

  std::vector<std::string> of_file, of_problem;
  auto extent = [&](const char* option, int before, int after) {
    if (before != after) of_file.push_back(fmt::format("{} {}", option, after));
  };
  auto choice = [](std::vector<std::string>& list, const char* option, auto before, auto after) {
    if (before != after) list.push_back(fmt::format("{} {}", option, name_of(after)));
  };
  extent("--m", spec.m, nearest.m);
  extent("--n", spec.n, nearest.n);
  extent("--k", spec.k, nearest.k);
  extent("--batch", spec.batch, nearest.batch);
  const bool only_an_extent = of_file.size() == 1;
  choice(of_file, "--a-type", spec.a, nearest.a);
  choice(of_file, "--b-type", spec.b, nearest.b);
  choice(of_file, "--bias-type", spec.bias_type, nearest.bias_type);
  choice(of_problem, "--d-type", spec.d, nearest.d);
  choice(of_problem, "--a-major", spec.a_major, nearest.a_major);
  choice(of_problem, "--b-major", spec.b_major, nearest.b_major);
  choice(of_problem, "--bias", spec.bias, nearest.bias);
  choice(of_problem, "--activation", spec.activation, nearest.activation);
  if (spec.beta != nearest.beta) of_problem.push_back(fmt::format("--beta {}", nearest.beta));
  if (!a.tensors.empty() && !of_file.empty()) return {};  // no option changes a file
  // "such as 104" needs no "--n 104".
  if (only_an_extent && of_file.size() == 1 && of_problem.empty() &&
      says(reason.substr(reason.rfind(';') + 1), of_file.front().substr(of_file.front().find(' ') + 1)))
    return {};
  of_file.insert(of_file.end(), of_problem.begin(), of_problem.end());
  std::string words = fmt::format("{}", fmt::join(of_file, " "));
  if (spec.scaling != nearest.scaling)
    words = fmt::format("the kernel {}{}{}", nearest.scaling == Scaling::none ? "gemm" : "blockwise-fp8",
                        words.empty() ? "" : " with ", words);
  return words;
}

}  // namespace

namespace {

/// "" or which option is passed over where the kernel runs, or beside another one.
std::string passed_over(const RunArguments& a) {
  if (a.gave("--data") && a.gave("--mode")) return "--data and --mode are the same; give one of them";
  if (a.gave("--schedule") && a.gave("--replay")) return "--schedule and --replay are the same; give one of them";
  if (a.on != "gpu" && a.gave("--launches"))
    return "--launches is for a GPU, of whose times the median is told; the loom runs a kernel once, so leave it out";
  if (a.on == "gpu")
    for (const char* option : {"--schedule", "--replay", "--policy", "--seed", "--workers"})
      if (a.gave(option)) return fmt::format("{} is for the loom; a GPU has its own schedule", option);
  if (a.sites)
    for (const char* option : {"--out", "--timeline", "--mutate"})
      if (a.gave(option)) return fmt::format("--sites lists barrier operations and does no more; leave {} out", option);
  if (a.gave("--bias-type") && (a.bias.empty() || a.bias == "none"))
    return "--bias-type is the type of a bias, and there is none; --bias n or --bias m adds one";
  return {};
}

}  // namespace

std::string not_honoured(const RunArguments& a) {
  if (std::string option = passed_over(a); !option.empty()) return option;
  if (a.kernel == "blockwise-fp8") {
    for (const auto& [option, value] : {std::pair("--a-type", &a.a_type), {"--b-type", &a.b_type}})
      if (a.gave(option) && *value != "e4m3")
        return fmt::format("blockwise-fp8 multiplies e4m3 operands; {} is e4m3 there, not '{}'", option, *value);
    for (const auto& [option, value] : {std::pair("--a-major", &a.a_major), {"--b-major", &a.b_major}})
      if (a.gave(option) && *value != "k")
        return fmt::format("blockwise-fp8 multiplies K-major operands; {} is k there, not '{}'", option, *value);
  } else if (a.gave("--b-scales")) {
    return "--b-scales is for blockwise-fp8; gemm multiplies without scales";
  }
  if (a.tensors.empty()) return {};
  for (const char* option : {"--data", "--mode", "--data-seed"})
    if (a.gave(option)) return fmt::format("{} is for tensors that are made up; --tensors brings its own", option);
  std::error_code neither_is_there;
  if (!a.out.empty() && std::filesystem::equivalent(a.out, a.tensors, neither_is_there))
    return "--out is the file that --tensors names; write d to another one";
  return {};
}

std::string contradiction(const RunArguments& a, const GemmDataSpec& of_file) {
  const std::tuple<const char*, int64_t, int64_t> extents[] = {
      {"--m", a.m, of_file.m}, {"--n", a.n, of_file.n}, {"--k", a.k, of_file.k}, {"--batch", a.batch, of_file.batch}};
  for (const auto& [option, asked, there] : extents)
    if (a.gave(option) && asked != there)
      return fmt::format("{} is {}, and the file has {}; leave {} out", option, asked, there, option);
  const std::tuple<const char*, std::string, DType> types[] = {
      {"--a-type", a.a_type, of_file.a},
      {"--b-type", a.b_type, of_file.b},
      {"--bias-type", a.bias_type, of_file.bias_type},
  };
  for (const auto& [option, asked, there] : types)
    if (a.gave(option) && asked != name_of(there))
      return fmt::format("{} is {}, and the file has {}; leave {} out", option, asked, name_of(there), option);
  return {};
}

std::string refusal(const RunArguments& a, const GemmDataSpec& spec, Chip chip) {
  const std::string reason = why_not(described(spec), chip);
  if (reason.empty()) return {};
  std::string sentence = reason;
  const std::string here = what_works(a, spec, chip, reason);
  if (!here.empty()) sentence += fmt::format("; {} works", here);
  if (!a.config.empty() && a.config != "auto") return sentence;  // which is for this chip
  const Chip other = chip == Chip::sm90 ? Chip::sm100 : Chip::sm90;
  const char* target = other == Chip::sm90 ? "loom:sm90" : "loom:sm100";
  const std::string reason_there = why_not(described(spec), other);
  if (reason_there.empty()) return sentence + fmt::format("; on {} it works", target);
  // Only one chip has f32, and who asks for it may not care which.
  if (other == Chip::sm100 && (spec.a == DType::f32 || spec.b == DType::f32))
    if (const std::string there = what_works(a, spec, other, reason_there); !there.empty() && there != here)
      sentence += fmt::format("; on {} {} works", target, there);
  return sentence;
}

std::string no_config(const RunArguments& a, Scaling scaling, Chip chip) {
  std::vector<std::pair<size_t, std::string>> known;  // by how far they are from what was typed
  const std::string typed = a.config.substr(0, 256);  // whoever types more means none of them
  for (Chip candidate : {Chip::sm90, Chip::sm100})
    if (!a.gave("--on") || candidate == chip)
      for (const GemmConfig& config : gemm_configs(candidate))
        if (config.scaling == scaling) known.emplace_back(edit_distance(typed, config.key), config.key);
  std::sort(known.begin(), known.end());
  constexpr size_t shown = 3;
  std::vector<std::string> nearest;
  for (size_t i = 0; i < std::min(known.size(), shown); ++i) nearest.push_back(known[i].second);
  return fmt::format("there is no configuration '{}'; the nearest are {} (warploom kernels lists all)", a.config,
                     in_words(nearest));
}

}  // namespace warploom::cli
