// One cluster of a launch: its CTAs and threads, the asynchronous work in flight, and what its instructions share. The
// scheduler (scheduler.hpp) says who runs; instructions (isa/) change the state through the functions here, and report
// what breaks a rule. It knows nothing of front ends.
//
//   Thread& self = Cluster::calling();     // of whoever calls
//   self.cluster->step(self, pc);          // an operation: a point at which others may run
//   Cta* cta = self.cluster->owner(address);
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loom/exec/scheduler.hpp"
#include "loom/observe/check/watch.hpp"
#include "loom/observe/events.hpp"
#include "loom/observe/mutation_hook.hpp"
#include "loom/report/findings.hpp"
#include "loom/state/cluster_state.hpp"

namespace warploom::loom {

void account_for_posted(Thread& thread);
void continue_each(Cluster& cluster);
/// Waits until all that the thread has posted has executed.
void catch_up(Thread& thread);

class Cluster : public Scheduler {
 public:
  /// `queue` is the processor's, for launches with launch control.
  Cluster(const LaunchContext& launch, uint32_t index, WorkerMemory& memory, ProcessorQueue* queue = nullptr);
  ~Cluster();

  /// Runs to the end, to a finding or to a standstill.
  void run();
  /// The same while grids before this one count as unfinished: also to the point where it waits for them.
  void run_early();
  void continue_after_wait();

  // ---- what it is made of
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<std::unique_ptr<Thread>> threads;
  uint32_t alive = 0;  ///< threads that have not exited
  std::vector<std::unique_ptr<AsyncOp>> pending;
  ClusterBarrier barrier;
  TensorState tensor;
  std::vector<RegisterWait> register_waiters;  ///< in the order they came
  LaunchControl launch_control;
  GridDependency grids;
  std::map<const TensorMap*, ChangedMap> changed_maps;
  Polls polls;
  DeferredWork deferred;
  Choices choices;

  // ---- what is noted of it
  Findings findings;
  EventRecorder events;
  MutationHook mutation;
  uint64_t last_time = 0;
  /// Set by a signal handler in the place of the thread that was running.
  Interruption interruption;
  uint64_t steps() const { return beats_.load(std::memory_order_relaxed) - first_beat_; }

  /// Accesses need no call where nobody looks on and lanes do not give way to each other (front/quick_memory.cpp).
  bool unwatched() const { return mode.plain && !watch_ && launch_.unfinished.empty(); }

  // ---- the running thread
  /// The running thread at the beginning of a call: accounted for what it has come to without one. Nothing else may be
  /// asked by an operation, which would overtake what its thread has posted.
  static Thread& calling() {
    Thread& running = *current();
    running.warp->cluster->account(running);
    return running;
  }
  /// A scheduling point of the running thread: waits for what it has posted, counts the step, may let others run first.
  void step(Thread& thread, Pc pc) {
    if (thread.joined != thread.warp->whole.over) catch_up(thread);
    count_step(thread, pc);
  }
  /// The same for a collective of the whole warp, which comes after what was posted anyway.
  void count_step(Thread& thread, Pc pc) {
    thread.time += native::step_cost;
    count_beat(thread, pc);
    if (mode.shuffle) [[unlikely]]
      maybe_yield(thread);
  }
  /// What is not a scheduling point shows that the thread is alive, and does not go on for ever.
  void count_beat(Thread& thread, Pc pc) {
    const uint64_t beat = beats_.load(std::memory_order_relaxed) + 1;  // nobody else writes it
    beats_.store(beat, std::memory_order_relaxed);
    if (beat > last_beat_) [[unlikely]]
      too_many_steps(thread, pc);
  }
  /// So many steps more, which the thread has made without a call.
  void add_beats(uint64_t count) {
    beats_.store(beats_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  /// The thread has come to more of what is posted, without a call. To be caught up with at its next call.
  [[gnu::always_inline]] void account(Thread& thread) {
    if (native::script.next != native::script.accounted) account_for_posted(thread);
  }
  /// Warps whose posted operations can go on do so, on this thread.
  [[gnu::always_inline]] void continue_warps() {
    if (!deferred.continuing.empty()) [[unlikely]]
      continue_each(*this);
  }
  /// Records the finding and parks the thread for good.
  [[noreturn]] void fail(Thread& thread, Pc pc, const char* code, std::string message,
                         std::vector<std::string> notes = {});
  /// The same, which returns where it is a warning (report/warnings.cpp).
  void fail_or_warn(Thread& thread, Pc pc, const char* code, std::string message, std::vector<std::string> notes = {});
  /// In the handler of an exception that the machine met on the running thread's stack: the launch cannot go on. The
  /// scheduler throws it again, on the worker's own stack.
  [[noreturn]] void break_off();
  /// Source lines need an ordinary stack: a fiber asks the scheduler.
  Location location_from_fiber(Pc pc);

  // ---- lookups
  const LaunchContext& launch() const { return launch_; }
  const Options& options() const { return *launch_.options; }
  const AliasWindows& aliases() const { return memory_.aliases; }
  Heartbeat& heartbeat() const { return memory_.heartbeat; }
  uint32_t index() const { return index_; }
  check::Watch* watch() const { return watch_.get(); }
  bool dead() const { return findings.dead; }
  bool recording() const { return launch_.options->record_events; }
  Cta& cta(uint32_t rank) { return *ctas[rank]; }
  uint32_t size() const { return static_cast<uint32_t>(ctas.size()); }
  /// The CTA an address names, or null.
  Cta* owner(uint32_t address);
  Warpgroup& warpgroup(const Warp& warp) { return warp.cta->warpgroups[warp.index / warpgroup_warps]; }

 private:
  static void thread_main(void* thread);
  [[noreturn]] void too_many_steps(Thread& thread, Pc pc);
  void maybe_yield(Thread& thread);

  const LaunchContext& launch_;
  uint32_t index_;
  std::atomic<uint64_t>& beats_;  ///< the worker's sign of life is its count of steps, from cluster to cluster
  uint64_t first_beat_, last_beat_;
  std::optional<Error> broken_off_;
  std::unique_ptr<check::Watch> watch_;  ///< where the run is checked
  Pc asked_ = nullptr;                   ///< location_from_fiber's question and answer
  Location answer_;
};

}  // namespace warploom::loom
