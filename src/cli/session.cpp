#include "cli/session.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "cli/refusals.hpp"

namespace warploom::cli {
namespace {

Result<loom::Schedule> schedule_of(const RunArguments& arguments) {
  if (!arguments.schedule.empty()) {
    if (arguments.gave("--policy") || arguments.gave("--seed"))
      return Error{"give --schedule, or --policy and --seed, not both"};
    return loom::Schedule::parse(arguments.schedule);
  }
  if (arguments.policy.empty() && !arguments.gave("--seed")) return loom::Schedule{};
  return loom::Schedule::parse(
      fmt::format("{}:{:x}", arguments.policy.empty() ? "random" : arguments.policy, arguments.seed));
}

}  // namespace

std::string default_target(const RunArguments& arguments) {
  if (const Result<const GemmConfig*> config = find_gemm_config(arguments.config); config)
    return (*config)->shape.chip == Chip::sm100 ? "loom:sm100" : "loom:sm90";
  return arguments.kernel == "blockwise-fp8" ? "loom:sm100" : "loom:sm90";
}

Result<Fill> fill_of(const RunArguments& arguments) {
  const std::string& text = arguments.fill;
  if (text == "normal") return Fill::normal;
  if (text == "uniform") return Fill::uniform;
  if (text == "integer") return Fill::integer;
  if (text == "ring") return Fill::ring;
  return Error{fmt::format("{} is normal, uniform, integer or ring, not '{}'", fill_option(arguments), text)};
}

Result<std::unique_ptr<Session>> Session::prepare(const RunArguments& arguments) {
  RunArguments a = arguments;
  if (a.kernel != "gemm" && a.kernel != "blockwise-fp8")
    return Error{fmt::format("there is no kernel '{}'; there are gemm and blockwise-fp8", a.kernel)};
  if (a.on.empty()) a.on = default_target(a);
  if (a.on != "loom:sm90" && a.on != "loom:sm100" && a.on != "gpu")
    return Error{
        fmt::format("{} cannot run {}; it runs on loom:sm90, on loom:sm100, and on gpu where the program was "
                    "built for one",
                    a.on, a.kernel)};
  if (std::string problem = not_honoured(a); !problem.empty()) return Error{problem};
  if (!std::isfinite(a.alpha) || !std::isfinite(a.beta)) return Error{"--alpha and --beta must be finite numbers"};
  if (Result<loom::Numerics> numerics = loom::parse_numerics(a.numerics); !numerics)
    return Error{fmt::format("--numerics is fast or exact, not '{}'", a.numerics)};
  if (a.on == "gpu" && a.numerics != "fast") return Error{"--numerics is for the loom; a GPU has its own"};
  if (a.fill == "ring" &&
      (a.on == "gpu" || a.alpha != 1.0f || (a.beta != 0.0f && a.beta != 1.0f) || !a.tensors.empty() ||
       a.activation != "none" || a.splits > most_ring_splits || a.numerics != "fast" || a.d_type == "e4m3"))
    return Error{
        fmt::format("{} ring is for the loom, with --d-type bf16, f16 or f32, --alpha 1, --beta 0 or 1, no "
                    "activation, no --tensors, fast numerics and up to {} splits",
                    fill_option(a), most_ring_splits)};
  Result<loom::Schedule> schedule = schedule_of(a);
  if (!schedule) return schedule.why();
  return GemmSession::prepare(a, *schedule);
}

loom::Options Session::options() const {
  loom::Options options;
  options.schedule = schedule_;
  options.workers = arguments_.workers;
  options.numerics = *loom::parse_numerics(arguments_.numerics);  // prepare() has looked at it
  return options;
}

Result<loom::Mutation> parse_mutation(const std::string& text, const std::vector<loom::Site>& sites) {
  if (sites.empty()) return Error{"there is nothing to alter: the kernel runs no barrier operation here"};
  const size_t at = text.find('@');
  const std::string name = text.substr(0, at);
  uint32_t index = 0;
  const char* end = text.data() + text.size();
  const char* digits = at == std::string::npos ? end : text.data() + at + 1;
  const auto [stop, error] = std::from_chars(digits, end, index);
  if (error != std::errc{} || stop != end || index >= sites.size())
    return Error{fmt::format("--mutate takes MUTATION@SITE with SITE from 0 to {} (--sites lists them), not '{}'",
                             sites.size() - 1, text)};
  std::vector<std::string> possible;
  for (loom::MutationKind kind : loom::mutations_of(sites[index].operation)) {
    if (name == to_string(kind)) return loom::Mutation{sites[index].key(), kind};
    possible.emplace_back(to_string(kind));
  }
  return Error{fmt::format("{} cannot be altered by '{}'; {} {} possible", sites[index].operation, name,
                           in_words(possible), possible.size() == 1 ? "is" : "are")};
}

std::string describe(const loom::Site& site) {
  return fmt::format("{:<26} {:<18} {}:{}", site.operation, site.object, site.at.user.file, site.at.user.line);
}

}  // namespace warploom::cli
