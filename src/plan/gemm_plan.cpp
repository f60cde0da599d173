// Picks a configuration, a number of splits and a raster by predicted time.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "kernels/gemm_params.hpp"
#include "plan/gemm_costs.hpp"
#include "plan/gemm_legal.hpp"
#include "plan/plan_cache.hpp"
#include "types/no_throw.hpp"

namespace warploom {
namespace {

constexpr int most_splits = 16;
constexpr int panel = 8;          // cluster tiles
constexpr int weight_blocks = 4;  // of K, that are asked for ahead

/// Panels along the axis with which the clusters that run at one time touch the fewest operand rows; but where CTAs of
/// a cluster share one operand by multicast, so that clusters beside each other need the same rows of the other one,
/// which neighbours on the chip fetch together (gpu/cluster_places.hpp).
Raster raster_for(const GemmProblem& p, const GemmShape& s, int clusters) {
  const GemmTiles tiles = gemm_tiles(p, s);
  if (tiles.clusters <= clusters) return {};
  if (s.cluster_left > 1) return {Raster::Along::n, panel};
  if (s.cluster_right > 1) return {Raster::Along::m, panel};
  const double left_rows = static_cast<double>(s.tile_left) * s.cluster_left;
  const double right_rows = static_cast<double>(s.tile_right) * s.cluster_right;
  auto footprint = [&](double across, double across_rows, double length, double length_rows) {
    const double width = std::min<double>(panel, across);
    const double steps = std::min(length, std::max(1.0, clusters / width));
    return width * across_rows + steps * length_rows;
  };
  const auto left = static_cast<double>(tiles.left_clusters), right = static_cast<double>(tiles.right_clusters);
  const bool along_left =
      footprint(left, left_rows, right, right_rows) <= footprint(right, right_rows, left, left_rows);
  return {along_left ? Raster::Along::m : Raster::Along::n, panel};
}

/// "1 SM", "2 SMs".
std::string counted(int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string time_text(double us) {
  return us < 1000 ? fmt::format("{:.1f} us", us) : fmt::format("{:.2f} ms", us * 1e-3);
}

GemmPlan plan_of(const GemmProblem& p, const GemmConfig& config, int splits, const ChipLimits& chip,
                 const GemmCosts& costs) {
  const GemmShape& s = config.shape;
  const int size = s.cluster_size();
  const int at_once = clusters_at_once(s, chip);
  const int64_t items = gemm_tiles(p, s).clusters * splits * p.batch;
  // With launch control every work item has a cluster of its own, and the chip decides how many of them run.
  const int clusters = static_cast<int>(s.launch_control ? items : std::min<int64_t>(items, at_once));
  const GemmPrediction prediction = predict_gemm(p, s, splits, at_once, costs);
  GemmPlan plan;
  plan.config = &config;
  plan.splits = splits;
  plan.ctas = clusters * size;
  plan.at_once = at_once;
  // Few rows: the weights are most of what is read, and a launch that overlaps with the one before may begin with them.
  plan.weight_blocks = s.chip == Chip::sm100 && p.m < 128 ? std::min(weight_blocks, s.stages * s.k_group) : 0;
  plan.raster = raster_for(p, s, at_once);
  plan.workspace_bytes = items == 0 ? 0 : gemm_workspace_bytes(p, s, splits);
  plan.predicted_us = prediction.us;
  plan.why =
      items == 0
          ? fmt::format("{}: nothing to compute", config.key)
          : fmt::format("{}: {}{} of {}, {} bound, {} predicted{}", config.key,
                        splits > 1 ? fmt::format("{} splits, ", splits) : "", counted(prediction.waves, "wave"),
                        counted(std::min<int64_t>(items, at_once) * size, "CTA"), prediction.bound,
                        time_text(prediction.us), s.chip == Chip::sm100 ? " (cost model unmeasured on sm_100)" : "");
  return plan;
}

/// The cheapest number of splits. Only those are tried that shorten the longest share of K.
GemmPlan cheapest(const GemmProblem& p, const GemmConfig& config, const ChipLimits& chip, const GemmCosts& costs) {
  const GemmShape& s = config.shape;
  GemmPlan best = plan_of(p, config, 1, chip, costs);
  const int64_t k_blocks = (int64_t{p.k} + s.tile_k - 1) / s.tile_k;
  const int64_t tiles = gemm_tiles(p, s).clusters * p.batch;
  if (s.partial_floats == 0 || tiles == 0 || tiles >= clusters_at_once(s, chip)) return best;
  int64_t share = k_blocks;
  for (int splits = 2; splits <= std::min<int64_t>(most_splits, k_blocks); ++splits) {
    const int64_t next = (k_blocks + splits - 1) / splits;
    if (next == share) continue;
    share = next;
    if (GemmPlan plan = plan_of(p, config, splits, chip, costs); plan.predicted_us < best.predicted_us)
      best = std::move(plan);
  }
  return best;
}

Error too_few_sms(const GemmConfig& config, const ChipLimits& chip) {
  const int size = config.shape.cluster_size();
  if (chip.sms >= size) return {{}, ErrorCode::none};
  return {fmt::format("a chip of {} cannot hold a cluster of {}, as {} has", counted(chip.sms, "SM"),
                      counted(size, "CTA"), config.key),
          ErrorCode::unsupported};
}

}  // namespace

std::vector<GemmPlan> gemm_plans(const GemmProblem& problem, const ChipLimits& chip) {
  return no_throw<std::vector<GemmPlan>>([&] { return gemm_plans(problem, chip, costs_of(chip.chip)); },
                                         [](const Error&) { return std::vector<GemmPlan>{}; });
}

std::vector<GemmPlan> gemm_plans(const GemmProblem& problem, const ChipLimits& chip, const GemmCosts& costs) {
  std::vector<GemmPlan> plans;
  if (trouble_with(problem, chip.chip).code != ErrorCode::none) return plans;
  for (const GemmConfig& config : gemm_configs(chip.chip))
    if (too_few_sms(config, chip).code == ErrorCode::none && trouble_with(problem, config).code == ErrorCode::none)
      plans.push_back(cheapest(problem, config, chip, costs));
  std::sort(plans.begin(), plans.end(), [](const GemmPlan& x, const GemmPlan& y) {
    return x.predicted_us != y.predicted_us ? x.predicted_us < y.predicted_us : x.config < y.config;
  });
  return plans;
}

Result<GemmPlan> make_plan(const GemmProblem& problem, const ChipLimits& chip) {
  if (Error trouble = trouble_with(problem, chip.chip); trouble.code != ErrorCode::none) return trouble;
  std::vector<GemmPlan> plans = gemm_plans(problem, chip, costs_of(chip.chip));
  if (plans.empty())
    return Error{
        fmt::format("a chip of {} is too small for every configuration of this problem", counted(chip.sms, "SM")),
        ErrorCode::unsupported};
  return std::move(plans.front());
}

Result<GemmPlan> make_plan(const GemmProblem& problem, const GemmConfig& config, int splits, const ChipLimits& chip) {
  if (Error trouble = trouble_with(problem, config); trouble.code != ErrorCode::none) return trouble;
  if (Error trouble = too_few_sms(config, chip); trouble.code != ErrorCode::none) return trouble;
  if (splits < 0 || splits > most_splits)
    return Error{
        fmt::format("{} splits are not possible; 1 to {} are, or 0 for the planner's choice", splits, most_splits)};
  if (splits > 1 && config.shape.cluster_k > 1)
    return Error{fmt::format("{} shares K among the {} CTAs of a cluster; 1 is the only number of splits", config.key,
                             config.shape.cluster_k),
                 ErrorCode::unsupported};
  if (splits > 1 && config.shape.partial_floats == 0)
    return Error{
        fmt::format("{} does not split K; its tiles are large, and 1 is the only number of splits", config.key),
        ErrorCode::unsupported};
  const GemmCosts costs = costs_of(config.shape.chip);
  return splits == 0 ? cheapest(problem, config, chip, costs) : plan_of(problem, config, splits, chip, costs);
}

namespace {

/// A plan that was made before for such a problem, or what `make` makes now.
template <class Make>
Result<GemmPlan> kept_or_made(const PlanKey& key, const GemmProblem& problem, Make&& make) {
  PlanCache& cache = PlanCache::instance();
  if (std::optional<GemmPlan> plan = cache.find(key)) {
    if (Error trouble = trouble_with_memory(problem); trouble.code != ErrorCode::none) return trouble;
    return std::move(*plan);
  }
  Result<GemmPlan> plan = make();
  if (plan) cache.keep(key, *plan);
  return plan;
}

/// Those of the library stay what they are.
bool is_ours(const GemmConfig& config) {
  const std::span<const GemmConfig> ours = gemm_configs(config.shape.chip);
  return !std::less<>()(&config, ours.data()) && std::less<>()(&config, ours.data() + ours.size());
}

}  // namespace

Result<GemmPlan> plan_gemm(const GemmProblem& problem, const ChipLimits& chip) {
  return no_throw(
      [&] { return kept_or_made({problem, chip, nullptr, 0}, problem, [&] { return make_plan(problem, chip); }); });
}

Result<GemmPlan> plan_gemm(const GemmProblem& problem, const GemmConfig& config, int splits, const ChipLimits& chip) {
  return no_throw([&] {
    const auto make = [&] { return make_plan(problem, config, splits, chip); };
    return is_ours(config) ? kept_or_made({problem, chip, &config, splits}, problem, make) : make();
  });
}

}  // namespace warploom
