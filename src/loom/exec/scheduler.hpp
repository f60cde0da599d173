// Who runs: the warps that can, the thread that does, and how one hands over to the next. Every choice comes from the
// schedule. What is inline here is on the way of every operation.
//
//   thread.wait = {.kind = WaitKind::bulk_group, .pc = pc};
//   cluster.park(thread);  // returns when another has called cluster.wake(thread, time)
#pragma once

#include <cstdint>
#include <deque>

#include "loom/exec/random.hpp"
#include "loom/exec/worker_memory.hpp"
#include "loom/state/cta.hpp"
#include "loom/state/launch_context.hpp"

namespace warploom::loom {

class Scheduler {
 public:
  Scheduler(const LaunchContext& launch, uint32_t index, WorkerMemory& memory);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// What follows from the schedule and the launch, for all of the run.
  struct Mode {
    bool shuffle = false;     ///< threads are picked at random
    bool priorities = false;  ///< ... by random priority
    bool passes = false;      ///< threads hand over to each other
    bool plain = false;       ///< nothing is recorded or altered, and no thread gives way
    /// Lanes go on before a signal on their warp's behalf. Where work completes late, they would have to be held up
    /// behind it one by one.
    bool runs_ahead = false;
    bool quick_memory = false;  ///< plain accesses need no call
    int skew = -1;              ///< the CTA that is held back
  };
  Mode mode;
  Random random;

  static Thread*& current() { return current_thread; }
  Thread* running() const { return running_; }
  bool runs_ahead() const { return mode.runs_ahead; }

  // ---- the running thread
  /// Returns when woken; never after a finding.
  [[gnu::always_inline]] void park(Thread& thread) {
    thread.state = Thread::State::parked;
    thread.parked_at = thread.time;
    leave(thread);
  }
  /// Lets others run. Whoever is next goes on without a detour where the scheduler would only pick it.
  [[gnu::always_inline]] void leave(Thread& thread) {
    Thread* next = nullptr;
    if (mode.passes && thread.warp->exited == 0) {
      Warp& warp = *thread.warp;
      if (warp.queued && ready_.front() == &warp) {
        next = warp.next_lane();
        if (!warp.can_run()) {
          warp.queued = false;
          ready_.pop_front();
        }
      } else {
        next = pick();
      }
    }
    if (next == nullptr) return thread.fiber.suspend();
    // What the one after it needs is most likely in no first-level cache.
    if (const Thread* after = next->warp->lane_after()) {
      after->fiber.prefetch();
      next->warp->whole.prefetch_states(after->id.lane);
    }
    enter(*next);
    if (next != &thread) thread.fiber.pass_to(next->fiber, memory_.host);
  }
  /// From now on this thread runs.
  [[gnu::always_inline]] void enter(Thread& thread) {
    running_ = &thread;
    current_thread = &thread;
    thread.state = Thread::State::running;
    native::Script& script = native::script;
    script.thread = &thread;
    script.identity = &thread.id;
    script.lane = thread.id.lane;
    if (script_warp_ != thread.warp) enter_warp(*thread.warp);
    look_up(thread);
  }
  void enter_warp(Warp& warp);
  /// The same for another lane of the warp that runs, none of whose posted operations it has come to.
  [[gnu::always_inline]] void enter_next_lane(Thread& thread) {
    running_ = &thread;
    current_thread = &thread;
    thread.state = Thread::State::running;
    native::Script& script = native::script;
    script.thread = &thread;
    script.identity = &thread.id;
    script.lane = thread.id.lane;
    script.next = script.accounted = script.list;
  }
  /// What the thread finds posted.
  [[gnu::always_inline]] void look_up(Thread& thread) {
    if (!mode.plain) return;
    WholeWarp& whole = thread.warp->whole;
    native::Script& script = native::script;
    script.list = whole.begin();
    script.next = script.accounted = script.list + (thread.joined - whole.over);
    script.end = whole.end();
  }
  /// Whether the next lane to run is one of this warp.
  bool goes_on(const Warp& warp) const { return warp.queued && ready_.front() == &warp; }
  void let_others_run(Thread& thread);
  FiberHost& host() { return memory_.host; }

  // ---- others
  void wake(Thread& thread, uint64_t time);
  /// Wakes those lanes of the thread's warp.
  void wake_others(Thread& thread, uint32_t mask, uint64_t time);
  /// All lanes of a warp; the caller leaves, if it is one of them.
  void park_warp(Warp& warp, const Wait& wait);
  void wake_warp(Warp& warp, uint64_t time);
  /// The same as park_warp for a warp of which all but the running lane are in a meeting, and wake_warp.
  void block_warp(Thread& thread, const Wait& wait);
  void unblock_warp(Warp& warp, uint64_t time);
  /// The others of a collective of the whole warp go on, one after the other.
  [[gnu::always_inline]] void start_round(Thread& thread, uint64_t time) {
    if (!mode.passes) return wake_others(thread, whole_warp, time);
    Warp& warp = *thread.warp;
    warp.round_next = (thread.id.lane + 1) % 32;
    warp.round_left = 31;
    warp.round_time = time;
    if (!warp.queued) queue_first(warp);
  }
  /// The thread, which runs ahead, waits for the phase together with other lanes of its warp. False: others of them
  /// wait for something else.
  [[gnu::always_inline]] bool wait_at_gate(Thread& thread, Pc pc, Barrier& barrier, uint32_t phases) {
    Warp& warp = *thread.warp;
    Warp::Gate& gate = warp.gate;
    if (gate.lanes == 0) {
      gate = {&barrier, phases, 0, pc};
      barrier.gated.push_back(&warp);
    } else if (gate.barrier != &barrier || gate.phases != phases) {
      return false;
    }
    gate.lanes |= 1u << thread.id.lane;
    thread.state = Thread::State::meeting;
    leave(thread);
    return true;
  }
  void open_gate(Warp& warp, uint64_t time);
  void enqueue(Thread& thread);
  /// A warp that has met goes on, and so does a warpgroup: their stacks are in the cache. Not for ever, others may have
  /// what they poll for.
  void queue_first(Warp& warp);

 protected:
  Thread* pick();
  /// Before the first thread runs on this worker.
  void begin(std::atomic<uint64_t>& beats);
  /// The machine itself runs again.
  void leave_threads() {
    running_ = nullptr;
    current_thread = nullptr;
  }

  WorkerMemory& memory_;

 private:
  static inline thread_local constinit Thread* current_thread = nullptr;

  Thread* running_ = nullptr;
  std::deque<Warp*> ready_;
  const Warpgroup* last_ = nullptr;  ///< whose warp ran last, and how often one of them has gone before others
  uint32_t turns_ = 0;
  const Warp* script_warp_ = nullptr;  ///< whom native::script is about
};

}  // namespace warploom::loom
