// One grid on its way: a launch in parts, so that the first clusters of a dependent grid can run up to their
// griddepcontrol.wait while the grid before it counts as unfinished (hardware.md §6.8).
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "loom/exec/choices.hpp"
#include "loom/exec/cluster.hpp"

namespace warploom::loom {

/// What is kept of a cluster once it has run.
struct ClusterResult {
  Report report;
  EventLog events;
  std::vector<SiteEntry> sites;
  uint64_t steps = 0;
  uint64_t time = 0;
  uint32_t canceled = 0;
  std::vector<check::Watch::PointNote> points;
  uint64_t let_pass = 0;
  std::unique_ptr<check::GlobalMemory> global;
  std::vector<ContestNote> contests;
};

class Grid {
 public:
  /// `first_cluster`: how many clusters the grids before it have, where decisions count on from them.
  Grid(const GridLaunch& launch, const Options& options, uint32_t first_cluster = 0);
  ~Grid();
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  /// Runs the first clusters, as many as processors, until all they can do is wait for the grids before.
  void start_early(std::vector<PriorGrid> unfinished);
  /// The same for every cluster, each just before the rest of it runs.
  void overlap_with(std::vector<PriorGrid> unfinished) { context_.unfinished = std::move(unfinished); }
  /// Those grids are complete: runs everything to its end.
  void run();
  Outcome outcome();

  uint32_t clusters() const { return count_; }
  bool triggered() const { return triggered_; }        ///< some thread executed griddepcontrol.launch_dependents
  bool passes_early() const { return passes_early_; }  ///< Cluster::passes_early of all of them

 private:
  struct EarlyCluster {
    std::unique_ptr<WorkerMemory> memory;
    ProcessorQueue queue;
    std::unique_ptr<Cluster> cluster;
  };

  /// Units until there are none, on the calling thread or a helper's.
  void work(bool helper) noexcept;
  uint32_t next_unit(bool helper);
  void run_unit(uint32_t unit, WorkerMemory& memory);
  void run_cluster(uint32_t index, WorkerMemory& memory, ProcessorQueue* queue);
  void run_queue(ProcessorQueue queue, WorkerMemory& memory);
  void keep(uint32_t index, Cluster& cluster);
  /// Of clusters that cannot talk: the first access that nothing can order with one of another cluster.
  void compare_clusters(Outcome& outcome) const;

  const SignalHandlers handlers_;
  const GridLaunch launch_;
  const Options& options_;
  std::unique_ptr<check::GlobalMemory> global_;
  LaunchContext context_;
  Watchdog watchdog_;
  std::optional<Error> refusal_;
  std::mutex mutex_;
  std::vector<uint32_t> left_over_;  ///< units that helpers have no memory for; has room for one of each
  bool helpers_ended_ = false;
  std::optional<Error> broken_off_;  ///< the first error that a worker could not go on from
  uint32_t count_ = 0;               ///< clusters
  uint32_t units_ = 0;               ///< what workers take
  std::vector<uint32_t> order_;
  std::vector<ClusterResult> results_;
  std::vector<std::unique_ptr<EarlyCluster>> early_;
  std::atomic<uint32_t> next_{0};
  std::atomic<uint32_t> done_{0};
  std::atomic<uint32_t> first_failed_{0};  ///< clusters after it are not run: their results would depend on timing
  std::atomic<bool> triggered_{false};
  std::atomic<bool> passes_early_{true};
};

}  // namespace warploom::loom
