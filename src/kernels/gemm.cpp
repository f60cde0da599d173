// Running a GEMM on the loom.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/gemm_entry.hpp"
#include "kernels/gemm_params.hpp"
#include "types/no_throw.hpp"
#include "warploom/loom/tensor_map.hpp"

namespace warploom {

#define WARPLOOM_HOPPER_GEMM(key, ...) \
  extern template void gemm_entry<WARPLOOM_HOPPER_GEMM_KERNEL(__VA_ARGS__)>(const void*);
#include "warploom/kernels/hopper_gemm.def"
#undef WARPLOOM_HOPPER_GEMM
#define WARPLOOM_BLACKWELL_GEMM(key, ...) \
  extern template void gemm_entry<WARPLOOM_BLACKWELL_GEMM_KERNEL(__VA_ARGS__)>(const void*);
#include "warploom/kernels/blackwell_gemm.def"
#undef WARPLOOM_BLACKWELL_GEMM

namespace {

// The build writes it: `all_are_built`, and `built`, the keys of those that are, where not all are.
#include "kernels/built.inc"

constexpr bool is_built(std::string_view key) {
  return all_are_built || std::find(std::begin(built), std::end(built), key) != std::end(built);
}

// A row that is not built is null: nothing refers to its instantiation.
#define WARPLOOM_HOPPER_GEMM(key, ...) is_built(key) ? &gemm_entry<WARPLOOM_HOPPER_GEMM_KERNEL(__VA_ARGS__)> : nullptr,
constexpr loom::Entry hopper_entries[] = {
#include "warploom/kernels/hopper_gemm.def"
};
#undef WARPLOOM_HOPPER_GEMM
#define WARPLOOM_BLACKWELL_GEMM(key, ...) \
  is_built(key) ? &gemm_entry<WARPLOOM_BLACKWELL_GEMM_KERNEL(__VA_ARGS__)> : nullptr,
constexpr loom::Entry blackwell_entries[] = {
#include "warploom/kernels/blackwell_gemm.def"
};
#undef WARPLOOM_BLACKWELL_GEMM

/// `row`: one of gemm_configs().
loom::Entry entry_of(const GemmConfig* row) {
  const Chip chip = row->shape.chip;
  const auto index = static_cast<size_t>(row - gemm_configs(chip).data());
  return chip == Chip::sm90 ? hopper_entries[index] : blackwell_entries[index];
}

template <Chip chip>
Result<TensorMap> encode(const TensorMapArgs& args) {
  return loom::encode_tensor_map(args, chip);
}

/// Memory of a multiple of 128 bytes: counters zero, partial sums NaN, so that one nobody wrote shows.
class Workspace {
 public:
  Workspace(size_t counter_bytes, size_t bytes) : lines_((bytes + 127) / 128) {
    if (bytes == 0) return;
    std::memset(lines_.data(), 0xff, lines_.size() * sizeof(Line));
    std::memset(lines_.data(), 0, counter_bytes);
  }
  void* data() { return lines_.empty() ? nullptr : lines_.data(); }

 private:
  struct alignas(128) Line {
    std::byte bytes[128];
  };
  std::vector<Line> lines_;
};

constexpr const char* how_to_build = "-DWARPLOOM_KERNELS=all builds them all (./dev build --all)";

}  // namespace

bool built_for_loom(const GemmConfig& config) { return why_not_on_loom(config).empty(); }

namespace {

std::string why_not_built(const GemmConfig& config) {
  if (config.loom_entry != nullptr) return {};
  const Result<const GemmConfig*> row = find_gemm_config(config.key);  // a copy of a row will do
  if (!row) return row.error();
  if (entry_of(*row) != nullptr) return {};
  const size_t of = gemm_configs(Chip::sm90).size() + gemm_configs(Chip::sm100).size();
  return fmt::format("configuration {} is not built for the loom, as {} of {} are; {}", config.key, std::size(built),
                     of, how_to_build);
}

}  // namespace

std::string why_not_on_loom(const GemmConfig& config) {
  return sentence_of([&] { return why_not_built(config); });
}

namespace {

Result<GemmPlan> plan_of_those_built(const GemmProblem& problem, const ChipLimits& chip) {
  Result<GemmPlan> best = plan_gemm(problem, chip);
  if (!best || built_for_loom(*best->config)) return best;
  for (GemmPlan& plan : gemm_plans(problem, chip)) {
    if (!built_for_loom(*plan.config)) continue;
    plan.instead_of = best->config;
    plan.why += fmt::format("; the chip would take {} ({:.2f} times as fast), which is not built: {}",
                            best->config->key, plan.predicted_us / std::max(best->predicted_us, 1e-9), how_to_build);
    return std::move(plan);
  }
  return Error{fmt::format("this problem needs a configuration that is not built: {}", why_not_on_loom(*best->config)),
               ErrorCode::not_built};
}

Result<loom::Outcome> run(const GemmProblem& problem, const GemmPlan& plan, const loom::Options& options) {
  if (plan.config == nullptr) return Error{"the plan names no configuration; plan_gemm makes one that does"};
  loom::Entry entry = plan.config->loom_entry;
  if (entry == nullptr) {
    const Result<const GemmConfig*> row = find_gemm_config(plan.config->key);  // a copy of a row will do
    if (!row) return row.why();
    entry = entry_of(*row);
    if (entry == nullptr) return Error{why_not_on_loom(*plan.config), ErrorCode::not_built};
  }
  const GemmShape& shape = plan.config->shape;
  size_t counter_bytes = 0;
  if (plan.splits > 1 && plan.workspace_bytes != 0)
    counter_bytes = std::min(gemm_counter_bytes(problem, plan.config->shape, plan.splits), plan.workspace_bytes);
  Workspace workspace(counter_bytes, plan.workspace_bytes);
  Result<GemmLaunch> launch = make_launch(problem, plan, workspace.data(),
                                          shape.chip == Chip::sm90 ? &encode<Chip::sm90> : &encode<Chip::sm100>);
  if (!launch) return launch.why();
  if (launch->grid.x == 0) return loom::Outcome{};  // nothing to compute

  const loom::LaunchConfig config{.kernel = plan.config->key,
                                  .grid = launch->grid,
                                  .cluster = launch->cluster,
                                  .threads = launch->threads,
                                  .shared_bytes = launch->shared_bytes,
                                  .launch_control = shape.launch_control,
                                  .talks_across_clusters = plan.splits > 1};
  loom::Options with = options;
  if (shape.launch_control) with.processors = static_cast<uint32_t>(std::max(plan.at_once, 1));
  const std::vector<loom::TensorRef> tensors = gemm_tensors(problem, plan, workspace.data());
  loom::Outcome outcome = loom::launch(config, entry, &launch->params, tensors, with);
  if (outcome.ok() && !gemm_counters_zero(workspace.data(), counter_bytes))
    outcome.report.findings.push_back(
        {.code = "WORKSPACE",
         .message = "The kernel ended with split-K counters that are not zero, as the next launch needs them."});
  return outcome;
}

}  // namespace

Result<GemmPlan> plan_gemm_on_loom(const GemmProblem& problem, const ChipLimits& chip) {
  return no_throw([&] { return plan_of_those_built(problem, chip); });
}

Result<loom::Outcome> run_on_loom(const GemmProblem& problem, const GemmPlan& plan, const loom::Options& options) {
  return no_throw([&] { return run(problem, plan, options); });
}

}  // namespace warploom
