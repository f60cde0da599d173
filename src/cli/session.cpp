#include "cli/session.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace warploom::cli {
namespace {

Result<loom::Schedule> schedule_of(const RunArguments& arguments) {
  if (!arguments.schedule.empty()) {
    if (!arguments.policy.empty() || arguments.seed != 0)
      return Error{"give --schedule, or --policy and --seed, not both"};
    return loom::Schedule::parse(arguments.schedule);
  }
  if (arguments.policy.empty() && arguments.seed == 0) return loom::Schedule{};
  return loom::Schedule::parse(
      fmt::format("{}:{:x}", arguments.policy.empty() ? "random" : arguments.policy, arguments.seed));
}

}  // namespace

Result<Session> Session::prepare(const RunArguments& a) {
  if (a.kernel != "blockwise-fp8")
    return Error{fmt::format("there is no kernel '{}'; there is blockwise-fp8", a.kernel)};
  if (a.on != "loom:sm100")
    return Error{fmt::format("{} cannot run {}; it runs on loom:sm100 (compiled for sm_100a, no GPU launch yet)", a.on,
                             a.kernel)};
  constexpr int64_t largest = 1 << 20;
  for (int64_t extent : {a.m, a.n, a.k})
    if (extent < 1 || extent > largest)
      return Error{fmt::format("m, n and k must lie between 1 and {}, not {}", largest, extent)};
  // A and B are kept quantised and not; C and D.
  const double bytes = 5.0 * static_cast<double>(a.m + a.n) * static_cast<double>(a.k) +
                       4.0 * static_cast<double>(a.m) * static_cast<double>(a.n);
  if (bytes > 8e9)
    return Error{fmt::format("a problem of {:.1f} GB is too large; at most 8 GB are allowed", bytes * 1e-9)};
  if (a.fill != "normal" && a.fill != "integer")
    return Error{fmt::format("--fill is normal or integer, not '{}'", a.fill)};
  if (a.sms < 1) return Error{"--sms must be at least 1"};

  if (!std::isfinite(a.alpha) || !std::isfinite(a.beta)) return Error{"--alpha and --beta must be finite numbers"};

  const std::string config = !a.config.empty() ? a.config : a.m > 128 && a.sms > 1 ? "2sm-2x1" : "1sm-1x1";
  if (Result<BlockwiseFP8Config> found = find_blockwise_fp8_config(config); !found) return Error{found.error()};
  Result<loom::Schedule> schedule = schedule_of(a);
  if (!schedule) return Error{schedule.error()};
  return Session(a, config, *schedule, a.fill == "integer" ? Fill::integer : Fill::normal);
}

loom::Options Session::options() const {
  loom::Options options;
  options.schedule = schedule_;
  options.workers = arguments_.workers;
  return options;
}

Result<loom::Outcome> Session::launch(const loom::Options& options) {
  return run_on_loom(data_.problem(arguments_.alpha, arguments_.beta), config_, {options, arguments_.sms});
}

BlockwiseFP8Data::Accuracy Session::compare() const {
  constexpr double quick = 4e9;  // multiply-adds in double: a few seconds
  const double row = static_cast<double>(data_.n) * data_.k * 2;
  return data_.compare(arguments_.alpha, arguments_.beta, static_cast<int>(std::max(1.0, std::min(quick / row, 1e9))));
}

bool Session::correct(const BlockwiseFP8Data::Accuracy& accuracy) const {
  if (!accuracy.padding_untouched) return false;
  if (fill_ == Fill::integer) return accuracy.rounding_mismatches == 0;
  // Over many outputs, rounding to bf16 alone gives a diff of about 1.4e-6; few outputs may be worse off, each within
  // half a unit in the last place.
  const bool many = static_cast<int64_t>(accuracy.rows) * data_.n >= 512;
  return many ? accuracy.diff < 3e-6 && accuracy.diff_unquantised < 1e-3 : accuracy.within_rounding;
}

Result<loom::Mutation> parse_mutation(const std::string& text, const std::vector<loom::Site>& sites) {
  const size_t at = text.find('@');
  const std::string name = text.substr(0, at);
  uint32_t index = 0;
  const char* end = text.data() + text.size();
  const char* digits = at == std::string::npos ? end : text.data() + at + 1;
  const auto [stop, error] = std::from_chars(digits, end, index);
  if (error != std::errc{} || stop != end || index >= sites.size())
    return Error{fmt::format("--mutate takes ALTERATION@SITE with SITE from 0 to {} (--sites lists them), not '{}'",
                             sites.size() - 1, text)};
  std::string possible;
  for (loom::Alteration alteration : loom::alterations_of(sites[index].operation)) {
    if (name == to_string(alteration)) return loom::Mutation{sites[index].key(), alteration};
    possible += fmt::format("{}{}", possible.empty() ? "" : ", ", to_string(alteration));
  }
  return Error{fmt::format("{} cannot be altered by '{}'; {} are possible", sites[index].operation, name, possible)};
}

std::string describe(const loom::Site& site) {
  return fmt::format("{:<26} {:<18} {}:{}", site.operation, site.object, site.at.user.file, site.at.user.line);
}

}  // namespace warploom::cli
