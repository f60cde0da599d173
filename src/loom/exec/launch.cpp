// A launch: checks the configuration, runs the clusters on workers, and puts their results together so that the number
// of workers cannot be seen in them. Grids that depend on each other overlap as far as the schedule makes them.
#include "warploom/loom/launch.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <thread>

#include "loom/exec/choices.hpp"
#include "loom/exec/grid.hpp"
#include "loom/isa/grid_dependency.hpp"
#include "loom/observe/check/global_report.hpp"
#include "loom/report/symbols.hpp"
#include "loom/report/warnings.hpp"
#include "types/no_throw.hpp"

namespace warploom::loom {
namespace {

constexpr uint32_t register_file = 65536;  // of an SM

constexpr uint64_t most_clusters = uint64_t{1} << 22;

/// Of three extents of 32 bits, as far as 64 go.
uint64_t volume(const Dim3& dim) {
  const uint64_t plane = uint64_t{dim.x} * dim.y;
  return dim.z != 0 && plane > ~uint64_t{0} / dim.z ? ~uint64_t{0} : plane * dim.z;
}

/// How many clusters can have their threads' stacks at a time: each takes two mappings of the process.
unsigned clusters_at_a_time(const LaunchConfig& config) {
  static const uint64_t mappings = [] {
    uint64_t most = 65530;
    std::ifstream("/proc/sys/vm/max_map_count") >> most;
    return most;
  }();
  constexpr uint64_t others = 8192;  // of the program itself, and stacks that are kept
  const uint64_t of_cluster = 2 * volume(config.cluster) * config.threads;
  return static_cast<unsigned>(std::max<uint64_t>(1, (mappings - std::min(mappings, others)) / of_cluster));
}

std::string refusal_of(const LaunchConfig& config, const Options& options) {
  const Dim3 &grid = config.grid, &cluster = config.cluster;
  if (config.threads == 0 || config.threads % 32 != 0 || config.threads > 1024)
    return fmt::format("{} threads per CTA; a multiple of 32 up to 1024 is possible", config.threads);
  if (volume(cluster) == 0 || volume(cluster) > 16)
    return fmt::format("a cluster of {} CTAs; 1 to 16 are possible", volume(cluster));
  if (volume(grid) / volume(cluster) > most_clusters)
    return fmt::format("a grid of {} clusters; the loom runs up to {}", volume(grid) / volume(cluster), most_clusters);
  if (volume(grid) == 0 || grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
    return fmt::format("a grid of {}x{}x{} CTAs is not a whole number of {}x{}x{} clusters", grid.x, grid.y, grid.z,
                       cluster.x, cluster.y, cluster.z);
  if (config.shared_bytes > 227 * 1024)
    return fmt::format("{} bytes of shared memory per CTA; at most 232448 are possible", config.shared_bytes);
  if (config.registers != 0 && (config.registers < 24 || config.registers > 256 || config.registers % 8 != 0 ||
                                config.registers * config.threads > register_file))
    return fmt::format(
        "{} registers for each of {} threads; a multiple of 8 from 24 to 256 with a total of at most {} is possible",
        config.registers, config.threads, register_file);
  if (options.schedule.skew >= static_cast<int>(cluster.count()))
    return fmt::format("skew={} names no CTA of a cluster of {}", options.schedule.skew, cluster.count());
  if (config.launch_control && options.processors == 0) return "launch control on 0 processors; at least 1 is needed";
  return {};
}

void watch_for_exit_of(Entry entry) {
  static std::mutex mutex;
  static auto* const known = new std::set<Entry>;  // never destroyed: exit() in a kernel ends no launch
  const std::lock_guard lock(mutex);
  if (known->insert(entry).second) watch_for_exit();
}

void append(EventLog& all, const EventLog& more) {
  std::vector<uint32_t> index;
  for (const std::string& name : more.names) {
    const auto known = std::find(all.names.begin(), all.names.end(), name);
    index.push_back(static_cast<uint32_t>(known - all.names.begin()));
    if (known == all.names.end()) all.names.push_back(name);
  }
  for (Event event : more.events) {
    event.name = index[event.name];
    all.events.push_back(event);
  }
}

std::vector<Site> collect_sites(const std::vector<ClusterResult>& results) {
  std::map<std::string, Site> sites;  // by key: several addresses may be one place in the source
  for (const ClusterResult& result : results) {
    for (const SiteEntry& entry : result.sites) {
      Site site{.operation = entry.operation, .object = entry.object, .at = locate(entry.pc)};
      Site& known = sites.try_emplace(site.key(), site).first->second;
      known.executions += entry.executions;
    }
  }
  std::vector<Site> list;
  for (auto& [key, site] : sites) list.push_back(std::move(site));
  return list;
}

/// The order in which the clusters run. Where they may notice it, it is the schedule's choice; otherwise results are
/// put together by index, and it does not show.
std::vector<uint32_t> cluster_order(const LaunchConfig& config, const Schedule& schedule, uint32_t count) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (!config.talks_across_clusters || config.launch_control) return order;
  if (schedule.policy == Policy::adversarial) std::reverse(order.begin(), order.end());
  if (schedule.policy != Policy::random && schedule.seed == 0) return order;
  Random random(schedule.seed * 0x9e3779b97f4a7c15u);
  for (uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

#if defined(__GLIBC__)
extern "C" void* __libc_stack_end;  // NOLINT(bugprone-reserved-identifier): glibc's

[[gnu::noinline]] void touch(size_t bytes) {
  constexpr size_t page = 4096;
  auto* const room = static_cast<volatile std::byte*>(__builtin_alloca(bytes));
  for (size_t at = bytes; at >= page; at -= page) room[at - page] = std::byte{0};
}
#endif

/// Where address space is limited, the stack of the first thread may not grow when it has to, and the process would die
/// of that: let it grow now, while a failure is an exception. Other threads have theirs from the beginning.
void touch_stack() {
#if defined(__GLIBC__)
  constexpr size_t enough = 256 * 1024, left = 1024 * 1024;
  static bool done = false;  // of one thread alone
  if (gettid() != getpid() || done) return;
  rlimit space = {}, stack = {};
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY || getrlimit(RLIMIT_STACK, &stack) != 0)
    return;
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const auto end = reinterpret_cast<uintptr_t>(__libc_stack_end);
  // On a stack of the host's own making nothing grows.
  if (here > end || end - here + left > stack.rlim_cur) return;
  void* const room = mmap(nullptr, 2 * enough, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  munmap(room, 2 * enough);
  touch(enough);
  done = true;
#endif
}

/// There may be just enough memory to say so, or none.
Outcome refused(const Error& error, Outcome outcome) noexcept {
  outcome.refused = true;
  outcome.refusal = error.code;
  if (error.code == ErrorCode::out_of_memory) drop_spare_stacks();
  try {
    outcome.report.findings.push_back({.code = "LAUNCH", .message = error.message, .agent = {}, .at = {}});
    if (error.code == ErrorCode::out_of_memory)
      outcome.report.findings.back().message =
          "memory ran out before the launch had ended, and what it has written so far stays; one worker "
          "(Options::workers, --workers) and no recorded events take the least";
  } catch (...) {
  }
  return outcome;
}

}  // namespace

uint32_t registers_at_launch(const LaunchConfig& config) {
  if (config.registers != 0) return config.registers;
  return std::min(register_file / config.threads / 8 * 8, 248u);
}

Grid::Grid(const GridLaunch& launch, const Options& options, uint32_t first_cluster)
    : launch_(launch),
      options_(options),
      global_(options.check && launch.config.talks_across_clusters
                  ? std::make_unique<check::GlobalMemory>(launch.tensors)
                  : nullptr),
      context_{&launch_.config, launch.entry, launch.params, launch.tensors, &options, {}, {},
               global_.get(),   first_cluster},
      watchdog_(options.seconds_limit) {
  const LaunchConfig& config = launch_.config;
  if (std::string reason = refusal_of(config, options); !reason.empty()) {
    refusal_ = Error{std::move(reason)};
    return;
  }
  context_.clusters = {config.grid.x / config.cluster.x, config.grid.y / config.cluster.y,
                       config.grid.z / config.cluster.z};
  count_ = context_.clusters.count();
  units_ = config.launch_control ? std::min(options.processors, count_) : count_;
  results_.resize(count_);
  first_failed_ = count_;
  order_ = cluster_order(config, options.schedule, count_);
  watch_for_exit_of(launch_.entry);
}

Grid::~Grid() = default;

void Grid::keep(uint32_t index, Cluster& cluster) {
  if (!cluster.findings.report.clean()) {
    uint32_t seen = first_failed_.load();
    while (index < seen && !first_failed_.compare_exchange_weak(seen, index)) {
    }
  }
  if (cluster.grids.triggered) triggered_ = true;
  if (!isa::passes_early(cluster)) passes_early_ = false;
  const uint32_t finished = 1 + cluster.launch_control.canceled;
  results_[index] = {std::move(cluster.findings.report),
                     std::move(cluster.events.log),
                     std::move(cluster.mutation.sites),
                     cluster.steps(),
                     cluster.last_time,
                     cluster.launch_control.canceled,
                     points(cluster),
                     cluster.findings.let_pass_count,
                     cluster.watch() != nullptr && count_ > 1 ? cluster.watch()->take_global() : nullptr,
                     contests(cluster)};
  if (options_.progress) options_.progress(done_.fetch_add(finished) + finished, count_);
}

void Grid::run_cluster(uint32_t index, WorkerMemory& memory, ProcessorQueue* queue) {
  Cluster cluster(context_, order_[index], memory, queue);
  memory.has_run = true;
  if (options_.check && !context_.unfinished.empty()) {
    // Any of its clusters may be among those that start early. What they touch then shows in any of them alone.
    cluster.run_early();
    if (cluster.findings.report.clean()) cluster.continue_after_wait();
  } else {
    cluster.run();
  }
  keep(index, cluster);
}

void Grid::work(bool helper) noexcept {
  std::optional<WorkerMemory> memory;
  uint32_t unit = 0;
  try {
    memory.emplace(launch_.config, watchdog_.enroll());
    while ((unit = next_unit(helper)) < units_ && unit <= first_failed_.load()) {
      memory->has_run = false;
      run_unit(unit, *memory);
    }
  } catch (...) {
    Error error = current_error();
    // One worker is enough. What a helper has no memory for, the calling thread does when the helpers have ended.
    if (helper && !memory) return;
    const std::lock_guard lock(mutex_);
    if (helper && !memory->has_run && error.code == ErrorCode::out_of_memory) {
      left_over_.push_back(unit);
      return;
    }
    if (!broken_off_) broken_off_ = std::move(error);
    next_ = units_;
  }
}

uint32_t Grid::next_unit(bool helper) {
  if (helper || !helpers_ended_) return next_.fetch_add(1);
  if (left_over_.empty() || broken_off_) return units_;
  const uint32_t unit = left_over_.back();
  left_over_.pop_back();
  return unit;
}

/// What a worker takes: a cluster, or, where clusters cancel others, a processor with all clusters of its queue. One
/// after the other, so that which of them are canceled follows from those before and not from the workers.
void Grid::run_unit(uint32_t unit, WorkerMemory& memory) {
  if (!launch_.config.launch_control) return run_cluster(unit, memory, nullptr);
  run_queue({unit, units_, count_}, memory);
}

void Grid::run_queue(ProcessorQueue queue, WorkerMemory& memory) {
  while (!queue.empty() && queue.next <= first_failed_.load()) run_cluster(queue.pop(), memory, &queue);
}

void Grid::start_early(std::vector<PriorGrid> unfinished) {
  if (refusal_) return;
  context_.unfinished = std::move(unfinished);
  const uint32_t fit = std::min({options_.processors, units_, clusters_at_a_time(launch_.config)});
  for (uint32_t unit = 0; unit < fit && unit <= first_failed_.load(); ++unit) {
    auto early = std::make_unique<EarlyCluster>();
    early->memory = std::make_unique<WorkerMemory>(launch_.config, watchdog_.enroll());
    early->queue = {unit, units_, count_};
    ProcessorQueue* const queue = launch_.config.launch_control ? &early->queue : nullptr;
    const uint32_t index = queue != nullptr ? queue->pop() : unit;
    early->cluster = std::make_unique<Cluster>(context_, order_[index], *early->memory, queue);
    early->cluster->run_early();
    if (!early->cluster->findings.report.clean()) keep(index, *early->cluster);
    early_.push_back(std::move(early));
  }
  next_ = static_cast<uint32_t>(early_.size());
}

void Grid::run() {
  if (refusal_) return;
  for (uint32_t unit = 0; unit < early_.size(); ++unit) {
    EarlyCluster& early = *early_[unit];
    if (unit >= first_failed_.load()) break;
    early.cluster->continue_after_wait();
    keep(unit, *early.cluster);
    early.cluster.reset();
    if (launch_.config.launch_control) run_queue(early.queue, *early.memory);
  }
  early_.clear();
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const unsigned wanted = options_.workers == 0 ? cores : options_.workers;
  const unsigned workers =
      launch_.config.talks_across_clusters ? 1 : std::min({wanted, units_, clusters_at_a_time(launch_.config)});
  left_over_.reserve(workers);
  std::vector<std::thread> threads;
  threads.reserve(workers);
  try {
    for (unsigned i = 1; i < workers; ++i) threads.emplace_back([this] { work(true); });
  } catch (...) {  // no more threads, or no memory for them: so many will do
  }
  work(false);
  for (std::thread& thread : threads) thread.join();
  helpers_ended_ = true;
  std::sort(left_over_.begin(), left_over_.end(), std::greater<>());
  if (!left_over_.empty()) work(false);
}

Outcome Grid::outcome() {
  Outcome outcome;
  outcome.report.kernel = launch_.config.kernel == nullptr ? "" : launch_.config.kernel;
  outcome.report.schedule = options_.schedule.text();
  if (options_.mutation)
    outcome.report.mutation = fmt::format("{} {}", to_string(options_.mutation->kind), options_.mutation->site);
  outcome.launched = {count_, launch_.config.cluster.count(), launch_.config.launch_control ? options_.processors : 0,
                      launch_.config.talks_across_clusters};
  if (refusal_) return refused(*refusal_, std::move(outcome));
  if (broken_off_) return refused(*broken_off_, std::move(outcome));
  const uint32_t last = std::min(first_failed_.load(), count_ - 1);
  results_.resize(last + 1);
  for (ClusterResult& result : results_) {
    append(outcome.events, result.events);
    outcome.steps += result.steps;
    outcome.nominal_cycles = std::max(outcome.nominal_cycles, result.time);
    outcome.canceled += result.canceled;
    outcome.suppressed += result.let_pass;
    add_warnings(outcome.report.warnings, std::move(result.report.warnings));
    for (const check::Watch::PointNote& point : result.points)
      outcome.points.push_back({point.operation, locate(point.pc), point.decision, point.may_hold, point.may_refuse});
    for (const ContestNote& contest : result.contests)
      outcome.contests.push_back(
          {contest.operation, locate(contest.pc), contest.cluster, contest.point, contest.threads});
  }
  if (options_.record_sites) outcome.sites = collect_sites(results_);
  Report& failed = results_[last].report;
  outcome.report.cluster = failed.cluster;
  outcome.report.findings = std::move(failed.findings);
  outcome.report.waiting = std::move(failed.waiting);
  if (outcome.ok()) compare_clusters(outcome);
  return outcome;
}

void Grid::compare_clusters(Outcome& outcome) const {
  std::vector<const check::GlobalMemory*> memories;
  for (const ClusterResult& result : results_)
    if (result.global != nullptr) memories.push_back(result.global.get());
  for (const check::GlobalMemory::Overlap& overlap : check::GlobalMemory::overlaps(memories)) {
    check::GlobalFinding found = check::describe(overlap.conflict, *overlap.first, *overlap.second);
    const Location at = locate(found.second_pc), first_at = locate(found.first_pc);
    const auto& known = options_.suppressed;
    if (std::any_of(known.begin(), known.end(), [&](const Suppression& let_pass) {
          return let_pass.code == found.code && (let_pass.matches(at) || let_pass.matches(first_at));
        })) {
      ++outcome.suppressed;
      continue;
    }
    outcome.report.cluster = overlap.conflict.later.cluster;
    outcome.report.findings.push_back({.code = found.code,
                                       .message = std::move(found.message),
                                       .agent = std::move(found.second_agents),
                                       .at = at,
                                       .notes = {std::move(found.fix)},
                                       .sides = {{std::move(found.first), std::move(found.first_agents), first_at}}});
    return;
  }
}

namespace {

Outcome combine(std::vector<Outcome>& outcomes) {
  Outcome all = std::move(outcomes.front());
  const auto add = [](auto& to, auto& more) {
    to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  for (size_t i = 1; i < outcomes.size(); ++i) {
    Outcome& next = outcomes[i];
    std::vector<Finding> warnings = std::move(all.report.warnings);
    add_warnings(warnings, std::move(next.report.warnings));
    if (all.ok()) all.report = std::move(next.report);
    all.report.warnings = std::move(warnings);
    append(all.events, next.events);
    add(all.sites, next.sites);
    add(all.points, next.points);
    add(all.contests, next.contests);
    all.suppressed += next.suppressed;
    all.steps += next.steps;
    all.nominal_cycles += next.nominal_cycles;
    all.canceled += next.canceled;
    all.refused |= next.refused;
    if (all.refusal == ErrorCode::none) all.refusal = next.refusal;
    all.launched.clusters = std::max(all.launched.clusters, next.launched.clusters);
    all.launched.ctas = std::min(all.launched.ctas, next.launched.ctas);  // what a skew may name
    all.launched.processors = std::max(all.launched.processors, next.launched.processors);
    all.launched.talks_across_clusters |= next.launched.talks_across_clusters;
  }
  return all;
}

void run_in_turn(std::span<const GridLaunch> grids, const Options& options, std::vector<Outcome>& outcomes) {
  std::vector<PriorGrid> unfinished;  // what the next grid may overlap with
  bool may_overlap = false;
  uint32_t clusters = 0;
  for (const GridLaunch& launch : grids) {
    Grid grid(launch, options, clusters);
    clusters += grid.clusters();
    if (may_overlap && options.check)
      grid.overlap_with(unfinished);
    else if (may_overlap && options.schedule.policy != Policy::eager)
      grid.start_early(unfinished);
    grid.run();
    outcomes.push_back(grid.outcome());
    if (!outcomes.back().ok()) break;
    // Each CTA lets the next grid start by a trigger or by its end. If all do so before their own wait, or without one,
    // the next grid may overlap with those before this one, too.
    if (!may_overlap || !grid.passes_early()) unfinished.clear();
    if (grid.triggered()) unfinished.push_back({launch.config.kernel, launch.tensors});
    may_overlap = !unfinished.empty();
  }
}

}  // namespace

Outcome launch(const LaunchConfig& config, Entry entry, const void* params, std::span<const TensorRef> tensors,
               const Options& options) {
  leave_kernel_for_good(Interruption::Kind::launches);  // if this is called by a thread of one
  return no_throw<Outcome>(
      [&] {
        touch_stack();
        Grid grid({config, entry, params, tensors}, options);
        grid.run();
        return grid.outcome();
      },
      [](const Error& error) { return refused(error, {}); });
}

std::vector<Outcome> launch_dependent(std::span<const GridLaunch> grids, const Options& options) {
  leave_kernel_for_good(Interruption::Kind::launches);
  std::vector<Outcome> outcomes;
  try {
    outcomes.reserve(grids.size() + 1);
    touch_stack();
    run_in_turn(grids, options, outcomes);
  } catch (...) {
    outcomes.push_back(refused(current_error(), {}));
  }
  return outcomes;
}

Outcome combined(std::vector<Outcome> outcomes) {
  if (outcomes.empty()) return {};
  return no_throw<Outcome>([&] { return combine(outcomes); }, [](const Error& error) { return refused(error, {}); });
}

}  // namespace warploom::loom
