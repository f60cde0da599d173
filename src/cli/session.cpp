#include "cli/session.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "warploom/kernels/blockwise_fp8_data.hpp"

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

/// blockwise-fp8 as Blackwell runs it.
class BlockwiseSession : public Session {
 public:
  BlockwiseSession(const RunArguments& arguments, std::string config, loom::Schedule schedule, Fill fill)
      : Session(arguments, schedule),
        config_(std::move(config)),
        data_(static_cast<int>(arguments.m), static_cast<int>(arguments.n), static_cast<int>(arguments.k), fill,
              arguments.data_seed),
        fill_(fill) {}

  Result<loom::Outcome> launch(const loom::Options& options) override {
    loom::Options with_ring = options;
    with_ring.ring = data_.ring();
    return run_on_loom(data_.problem(arguments_.alpha, arguments_.beta), config_, {with_ring, arguments_.sms});
  }

  GemmData::Accuracy compare() const override {
    constexpr double quick = 4e9;  // multiply-adds in double: a few seconds
    const double row = static_cast<double>(data_.n) * data_.k * 2;
    const BlockwiseFP8Data::Accuracy accuracy =
        data_.compare(arguments_.alpha, arguments_.beta, static_cast<int>(std::max(1.0, std::min(quick / row, 1e9))));
    return {accuracy.max_abs_error,    accuracy.max_rel_error,       accuracy.diff,
            accuracy.diff_unquantised, accuracy.rounding_mismatches, 0,
            accuracy.within_rounding,  accuracy.padding_untouched,   accuracy.rows};
  }

  bool correct(const GemmData::Accuracy& accuracy) const override {
    if (!accuracy.padding_untouched) return false;
    if (fill_ == Fill::integer || fill_ == Fill::ring) return accuracy.rounding_mismatches == 0;
    // Over many outputs, rounding to bf16 alone gives a diff of about 1.4e-6; few outputs may be worse off, each
    // within half a unit in the last place.
    const bool many = accuracy.rows * data_.n >= 512;
    return many ? accuracy.diff < 3e-6 && accuracy.diff_unquantised < 1e-3 : accuracy.within_rounding;
  }

  uint32_t ring() const { return data_.ring(); }
  std::string config() const override { return config_; }
  std::string target() const override { return arguments_.on; }
  int64_t m() const override { return data_.m; }
  int64_t n() const override { return data_.n; }
  int64_t k() const override { return data_.k; }

 private:
  std::string config_;
  BlockwiseFP8Data data_;
  Fill fill_;
};

Result<std::unique_ptr<Session>> prepare_blockwise(RunArguments a, loom::Schedule schedule) {
  if (!a.tensors.empty() || !a.out.empty())
    return Error{"--tensors and --out are for gemm, and for blockwise-fp8 on loom:sm90 or gpu"};
  constexpr int64_t largest = 1 << 20;
  for (int64_t extent : {a.m, a.n, a.k})
    if (extent < 1 || extent > largest)
      return Error{fmt::format("m, n and k must lie between 1 and {}, not {}", largest, extent)};
  // A and B are kept quantised and not; C and D.
  const double bytes = 5.0 * static_cast<double>(a.m + a.n) * static_cast<double>(a.k) +
                       4.0 * static_cast<double>(a.m) * static_cast<double>(a.n);
  if (bytes > 8e9)
    return Error{fmt::format("a problem of {:.1f} GB is too large; at most 8 GB are allowed", bytes * 1e-9)};
  Result<Fill> fill = parse_fill(a.fill);
  if (!fill) return Error{fill.error()};
  if (a.sms == 0) a.sms = 148;
  if (a.sms < 1) return Error{"--sms must be at least 1"};
  const std::string config = !a.config.empty() && a.config != "auto" ? a.config
                             : a.m > 128 && a.sms > 1                ? "2sm-2x1"
                                                                     : "1sm-1x1";
  if (Result<BlockwiseFP8Config> found = find_blockwise_fp8_config(config); !found) return Error{found.error()};
  auto session = std::make_unique<BlockwiseSession>(a, config, schedule, *fill);
  if (*fill == Fill::ring && session->ring() == 0) return Error{no_ring};
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace

std::string default_target(const RunArguments& arguments) {
  if (arguments.kernel == "blockwise-fp8") return "loom:sm100";
  const Result<const GemmConfig*> config = find_gemm_config(arguments.config);
  return config && (*config)->shape.chip == Chip::sm100 ? "loom:sm100" : "loom:sm90";
}

Result<Fill> parse_fill(const std::string& text) {
  if (text == "normal") return Fill::normal;
  if (text == "uniform") return Fill::uniform;
  if (text == "integer") return Fill::integer;
  if (text == "ring") return Fill::ring;
  return Error{fmt::format("--data is normal, uniform, integer or ring, not '{}'", text)};
}

Result<std::unique_ptr<Session>> Session::prepare(const RunArguments& arguments) {
  RunArguments a = arguments;
  if (a.kernel != "gemm" && a.kernel != "blockwise-fp8")
    return Error{fmt::format("there is no kernel '{}'; there are gemm and blockwise-fp8", a.kernel)};
  const bool blockwise = a.kernel == "blockwise-fp8";
  if (a.on.empty()) a.on = default_target(a);
  if (a.on != "loom:sm90" && a.on != "loom:sm100" && a.on != "gpu")
    return Error{
        fmt::format("{} cannot run {}; it runs on loom:sm90, on loom:sm100, and on gpu where the program was "
                    "built for one",
                    a.on, a.kernel)};
  if (!std::isfinite(a.alpha) || !std::isfinite(a.beta)) return Error{"--alpha and --beta must be finite numbers"};
  if (Result<loom::Numerics> numerics = loom::parse_numerics(a.numerics); !numerics)
    return Error{fmt::format("--numerics is fast or exact, not '{}'", a.numerics)};
  if (a.on == "gpu" && a.numerics != "fast") return Error{"--numerics is for the loom; a GPU has its own"};
  if (a.fill == "ring" &&
      (a.on == "gpu" || a.alpha != 1.0f || (a.beta != 0.0f && a.beta != 1.0f) || !a.tensors.empty() ||
       a.activation != "none" || a.splits > most_ring_splits || a.numerics != "fast"))
    return Error{
        fmt::format("--data ring is for the loom, with --alpha 1, --beta 0 or 1, no activation, no --tensors, "
                    "fast numerics and up to {} splits",
                    most_ring_splits)};
  Result<loom::Schedule> schedule = schedule_of(a);
  if (!schedule) return Error{schedule.error()};
  return blockwise && a.on == "loom:sm100" ? prepare_blockwise(a, *schedule) : GemmSession::prepare(a, *schedule);
}

loom::Options Session::options() const {
  loom::Options options;
  options.schedule = schedule_;
  options.workers = arguments_.workers;
  options.numerics = *loom::parse_numerics(arguments_.numerics);  // prepare() has looked at it
  return options;
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
