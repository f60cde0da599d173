// Plans that were made before. A plan follows from the form of a problem: extents, types, strides, which of its terms
// are there, and what of its addresses decides how C and D are reached. Where tensors lie is not part of it.
#pragma once

#include <array>
#include <mutex>
#include <optional>

#include "warploom/kernels/gemm_problem.hpp"

namespace warploom {

/// All that a plan depends on, and whether the problem can run wherever its tensors lie.
class PlanKey {
 public:
  /// `config`: a row of gemm_configs(), or null for the best.
  PlanKey(const GemmProblem& problem, const ChipLimits& chip, const GemmConfig* config, int splits);
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
  size_t hash() const;

 private:
  std::array<int64_t, 18> words_ = {};
};

/// Thread-safe, of a fixed size: a new plan takes the place of the one of its set that was not asked for the longest.
class PlanCache {
 public:
  static constexpr size_t sets = 128, ways = 8;

  static PlanCache& instance();

  std::optional<GemmPlan> find(const PlanKey& key);
  void keep(const PlanKey& key, const GemmPlan& plan);

 private:
  struct Slot {
    std::optional<PlanKey> key;
    uint64_t used = 0;  ///< at this moment of its set
    GemmPlan plan;
  };
  struct Set {
    std::mutex mutex;
    uint64_t moment = 0;
    std::array<Slot, ways> slots;
  };
  std::array<Set, sets> sets_;
};

/// What plan_gemm does where it has no plan yet.
Result<GemmPlan> make_plan(const GemmProblem& problem, const ChipLimits& chip);
Result<GemmPlan> make_plan(const GemmProblem& problem, const GemmConfig& config, int splits, const ChipLimits& chip);

}  // namespace warploom
