// Running a kernel on the loom.
//
//   Outcome outcome = launch({.kernel = "gemm", .grid = {4}, .cluster = {2}, .threads = 224, .shared_bytes = n},
//                            entry, &params, tensors, {.schedule = {Policy::random, 7}});
//   if (!outcome.report.clean()) fmt::print("{}", to_text(outcome.report));
//
// A run is a function of kernel, inputs and schedule string; the number of workers changes nothing but the time.
//
// Nothing here throws. Where memory runs out, an outcome is refused; where no threads can be made, the calling thread
// does their work. What may be called from several threads, and which signal handlers a launch installs while it runs:
// docs/host.md.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/arch/config.hpp"
#include "warploom/loom/event.hpp"
#include "warploom/loom/numerics.hpp"
#include "warploom/loom/report.hpp"
#include "warploom/loom/schedule.hpp"
#include "warploom/types/result.hpp"

namespace warploom::loom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

enum class Access : uint8_t { read, write };

/// Global memory a launch may touch. Any other address is an error.
struct TensorRef {
  const void* pointer = nullptr;
  size_t bytes = 0;
  Access access = Access::read;
  const char* name = "";
};

/// A barrier operation of the kernel, as the mutation hook sees it: the operation and its place in the source.
struct Site {
  std::string operation = {};  ///< "mbarrier.arrive", "tcgen05.commit", ...
  std::string object = {};     ///< the ring side it touches first, "input.empty"
  Location at = {};
  uint64_t executions = 0;

  /// Names the site in a Mutation: "operation@object@user file:line@library file:line".
  std::string key() const;
};

enum class MutationKind : uint8_t {
  drop,
  twice,
  count_plus,
  count_minus,
  bytes_plus,
  bytes_minus,
  flip_parity,
  wrong_stage
};
const char* to_string(MutationKind kind);

/// The mutations that make sense for an operation.
std::vector<MutationKind> mutations_of(std::string_view operation);

/// Alters one barrier operation of the running kernel: every execution of the site, or only the `only`-th (from 0).
struct Mutation {
  std::string site = {};  ///< Site::key()
  MutationKind kind = MutationKind::drop;
  int64_t only = -1;
};

/// A finding of the checker that is known and let pass: by its code, and by a place if one is given.
struct Suppression {
  std::string code = {};
  std::string file = {};  ///< how the path ends, of either side, in the kernel or in the library; "": anywhere
  uint32_t line = 0;      ///< 0: any

  /// "CODE", "CODE@file" or "CODE@file:line"; or a sentence.
  static Result<Suppression> parse(std::string_view text);
  bool matches(const Location& at) const;
};

struct Options {
  Schedule schedule = {};
  unsigned workers = 0;                ///< 0: one per core
  uint32_t processors = 4;             ///< of a launch with launch control: how many clusters run at a time
  uint64_t step_limit = 200'000'000;   ///< scheduler steps per cluster before the run counts as endless
  double seconds_limit = 30.0;         ///< for code that makes no loom call
  Numerics numerics = Numerics::fast;  ///< of wgmma and tcgen05.mma
  /// Not 0: tensor cores add modulo this small number, so that sums of integers stay small and exact (docs/loom.md).
  uint32_t ring = 0;
  /// Follows every access and every barrier: races, fences, phases that only this schedule makes come out right.
  bool check = false;
  std::vector<Suppression> suppressed = {};
  /// The kernel is not ours to change: findings that say no more than that it relies on what the manual does not
  /// promise are warnings (docs/reports.md, Warnings), and the run goes on.
  bool foreign = false;
  bool record_events = false;
  bool record_sites = false;  ///< fill Outcome::sites
  std::optional<Mutation> mutation = {};
  std::function<void(uint32_t done, uint32_t total)> progress = {};  ///< after each cluster, from any worker
};

struct LaunchConfig {
  const char* kernel = "kernel";
  Dim3 grid = {};
  Dim3 cluster = {};
  uint32_t threads = 32;
  size_t shared_bytes = 0;
  /// The kernel cancels clusters (clc_try_cancel): they then belong to Options::processors queues (docs/loom.md).
  bool launch_control = false;
  /// The kernel uses atomics on global memory (arch/atomic.hpp): its clusters run one after the other, on one worker,
  /// in an order that is the schedule's (docs/loom.md).
  bool talks_across_clusters = false;
  uint32_t registers = 0;  ///< per thread, what setmaxnreg starts from; 0: an equal share of the SM's 65536
};

/// Registers per thread at launch: `config.registers`, or as many as __launch_bounds__(threads, 1) leaves room for, a
/// multiple of 8 and at most 248.
uint32_t registers_at_launch(const LaunchConfig& config);

/// An operation whose result depends on the schedule: one run does not speak for the others (docs/verdict.md, P4).
struct Point {
  std::string operation = {};  ///< "mbarrier.test_wait", "clusterlaunchcontrol.try_cancel", ...
  Location at = {};
  Decision decision = {};   ///< where it is, and what was done there
  bool may_hold = false;    ///< somebody else may go first
  bool may_refuse = false;  ///< the answer may be no
};

/// An object that three or more threads of a cluster come to in an order that is the schedule's: a word that they draw
/// tickets from.
struct Contest {
  std::string operation = {};
  Location at = {};
  uint32_t cluster = 0;
  uint32_t point = 0;    ///< the first at the object
  uint32_t threads = 0;  ///< up to `most_contestants`; then as many or more
};
inline constexpr uint32_t most_contestants = 12;

/// What was launched, as far as a verdict names it.
struct Launched {
  uint32_t clusters = 0;
  uint32_t ctas = 0;        ///< of a cluster
  uint32_t processors = 0;  ///< of a launch with launch control; 0: without
  bool talks_across_clusters = false;
};

struct Outcome {
  Report report = {};
  EventLog events = {};
  std::vector<Site> sites = {};
  std::vector<Point> points = {};      ///< of a checked run
  std::vector<Contest> contests = {};  ///< of a checked run
  Launched launched = {};
  /// The launch did not take place, or not to its end, as the report says: it is not possible as it was asked for
  /// (nothing ran), or memory ran out (what it had written by then stays).
  bool refused = false;
  ErrorCode refusal = ErrorCode::none;  ///< why it was refused
  uint64_t suppressed = 0;              ///< findings that Options::suppressed let pass
  uint64_t steps = 0;
  uint64_t nominal_cycles = 0;  ///< of the longest cluster
  uint32_t canceled = 0;        ///< clusters that never ran because others took their work (launch control)

  bool ok() const { return !refused && report.clean(); }
};

/// What every thread runs; `params` is the launch's parameter block.
using Entry = void (*)(const void* params);

Outcome launch(const LaunchConfig& config, Entry entry, const void* params, std::span<const TensorRef> tensors,
               const Options& options = {});

struct GridLaunch {
  LaunchConfig config = {};
  Entry entry = nullptr;
  const void* params = nullptr;
  std::span<const TensorRef> tensors = {};
};

/// Grids of one stream, each a programmatic dependent of the one before (docs/loom.md): it may start before that one
/// has ended, and knows that it has only after grid_dependency_wait. The outcomes in order, up to the first with a
/// finding. Under Options::check every cluster of a dependent grid is as early as it may be, whatever the schedule.
std::vector<Outcome> launch_dependent(std::span<const GridLaunch> grids, const Options& options = {});

/// Several grids as one outcome: the points of all, and the report of the first with a finding. So
/// `combined(launch_dependent(grids, options))` is what Subject::launch of a verdict returns (verdict.hpp).
Outcome combined(std::vector<Outcome> outcomes);

#pragma GCC visibility pop
}  // namespace warploom::loom
