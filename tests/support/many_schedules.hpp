// A kernel under many random schedules. A launch has one cluster for each of them, because every cluster draws its own
// schedule from the seed; the report of a failure names the cluster and the string that replays it.
//
//   struct Params { Tally* tally; ... };
//   params.tally->equal(value_in_slot, expected, __LINE__);                    // in the kernel
//   run_under(many_schedules, {.kernel = "ring", .threads = 64, ...}, &kernel, params, tensors, checks_per_cluster);
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <span>

#include "warploom/loom/launch.hpp"

namespace warploom::test {

/// Random schedules per case: of the ordinary suites, and of those that end in `Full`.
inline constexpr uint32_t few_schedules = 48;
inline constexpr uint32_t many_schedules = 10'000;
/// Of long cases whose types other cases run under many: the same in another cluster, or in another combination.
inline constexpr uint32_t some_schedules = 2'000;

/// What the threads of a launch saw. Clusters run on several workers.
class Tally {
 public:
  void equal(uint64_t have, uint64_t want, int line) noexcept {
    counted(1);
    if (have != want) differs(have, want, line);
  }
  /// The same in two steps, for many values at a time: workers share the count.
  void counted(uint64_t checks) noexcept { checks_.fetch_add(checks, std::memory_order_relaxed); }
  void differs(uint64_t have, uint64_t want, int line) noexcept {
    if (wrong_.fetch_add(1) != 0) return;
    have_ = have;
    want_ = want;
    line_ = line;
  }
  uint64_t checks() const { return checks_; }
  uint64_t wrong() const { return wrong_; }
  std::string first_wrong() const {
    return testing::PrintToString(have_) + " instead of " + testing::PrintToString(want_) + " at line " +
           std::to_string(line_);
  }
  void reset() {
    checks_ = 0;
    wrong_ = 0;
  }

 private:
  std::atomic<uint64_t> checks_ = 0, wrong_ = 0;
  uint64_t have_ = 0, want_ = 0;
  int line_ = 0;
};

/// Shares of a number of schedules. Threads are picked at random in all of them, evenly (even seeds) or by priority
/// (odd seeds).
struct Share {
  loom::Policy policy;
  uint64_t seed;
  uint32_t eighths;
};
inline constexpr Share shares[] = {{loom::Policy::random, 2, 3},
                                   {loom::Policy::random, 3, 3},
                                   {loom::Policy::lazy, 4, 1},
                                   {loom::Policy::adversarial, 5, 1}};

/// Runs `config` (its grid is set here) under `clusters` schedules of one kind: no finding, every check made, none
/// wrong.
template <class Params>
void run_share(const Share& share, uint32_t clusters, loom::LaunchConfig config, loom::Entry entry,
               const Params& params, std::span<const loom::TensorRef> tensors, uint64_t checks_per_cluster) {
  config.grid = {config.cluster.x * clusters, config.cluster.y, config.cluster.z};
  loom::Options options;
  options.schedule = {share.policy, share.seed, -1};
  // A CTA that comes last of all, now and then.
  if (share.eighths == 1 && config.cluster.count() > 1)
    options.schedule.skew = static_cast<int>(share.seed % config.cluster.count());
  params.tally->reset();
  const loom::Outcome outcome = loom::launch(config, entry, &params, tensors, options);
  ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
  ASSERT_EQ(params.tally->wrong(), 0u) << params.tally->first_wrong() << ", " << options.schedule.text();
  ASSERT_EQ(params.tally->checks(), checks_per_cluster * clusters) << options.schedule.text();
}

/// Under `count` schedules of all kinds.
template <class Params>
void run_under(uint32_t count, const loom::LaunchConfig& config, loom::Entry entry, const Params& params,
               std::span<const loom::TensorRef> tensors, uint64_t checks_per_cluster) {
  for (const Share& share : shares) {
    run_share(share, count * share.eighths / 8, config, entry, params, tensors, checks_per_cluster);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// The same case under few schedules in `Suite` and under many in `SuiteFull`.
#define UNDER_SCHEDULES(Suite, Case, ...) UNDER_COUNTED_SCHEDULES(many_schedules, Suite, Case, __VA_ARGS__)
#define UNDER_SOME_SCHEDULES(Suite, Case, ...) UNDER_COUNTED_SCHEDULES(some_schedules, Suite, Case, __VA_ARGS__)
#define UNDER_COUNTED_SCHEDULES(count, Suite, Case, ...)                             \
  TEST(Suite, Case) { __VA_ARGS__::run_schedules(::warploom::test::few_schedules); } \
  TEST(Suite##Full, Case) { __VA_ARGS__::run_schedules(::warploom::test::count); }

}  // namespace warploom::test
