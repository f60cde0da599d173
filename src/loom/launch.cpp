// A launch: checks the configuration, runs the clusters on workers, and puts their results together so that the number
// of workers cannot be seen in them.
#include "warploom/loom/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <thread>

#include "loom/machine.hpp"
#include "loom/symbols.hpp"

namespace warploom::loom {
namespace {

constexpr uint32_t register_file = 65536;  // of an SM

std::string check(const LaunchConfig& config, const Options& options) {
  const Dim3 &grid = config.grid, &cluster = config.cluster;
  if (config.threads == 0 || config.threads % 32 != 0 || config.threads > 1024)
    return fmt::format("{} threads per CTA; a multiple of 32 up to 1024 is possible", config.threads);
  if (cluster.count() == 0 || cluster.count() > 16)
    return fmt::format("a cluster of {} CTAs; 1 to 16 are possible", cluster.count());
  if (grid.count() == 0 || grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
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

/// What is kept of a cluster once it has run.
struct ClusterResult {
  Report report;
  EventLog events;
  std::vector<SiteEntry> sites;
  uint64_t steps = 0;
  uint64_t time = 0;
  uint32_t canceled = 0;
};

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

}  // namespace

uint32_t registers_at_launch(const LaunchConfig& config) {
  if (config.registers != 0) return config.registers;
  return std::min(register_file / config.threads / 8 * 8, 248u);
}

Outcome launch(const LaunchConfig& config, Entry entry, const void* params, std::span<const TensorRef> tensors,
               const Options& options) {
  Outcome outcome;
  outcome.report.kernel = config.kernel;
  outcome.report.schedule = options.schedule.text();
  if (options.mutation)
    outcome.report.mutation = fmt::format("{} {}", to_string(options.mutation->alteration), options.mutation->site);
  if (std::string rule = check(config, options); !rule.empty()) {
    outcome.report.findings.push_back(
        {.code = "LAUNCH", .message = std::move(rule), .agent = {}, .at = {}, .notes = {}});
    return outcome;
  }

  LaunchContext context{&config, entry, params, tensors, &options, {}};
  context.clusters = {config.grid.x / config.cluster.x, config.grid.y / config.cluster.y,
                      config.grid.z / config.cluster.z};
  const uint32_t count = context.clusters.count();
  std::vector<ClusterResult> results(count);
  std::atomic<uint32_t> next{0};
  std::atomic<uint32_t> done{0};
  std::atomic<uint32_t> first_failed{count};  // clusters after it are not run: their results would depend on timing

  const std::vector<uint32_t> order = cluster_order(config, options.schedule, count);
  auto run_cluster = [&](uint32_t index, WorkerMemory& memory, ProcessorQueue* queue) {
    Cluster cluster(context, order[index], memory, queue);
    cluster.run();
    if (!cluster.report.clean()) {
      uint32_t seen = first_failed.load();
      while (index < seen && !first_failed.compare_exchange_weak(seen, index)) {
      }
    }
    const uint32_t finished = 1 + cluster.canceled;
    results[index] = {std::move(cluster.report), std::move(cluster.events), std::move(cluster.sites),
                      cluster.steps(),           cluster.last_time,         cluster.canceled};
    if (options.progress) options.progress(done.fetch_add(finished) + finished, count);
  };
  // What a worker takes: a cluster, or, where clusters cancel others, a processor with all clusters of its queue. One
  // after the other, so that which of them are canceled follows from those before and not from the workers.
  const uint32_t units = config.launch_control ? std::min(options.processors, count) : count;
  Watchdog watchdog(options.seconds_limit);
  auto work = [&] {
    WorkerMemory memory(config, watchdog.enroll());
    for (;;) {
      const uint32_t unit = next.fetch_add(1);
      if (unit >= units || unit > first_failed.load()) return;
      if (!config.launch_control) {
        run_cluster(unit, memory, nullptr);
        continue;
      }
      ProcessorQueue queue{unit, units, count};
      while (!queue.empty() && queue.next <= first_failed.load()) run_cluster(queue.pop(), memory, &queue);
    }
  };
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const unsigned wanted = options.workers == 0 ? cores : options.workers;
  const unsigned workers = config.talks_across_clusters ? 1 : std::min(wanted, units);
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  const uint32_t last = std::min(first_failed.load(), count - 1);
  results.resize(last + 1);
  for (ClusterResult& result : results) {
    append(outcome.events, result.events);
    outcome.steps += result.steps;
    outcome.nominal_cycles = std::max(outcome.nominal_cycles, result.time);
    outcome.canceled += result.canceled;
  }
  if (options.record_sites) outcome.sites = collect_sites(results);
  Report& failed = results[last].report;
  outcome.report.cluster = failed.cluster;
  outcome.report.findings = std::move(failed.findings);
  outcome.report.waiting = std::move(failed.waiting);
  return outcome;
}

}  // namespace warploom::loom
