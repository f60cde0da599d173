// The machine that runs one cluster: its CTAs with their memories, barriers and threads, the asynchronous work in
// flight, and the scheduler that owns every choice. Front ends (native.cpp) issue operations on it; it knows nothing of
// them. Files: scheduler.cpp (who runs, what completes), barriers.cpp, engines.cpp (TMA, commits), tcgen05.cpp,
// cp_async.cpp, launch_control.cpp, tensor_memory.cpp, wgmma.cpp, registers.cpp, claims.cpp, divergence.cpp,
// diagnose.cpp (from state to Report).
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loom/observe/check/watch.hpp"
#include "loom/state/collectives.hpp"
#include "loom/exec/costs.hpp"
#include "loom/exec/fiber.hpp"
#include "loom/exec/guard.hpp"
#include "loom/exec/random.hpp"
#include "loom/observe/trace_points.hpp"
#include "loom/units/mbarrier.hpp"
#include "loom/units/mma_sum.hpp"
#include "loom/units/tensor_copy.hpp"
#include "loom/units/tensor_core.hpp"
#include "loom/units/tma.hpp"
#include "loom/state/warpgroup.hpp"
#include "warploom/arch/config.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/loom/native.hpp"

namespace warploom::loom {

using Pc = const void*;  ///< a return address in the kernel: becomes a source line in reports

inline constexpr uint32_t window_start = 0x400;
inline constexpr uint32_t rank_shift = 24;
inline constexpr uint32_t offset_mask = (1u << rank_shift) - 1;
inline constexpr uint32_t tmem_column_count = 512;
inline constexpr uint32_t tmem_lane_count = 128;

struct Cta;
struct Warp;
struct Thread;
struct Barrier;
class Cluster;

/// One or more equal signals to a barrier in its current phase.
struct Signal {
  SignalKind kind = SignalKind::arrive;
  Warp* warp = nullptr;
  uint32_t lanes = 0;
  Pc pc = nullptr;
  uint32_t times = 0;
  uint32_t arrivals = 0;
  int64_t bytes = 0;
};

struct Barrier {
  Cta* cta = nullptr;
  uint32_t offset = 0;
  bool live = false;
  MbarrierState state;
  // Its name: ring, side, stage of `stages`.
  const char* ring = nullptr;
  uint8_t side = 0;
  uint32_t stage = 0;
  uint32_t stages = 0;
  const char* signalled_by = "";
  uint32_t watched = 0;  ///< its number with the checker

  std::vector<Signal> current;   ///< signals of the phase under way
  std::vector<Signal> previous;  ///< signals of the last completed one
  std::vector<Thread*> waiters;
  std::vector<Warp*> gated;   ///< whose lanes wait together
  std::vector<Warp*> posted;  ///< whose posted operations wait
  uint64_t phase_time = 0;    ///< latest signal of the phase under way
  uint64_t completed_at = 0;  ///< nominal time the last phase completed

  std::string name() const;
};

/// What a wait for so many completed phases waits for: "phase 2".
std::string phase_text(uint64_t phases);
/// A note that says who completes the barrier, or nothing if the kernel did not say.
std::vector<std::string> signalled_by(const Barrier& barrier);

struct Wait {
  WaitKind kind = WaitKind::mbarrier;
  Pc pc = nullptr;
  Barrier* barrier = nullptr;
  uint64_t phases = 0;  ///< completed phases the thread waits for
  uint32_t parity = 0;
  uint32_t id = 0;  ///< named barrier; pending groups
  const char* operation = "";
  uint32_t mask = 0;  ///< of a warp collective
};

/// The stores that one cp.async.bulk.commit_group closed.
struct BulkGroup {
  uint32_t reads_left = 0;
  uint32_t writes_left = 0;
  uint64_t read_time = 0;
  uint64_t write_time = 0;
  bool read_waited = false;  ///< or nothing to wait for
  Pc pc = nullptr;
  std::vector<check::WorkRef> works = {};
  uint32_t store = 0;  ///< its number with the checker
};

/// The copies that one cp.async.commit_group closed.
struct CopyGroup {
  uint32_t left = 0;
  uint64_t time = 0;
  std::vector<check::WorkRef> works = {};
};

/// What an arrival found: the phase it counted in, and the arrivals that were missing. A kernel gets a token that names
/// it: the phase, the thread of the cluster, and which of its tokens it is. All of that is the same under every
/// schedule; the count is not, and only mbarrier.pending_count, which is a point, looks it up.
struct ArrivalState {
  uint64_t phase = 0;
  uint32_t pending = 0;
};
inline constexpr uint32_t token_thread_bits = 16, token_number_bits = 20;
inline constexpr uint32_t kept_tokens = 1 << 12;  ///< of each thread
inline uint64_t token_phase(uint64_t token) { return token >> (token_thread_bits + token_number_bits); }

struct alignas(64) Thread : native::ThreadHead {
  /// `meeting`: parked in a collective of the whole warp, which knows what there is to know about it.
  enum class State : uint8_t { ready, running, parked, meeting, exited };

  // What every operation and every switch touches comes first, up to the lane's number.
  Warp* warp = nullptr;
  Fiber fiber;
  State state = State::ready;
  native::Identity id;
  Cluster* cluster = nullptr;
  Cta* cta = nullptr;
  uint64_t parked_at = 0;
  Wait wait;
  std::vector<std::pair<uint32_t, uint64_t>> collectives;  ///< per other mask, how many this lane has joined
  std::deque<std::shared_ptr<BulkGroup>> groups;
  std::shared_ptr<BulkGroup> open_group;
  std::deque<std::shared_ptr<CopyGroup>> copy_groups;
  std::shared_ptr<CopyGroup> open_copies;
  bool cluster_arrived = false;
  uint64_t cluster_phase = 0;
  uint32_t collective_result = 0;
  ArrivalState arrival;                  ///< of its latest signal to an mbarrier
  std::vector<uint32_t> pending_counts;  ///< of its latest tokens
  uint32_t tokens = 0;
  // Its latest atomic, if that left the word as it was.
  struct Asked {
    Pc pc = nullptr;
    const void* word = nullptr;
    uint32_t answer = 0;
    friend bool operator==(const Asked&, const Asked&) = default;
  } asked;
  uint32_t atomics = 0;  ///< that it has executed since it last let others run for their sake
};

/// A tcgen05.ld or st between issue and wait.
struct TmemAccess {
  native::TmemForm form;
  uint32_t count = 0;
  uint32_t address = 0;
  bool load = true;
  bool touched = false;  ///< TMEM already read (ld) or written (st)
  uint32_t* registers[32] = {};
  bool* in_flight[32] = {};
  std::vector<uint32_t> values;  ///< [lane * count + i]
  uint64_t finish = 0;
  check::WorkRef work;
};

/// Lanes of a warp that may run, in the order in which they were woken.
class LaneQueue {
 public:
  bool empty() const { return count_ == 0; }
  Thread* front() const { return count_ == 0 ? nullptr : lanes_[first_]; }
  void push_back(Thread* lane) { lanes_[(first_ + count_++) % 32] = lane; }
  Thread* pop_front() {
    Thread* lane = lanes_[first_];
    first_ = (first_ + 1) % 32;
    --count_;
    return lane;
  }

 private:
  Thread* lanes_[32] = {};
  uint32_t first_ = 0, count_ = 0;
};

struct Warp {
  Cluster* cluster = nullptr;
  Cta* cta = nullptr;
  uint32_t index = 0;
  const char* role = "";
  std::vector<Thread*> lanes;
  WholeWarp whole;
  std::vector<std::unique_ptr<Collective>> open;  ///< of some lanes only
  std::vector<TmemAccess> accesses;
  LaneQueue ready;
  // Lanes that met, or that a wait of the whole warp held up, go on one after the other; before those of `ready`.
  uint32_t round_next = 0, round_left = 0;
  uint64_t round_time = 0;
  // Lanes that wait for the same phase of an mbarrier, in no hurry to say so either.
  struct Gate {
    Barrier* barrier = nullptr;
    uint32_t phases = 0;
    uint32_t lanes = 0;
    Pc pc = nullptr;
  } gate;
  bool blocked = false;  ///< all lanes wait for the same, in no hurry to say so: note_meetings() does
  Wait blocked_by;
  std::vector<std::pair<uint32_t, uint8_t>> sides;  ///< ring, by its first barrier -> the side it waits on
  uint64_t priority = 0;
  bool queued = false;  ///< listed among the cluster's ready warps
  uint64_t role_since = 0;
  bool role_closed = false;   ///< its event has been recorded
  uint16_t named_passed = 0;  ///< named barriers this warp has waited at, one bit each
  WgmmaQueue wgmma;
  uint32_t registers = 0;  ///< per thread
  size_t register_requests = 0;
  uint32_t exited = 0;  ///< lanes that have
  TracePoints trace;

  bool can_run() const { return round_left != 0 || !ready.empty(); }
  Thread* next_lane() {
    if (round_left == 0) return ready.pop_front();
    Thread* lane = lanes[round_next];
    round_next = (round_next + 1) % 32;
    --round_left;
    lane->time = std::max(lane->time, round_time);
    return lane;
  }
  const Thread* lane_after() const { return round_left != 0 ? lanes[round_next] : ready.front(); }
  bool in_collective() const { return whole.meets || whole.posted() != 0 || !open.empty(); }
};

/// An accumulator of a ring in tensor memory, and which lanes of which warps hold it at the moment.
struct Accumulator {
  const char* ring = "";
  uint32_t stage = 0;
  uint32_t column = 0;
  uint32_t columns = 0;
  std::map<uint32_t, uint32_t> holders[2];  ///< per side: warp -> lanes
};

/// What a parked thread waits for, in a few words.
std::string whereabouts(const Thread& waiting);

struct NamedBarrier {
  const char* name = "";
  uint32_t expected = 0;  ///< threads, fixed by the first arrival of a phase
  bool whole = false;     ///< __syncthreads: all threads of the CTA that have not exited
  uint32_t arrived = 0;
  uint64_t time = 0;
  std::vector<Warp*> members;  ///< warps that arrived in this phase
  std::vector<Warp*> waiting;

  std::string text(uint32_t id) const {
    return "named barrier " + std::to_string(id) + (name[0] != '\0' ? " (" + std::string(name) + ")" : "");
  }
};

struct Cta {
  Cluster* cluster = nullptr;
  uint32_t rank = 0;
  Dim3 block;
  std::byte* window = nullptr;  ///< byte at window offset o is window[o]
  uint32_t window_bytes = 0;
  std::byte* alias = nullptr;  ///< what the kernel takes for it: nothing is there
  uint32_t* tmem = nullptr;
  std::vector<Thread*> threads;
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<std::unique_ptr<Barrier>> barriers;
  uint32_t barriers_begin = ~0u, barriers_end = 0;  ///< where they lie
  NamedBarrier named[16];
  uint32_t alive = 0;
  uint32_t exited_warps = 0;
  // Tensor memory
  uint16_t columns_taken = 0;  ///< one bit per 32 columns
  std::map<uint32_t, uint32_t> allocations;
  Pc allocated_at = nullptr;  ///< the latest tcgen05.alloc
  uint32_t last_allocation = tmem_column_count;
  std::vector<Accumulator> accumulators;  ///< by column
  bool relinquished = false;
  bool waited_for_grids = false;                          ///< a thread has executed griddepcontrol.wait
  bool triggered = false, triggered_before_wait = false;  ///< griddepcontrol.launch_dependents
  bool launch_refused = false;  ///< a thread of this CTA has seen a clusterlaunchcontrol request fail, at ...
  Pc refusal_seen_at = nullptr;
  uint64_t tensor_free_at = 0;
  uint64_t tma_free_at = 0;
  std::vector<Warpgroup> warpgroups;
  PackedB packed_b;             ///< of wgmmas that execute one right after the other
  uint32_t free_registers = 0;  ///< given back by setmaxnreg.dec and not taken
};

/// The clusters of one virtual processor that wait to be launched there: every `stride`-th of the launch.
struct ProcessorQueue {
  uint32_t next = 0;
  uint32_t stride = 1;
  uint32_t end = 0;

  bool empty() const { return next >= end; }
  uint32_t pop() { return std::exchange(next, next + stride); }
};

/// One clusterlaunchcontrol.try_cancel: its answer goes to one CTA or to all of the cluster.
struct CancelRequest {
  bool answered = false;
  bool canceled = false;
  uint32_t cluster = 0;  ///< the one canceled
  bool read = false;     ///< somebody asked for its first CTA
  Thread* issuer = nullptr;
  Pc pc = nullptr;
};

struct AsyncOp {
  enum class Kind : uint8_t {
    tma_load,
    tma_store,
    mma,
    commit,
    cp_async,
    cp_async_arrive,
    store_async,
    try_cancel,
    wgmma,
    tmem_copy,
    tmem_shift,
    bulk_send
  };

  Kind kind = Kind::mma;
  Thread* issuer = nullptr;
  Pc pc = nullptr;
  uint64_t issued = 0;
  uint64_t finish = 0;
  // tma_load: box to `destination` at `offset`, completing on the barrier at `barrier_offset` of `barrier_cta`
  // tma_store: box from `destination` (the issuer's CTA)
  TensorMapArgs map;
  TmaCoordinates at = {};
  std::optional<Reduction> reduction = {};
  // without tensor map: plain bytes from or to `global`; bulk_send: from `source_offset` of the issuer's CTA
  std::byte* global = nullptr;
  uint16_t byte_mask = 0xffff;  ///< of 16 bytes each, those that are written
  ReductionType reduction_type = ReductionType::u32;
  uint32_t source_offset = 0;
  Cta* destination = nullptr;
  uint32_t offset = 0;
  Cta* barrier_cta = nullptr;
  uint32_t barrier_offset = 0;
  uint32_t bytes = 0;
  std::shared_ptr<BulkGroup> group;
  std::vector<std::byte> staging;
  bool read_done = false;
  bool reluctant = false;  ///< random policy: completes only when nothing else can run
  uint32_t behind = 0;     ///< pending work that the instruction set orders before it
  // cp_async: `source_bytes` from `source` and zeros up to `bytes`, to `destination` at `offset`
  const void* source = nullptr;
  uint32_t source_bytes = 0;
  std::shared_ptr<CopyGroup> copies;
  bool raised = false;  ///< cp_async_arrive: the barrier's pending count was raised for it
  // store_async: `words` to `destination` at `offset`
  uint32_t words[4] = {};
  // try_cancel: the answer to `destination` at `offset`
  std::shared_ptr<CancelRequest> request;
  // mma
  MmaOperation mma;
  int cta_group = 1;
  // tmem_copy; tmem_shift at TMEM address `offset`
  TmemCopyOperation copy;
  // wgmma
  WgmmaInstruction* wgmma = nullptr;
  check::WorkRef work;
};

/// Does the instruction set order these two, if both are tcgen05 work (tcgen05.cpp)?
bool tcgen05_ordered(const AsyncOp& earlier, const AsyncOp& later);

/// A grid that may not have ended yet.
struct PriorGrid {
  const char* kernel = "";
  std::span<const TensorRef> tensors;
};

/// What all clusters of a launch share; read-only while they run.
struct LaunchContext {
  const LaunchConfig* config = nullptr;
  Entry entry = nullptr;
  const void* params = nullptr;
  std::span<const TensorRef> tensors;
  const Options* options = nullptr;
  Dim3 clusters;
  std::vector<PriorGrid> unfinished;      ///< until a cluster that started early continues
  check::GlobalMemory* global = nullptr;  ///< of all clusters, where they talk and are checked
  uint32_t first_cluster = 0;             ///< of the grids before it that are one program with it, in Decisions
};

/// Address space for the shared memory of a cluster's CTAs, as kernels see it. It cannot be touched: the machine finds
/// the bytes elsewhere, and a plain access of the kernel faults.
class AliasWindows {
 public:
  AliasWindows(uint32_t ctas, uint32_t bytes);
  ~AliasWindows();
  AliasWindows(const AliasWindows&) = delete;
  AliasWindows& operator=(const AliasWindows&) = delete;

  std::byte* of(uint32_t rank) const { return base_ + margin + rank * stride_; }
  /// Whether it is one of these addresses, or close to them.
  bool holds(const void* address) const { return address >= base_ && address < base_ + bytes_; }
  /// The CTA in whose window it is, or next to whose window.
  uint32_t rank_at(const void* address) const;

 private:
  static constexpr size_t margin = 16 << 20;  ///< a plain access that misses by no more is still seen for what it is
  size_t stride_;
  size_t bytes_;
  std::byte* base_;
};

/// Memory a worker keeps from one cluster to the next.
class WorkerMemory {
 public:
  WorkerMemory(const LaunchConfig& config, Heartbeat& heart);
  ~WorkerMemory();
  WorkerMemory(const WorkerMemory&) = delete;
  WorkerMemory& operator=(const WorkerMemory&) = delete;

  WorkerGuard guard;
  Heartbeat& heartbeat;
  StackPool stacks;
  FiberHost host;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> windows;
  std::vector<std::vector<uint32_t>> tmem;
  uint32_t window_bytes = 0;
  AliasWindows aliases;
  bool has_run = false;  ///< a cluster has begun
};

/// The barrier operations the mutation hook may alter.
struct SiteEntry {
  const char* operation = "";
  Pc pc = nullptr;
  std::string object;
  uint64_t executions = 0;
  bool mutated = false;
};

/// What the hook decided for one execution of one operation.
struct Mutated {
  uint32_t times = 1;  ///< 0: dropped, 2: repeated
  int32_t count = 0;   ///< added to the count
  int32_t bytes = 0;
  bool flip_parity = false;
  bool wrong_stage = false;
};

class Cluster {
 public:
  /// `queue` is the processor's, for launches with launch control.
  Cluster(const LaunchContext& launch, uint32_t index, WorkerMemory& memory, ProcessorQueue* queue = nullptr);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Runs to the end, to a finding or to a standstill.
  void run();
  /// The same while grids before this one count as unfinished: also to the point where it waits for them.
  void run_early();
  void continue_after_wait();

  // ---- results
  Report report;
  EventLog events;
  std::vector<SiteEntry> sites;
  uint64_t steps() const { return beats_.load(std::memory_order_relaxed) - first_beat_; }
  uint64_t last_time = 0;
  uint32_t canceled = 0;   ///< clusters that were canceled for this one
  bool triggered = false;  ///< griddepcontrol.launch_dependents was executed
  /// Every CTA of it lets dependents start (by a trigger, or by its end) while earlier grids may still run.
  bool passes_early() const;
  std::vector<check::Watch::PointNote> points() const;
  /// An object whose visitors come in an order that is the schedule's.
  struct ContestNote {
    const void* pc = nullptr;
    const char* operation = "";
    uint32_t cluster = 0, point = 0, threads = 0;
  };
  std::vector<ContestNote> contests() const;
  uint64_t let_pass_count = 0;  ///< findings that Options::suppressed names

  /// Set by a signal handler in the place of the thread that was running.
  Interruption interruption;

  // ---- threads (scheduler.cpp)
  static Thread*& current() { return current_thread; }
  /// The running thread at the beginning of a call: accounted for what it has come to without one. Nothing else may be
  /// asked by an operation, which would overtake what its thread has posted.
  static Thread& calling() {
    Thread& running = *current_thread;
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
    if (shuffle_) [[unlikely]]
      maybe_yield(thread);
  }
  /// What is not a scheduling point shows that the thread is alive, and does not go on for ever.
  void count_beat(Thread& thread, Pc pc) {
    const uint64_t beat = beats_.load(std::memory_order_relaxed) + 1;  // nobody else writes it
    beats_.store(beat, std::memory_order_relaxed);
    if (beat > last_beat_) [[unlikely]]
      too_many_steps(thread, pc);
  }
  /// Returns when woken; never after a finding.
  [[gnu::always_inline]] void park(Thread& thread) {
    thread.state = Thread::State::parked;
    thread.parked_at = thread.time;
    leave(thread);
  }
  /// Lets others run. Whoever is next goes on without a detour where the scheduler would only pick it.
  [[gnu::always_inline]] void leave(Thread& thread) {
    Thread* next = nullptr;
    if (passes_ && thread.warp->exited == 0) {
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
  /// Whether the next lane to run is one of this warp.
  bool goes_on(const Warp& warp) const { return warp.queued && ready_.front() == &warp; }
  FiberHost& host() { return memory_.host; }
  /// What the thread finds posted.
  [[gnu::always_inline]] void look_up(Thread& thread) {
    if (!plain_) return;
    WholeWarp& whole = thread.warp->whole;
    native::Script& script = native::script;
    script.list = whole.begin();
    script.next = script.accounted = script.list + (thread.joined - whole.over);
    script.end = whole.end();
  }
  /// The thread has come to more of what is posted, without a call. To be caught up with at its next call.
  [[gnu::always_inline]] void account(Thread& thread) {
    if (native::script.next != native::script.accounted) account_for_posted(thread);
  }
  void account_for_posted(Thread& thread);
  void wake(Thread& thread, uint64_t time);
  /// Records the finding and parks the thread for good.
  [[noreturn]] void fail(Thread& thread, Pc pc, const char* code, std::string message,
                         std::vector<std::string> notes = {});
  /// The same from wherever the checker looks on: returns if no thread is running. Only the first finding counts.
  void stop(const Warp* warp, uint32_t lanes, Pc pc, const char* code, std::string message,
            std::vector<std::string> notes, std::vector<OtherSide> sides);
  /// In the handler of an exception that the machine met on the running thread's stack: the launch cannot go on. The
  /// scheduler throws it again, on the worker's own stack.
  [[noreturn]] void break_off();
  check::Watch* watch() const { return watch_.get(); }
  /// The same for work in flight, which no thread executes: the caller must return.
  void fail_async(const AsyncOp& op, const char* code, std::string message);
  bool dead() const { return dead_; }
  Thread* running() const { return running_; }
  uint32_t index() const { return index_; }
  /// The work that has this moment with the checker, if it has not ended.
  const AsyncOp* in_flight(const check::Stamp& work) const;

  // ---- memory
  Cta& cta(uint32_t rank) { return *ctas_[rank]; }
  uint32_t size() const { return static_cast<uint32_t>(ctas_.size()); }
  /// The CTA an address names, or null.
  Cta* owner(uint32_t address);
  /// True when [offset, offset + bytes) is inside the CTA's dynamic shared memory.
  bool inside(const Cta& cta, uint64_t offset, uint64_t bytes) const;
  const TensorRef* tensor(const void* begin, const void* end, bool write) const;
  /// Reports an access of `operation` outside the launch's tensors.
  void check_global(Thread& thread, Pc pc, const char* operation, const void* begin, const void* end, bool write);
  /// The same of a hint, which reads nothing that the kernel sees: earlier grids may still work there.
  void check_tensor(Thread& thread, Pc pc, const char* operation, const void* begin, const void* end, bool write);

  // ---- barriers (barriers.cpp). `times` repeats come from the mutation hook.
  Barrier* find_barrier(Cta& cta, uint32_t offset);
  Barrier& barrier_at(Thread& thread, Pc pc, uint32_t address, bool local_only);
  void mbarrier_init(Thread& thread, Pc pc, uint32_t address, uint32_t count);
  void mbarrier_invalidate(Thread& thread, Pc pc, uint32_t address);
  void mbarrier_signal(Thread& thread, Pc pc, uint32_t address, SignalKind kind, uint32_t count, uint32_t bytes,
                       bool cluster_scope = false, bool not_last = false);
  void mbarrier_wait(Thread& thread, Pc pc, uint32_t address, uint32_t phases, bool cluster_scope = false);
  /// A question to a barrier, as the mutation hook lets it be asked.
  struct Question {
    Barrier* barrier;
    uint32_t address;
    uint32_t phases;
    uint32_t parity;
  };
  std::optional<Question> ask(Thread& thread, Pc pc, uint32_t address, uint32_t phases);
  void answer_no(Thread& thread, Pc pc, const Question& question);
  void answer_yes(Thread& thread, Pc pc, const Barrier& barrier, uint32_t phases);
  void let_others_run(Thread& thread);
  bool mbarrier_test(Thread& thread, Pc pc, uint32_t address, uint32_t phases, bool cluster_scope = false,
                     bool by_token = false);
  native::Poll mbarrier_poll(Thread& thread, Pc pc, uint32_t address, uint32_t phases, bool cluster_scope);
  void mbarrier_wait_unless(Thread& thread, Pc pc, const native::Poll& poll, uint32_t address, uint32_t phases,
                            bool cluster_scope);
  void name_barriers(Thread& thread, Pc pc, uint32_t first, uint32_t count, const char* ring, uint8_t side,
                     const char* signalled_by);
  /// `whole`: threads that have exited need not come.
  void named_barrier(Warp& warp, Pc pc, uint32_t id, uint32_t threads, bool sync, bool whole = false);
  void cluster_arrive(Thread& thread, Pc pc, bool release);
  void cluster_wait(Thread& thread, Pc pc);

  // ---- what the schedule decides (choices.cpp)
  /// The next point, and what the schedule says about it.
  Decision next_decision();
  /// Is this test one that may come too early, and does the schedule have it do so?
  bool denies(const Thread& thread, const Barrier& barrier, const Question& question, const Decision& decision);
  /// An operation on the object that sees what others have done to it. `of_launch`: all clusters may.
  void visit(Thread& thread, Pc pc, const void* object, const char* operation, bool of_launch);
  /// What an atomic has found, and whether it changed the word. A thread that goes on asking lets others run.
  void answered(Thread& thread, Pc pc, const void* word, const char* operation, uint32_t answer, bool changed);

  // ---- engines (engines.cpp)
  void tma_load(Thread& thread, Pc pc, int cta_group, uint32_t destination, const TensorMap& map, uint32_t barrier,
                const native::Coordinates& at, int cta_mask);
  void tma_store(Thread& thread, Pc pc, const TensorMap& map, uint32_t source, const native::Coordinates& at,
                 std::optional<Reduction> reduction);
  void bulk_commit(Thread& thread, Pc pc);
  void bulk_wait(Thread& thread, Pc pc, uint32_t pending, bool read_only);
  void commit(Thread& thread, Pc pc, int cta_group, uint32_t barrier, int cta_mask);

  // ---- tcgen05 (tcgen05.cpp)
  void mma(Thread& thread, Pc pc, const native::MmaInstruction& instruction);
  void tmem_copy(Thread& thread, Pc pc, TmemCopy shape, Expand expand, int cta_group, uint32_t destination,
                 uint64_t source);
  void tmem_shift(Thread& thread, Pc pc, int cta_group, uint32_t address);

  // ---- bulk copies without tensor map, prefetches (bulk.cpp)
  void bulk_load(Thread& thread, Pc pc, uint32_t destination, const void* source, uint32_t bytes, uint32_t barrier,
                 int cta_mask);
  void bulk_store(Thread& thread, Pc pc, void* destination, uint32_t source, uint32_t bytes, uint16_t byte_mask,
                  const native::BulkReduction& reduction);
  void bulk_send(Thread& thread, Pc pc, uint32_t destination, uint32_t source, uint32_t bytes, uint32_t barrier,
                 const native::BulkReduction& reduction);
  void bulk_prefetch(Thread& thread, Pc pc, const void* source, uint32_t bytes);
  void tma_prefetch(Thread& thread, Pc pc, const TensorMap& map, const native::Coordinates& at);

  // ---- tensor maps that kernels change (tensor_map_edit.cpp)
  void tensor_map_replace(Thread& thread, Pc pc, uint32_t address, TensorMapField field, uint32_t which,
                          uint64_t value);
  void publish_tensor_map(Warp& warp, Pc pc, TensorMap* destination, uint32_t address);
  void acquire_tensor_map(Thread& thread, Pc pc, const TensorMap& map);

  // ---- programmatic dependent launch (dependency.cpp)
  void grid_dependency_wait(Thread& thread, Pc pc);
  void grid_launch_dependents(Thread& thread, Pc pc);
  /// Reports an access to memory that a grid before this one still works on.
  void check_unfinished(Thread& thread, Pc pc, const void* begin, const void* end, bool write);

  // ---- cp.async (cp_async.cpp)
  void cp_async(Thread& thread, Pc pc, uint32_t destination, const void* source, uint32_t bytes, uint32_t source_bytes);
  void cp_async_arrive(Thread& thread, Pc pc, uint32_t barrier, bool increment);
  void cp_async_commit(Thread& thread, Pc pc);
  void cp_async_wait(Thread& thread, Pc pc, uint32_t pending);

  // ---- other CTAs' shared memory, tokens (remote.cpp)
  /// `what`: "a load", "a store", or an atomic, which needs no order.
  std::byte* cluster_memory(Thread& thread, Pc pc, uint32_t address, uint32_t bytes, native::ClusterAccess access);
  uint64_t mbarrier_arrive_token(Thread& thread, Pc pc, uint32_t address, uint32_t count, bool no_complete);
  uint32_t mbarrier_pending_count(Thread& thread, Pc pc, uint64_t token);
  /// How many phases must be complete for the token's; reports one that is too old.
  uint32_t token_phases(Thread& thread, Pc pc, uint32_t address, uint64_t token);

  // ---- st.async (store_async.cpp)
  void store_async(Thread& thread, Pc pc, uint32_t destination, const uint32_t (&words)[4], uint32_t barrier);

  // ---- cluster launch control (launch_control.cpp)
  void clc_try_cancel(Thread& thread, Pc pc, uint32_t response, uint32_t barrier, bool multicast);
  bool clc_is_canceled(Thread& thread, Pc pc, const uint32_t (&response)[4]);
  Dim3 clc_first_cta(Thread& thread, Pc pc, const uint32_t (&response)[4]);

  // ---- tensor memory (tensor_memory.cpp); warp operations
  void tmem_alloc(Warp& warp, Pc pc, int cta_group, uint32_t slot, uint32_t columns);
  void tmem_dealloc(Warp& warp, Pc pc, int cta_group, uint32_t base, uint32_t columns);
  void tmem_relinquish(Warp& warp, Pc pc, int cta_group);
  void tmem_access(Warp& warp, Pc pc, const Collective& lanes, const native::TmemForm& form, uint32_t count,
                   uint32_t address, bool load);
  void tmem_wait(Warp& warp, Pc pc, bool load);

  // ---- claims of the structure layer (claims.cpp)
  /// Reports a tcgen05 operation on an accumulator of a ring that these lanes of the warp do not hold.
  void check_accumulator(const Warp& warp, uint32_t lanes, Pc pc, const char* operation, uint32_t column,
                         uint32_t columns);
  void forget_accumulators(Cta& cta, uint32_t base, uint32_t columns);

  // ---- warpgroups (wgmma.cpp, registers.cpp); warp operations
  Warpgroup& warpgroup(const Warp& warp) { return warp.cta->warpgroups[warp.index / warpgroup_warps]; }
  void wgmma(Warp& warp, const Posted& posted);
  /// When the warp's wait for its groups is over; none: it is blocked.
  std::optional<uint64_t> wgmma_wait(Warp& warp, Pc pc, uint32_t pending);
  void wgmma_misuse(Thread& thread, Pc pc, const char* what, const native::WgmmaRegisters* registers);
  void set_max_registers(Warp& warp, Pc pc, uint32_t count, bool increase);

  // ---- posted operations of the whole warp (posted.cpp)
  /// Joins the thread's next collective of the whole warp, which must be this one. `arrive` comes after it.
  Posted& post(Thread& thread, Pc pc, PostedKind kind);
  void arrive(Thread& thread, Posted& posted);
  /// What all lanes have come to.
  void execute_posted(Warp& warp);
  void go_on_with_posted(Warp& warp);
  class MachineTurn;
  void forget_packed();
  /// Waits until all that the thread has posted has executed.
  void catch_up(Thread& thread);
  [[noreturn]] void fail_beside(Thread& thread, Pc pc, const char* operation);
  void post_wgmma(Thread& thread, Pc pc, const native::WgmmaForm& form, const native::WgmmaLane& lane);
  void note_registers(Thread& thread, Posted& posted, const native::WgmmaLane& lane);
  bool post_wgmma_fence(Thread& thread, Pc pc);
  void post_wgmma_commit(Thread& thread, Pc pc);
  void post_sync(Thread& thread, Pc pc);
  void post_phase_wait(Thread& thread, Pc pc, uint32_t address, uint32_t phases);
  /// Has the phase completed that the oldest posted operation waits for? If not, the warp is told.
  bool phase_complete(Warp& warp, const Posted& posted);
  /// Warps whose posted operations can go on do so, on this thread.
  [[gnu::always_inline]] void continue_warps() {
    if (!continuing_.empty()) [[unlikely]]
      continue_each();
  }
  void continue_each();
  /// An arrival waits in its lane's place for what the lane has posted. False: it has posted nothing, or cannot go on.
  bool post_arrival(Thread& thread, Pc pc, uint32_t address, uint32_t count, bool cluster_scope);
  void deliver_arrivals(Warp& warp);
  void post_wgmma_wait(Thread& thread, Pc pc, uint32_t pending);
  /// Whether lanes go on before a signal on their warp's behalf. Where work completes late, they would have to be held
  /// up behind it one by one.
  bool runs_ahead() const { return runs_ahead_; }
  /// What the thread's next collective of the whole warp was posted as, if it was.
  const Posted* posted_for(const Thread& thread) const {
    const WholeWarp& whole = thread.warp->whole;
    const uint64_t place = thread.joined - whole.over;
    return place < whole.posted() ? &whole[place] : nullptr;
  }

  // ---- warp collectives (native.cpp assembles them): parks or wakes all lanes of a warp
  /// Threads that meet are parked like all others, to whoever looks for the reason of a standstill.
  void note_meetings();
  void note_oldest_posted(Thread& thread);
  /// The others of a collective of the whole warp go on, one after the other.
  [[gnu::always_inline]] void start_round(Thread& thread, uint64_t time) {
    if (!passes_) return wake_others(thread, whole_warp, time);
    Warp& warp = *thread.warp;
    warp.round_next = (thread.id.lane + 1) % 32;
    warp.round_left = 31;
    warp.round_time = time;
    if (!warp.queued) queue_first(warp);
  }
  /// Wakes those lanes of the thread's warp.
  void wake_others(Thread& thread, uint32_t mask, uint64_t time);
  /// The same as park_warp for a warp of which all but the running lane are in a meeting, and wake_warp.
  void block_warp(Thread& thread, const Wait& wait);
  void unblock_warp(Warp& warp, uint64_t time);
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
  void park_warp(Warp& warp, const Wait& wait);
  void wake_warp(Warp& warp, uint64_t time);

  // ---- names, events
  void name_role(Thread& thread, const char* role);
  void trace_point(Thread& thread, native::TracePoint point, const char* label);
  void record(EventKind kind, const Cta& cta, uint32_t warp, uint64_t begin, uint64_t end, int64_t value,
              std::string_view name);
  bool recording() const { return launch_.options->record_events; }

  // ---- the mutation hook
  Mutated mutate(const char* operation, Pc pc, const Barrier* object);
  uint32_t next_stage(const Barrier& barrier) const;  ///< offset of the ring's next barrier

  void note_cta_group(Thread& thread, Pc pc, int cta_group);

  const LaunchContext& launch() const { return launch_; }
  const AliasWindows& aliases() const { return memory_.aliases; }
  Heartbeat& heartbeat() const { return memory_.heartbeat; }

 private:
  friend class Diagnosis;

  // scheduler.cpp
  static inline thread_local constinit Thread* current_thread = nullptr;
  static void thread_main(void* thread);
  [[noreturn]] void too_many_steps(Thread& thread, Pc pc);
  void maybe_yield(Thread& thread);
  void enqueue(Thread& thread);
  /// A warp that has met goes on, and so does a warpgroup: their stacks are in the cache. Not for ever, others may have
  /// what they poll for.
  void queue_first(Warp& warp);
  Thread* pick();
  bool complete_one(bool forced);
  void thread_exited(Thread& thread);
  void interrupted(Thread& thread);
  void plain_shared_access(Thread& thread, Pc pc);
  void close_role(Warp& warp, uint64_t time);
  void close_trace(Warp& warp, uint64_t time);
  void finish();
  void deadlock();
  void add_finding(Thread* thread, Pc pc, const char* code, std::string message, std::vector<std::string> notes);
  void locate_findings();
  /// Is it one that Options::suppressed names?
  bool let_pass(Pc pc, const char* code, const std::vector<OtherSide>& sides);
  /// Source lines need an ordinary stack: a fiber asks the scheduler.
  Location location_from_fiber(Pc pc);

  // divergence.cpp
  /// True and a finding when lanes of the warp wait in a collective that others of its mask can no longer join. At a
  /// standstill also those count that wait elsewhere, for the lanes that wait here.
  bool stranded(Warp& warp, bool standstill);
  bool any_stranded();

  // choices.cpp
  /// Returns when somebody else has done something to the object, or when nothing else can happen.
  void hold(Thread& thread, Pc pc, const void* object, const char* operation, bool ordered = false);
  void release_held(const void* object);
  bool release_any_held();

  // barriers.cpp
  /// The one that asynchronous work signals.
  std::string barrier_name(const AsyncOp& op);
  /// Asynchronous work must not write where an mbarrier lives.
  void check_overrun(const AsyncOp& op);
  void check_side(Thread& thread, Pc pc, const Barrier& barrier);
  void check_phase(Thread& thread, Pc pc, const Barrier& barrier, uint32_t phases);
  void signal_barrier(Thread& thread, Pc pc, uint32_t address, SignalKind kind, uint32_t count, uint32_t bytes,
                      bool cluster_scope = false, bool not_last = false);
  MbarrierFault apply(Barrier& barrier, const Signal& signal, uint64_t time);
  void fault(Thread& thread, Pc pc, const Barrier& barrier, MbarrierFault fault, const Signal& signal);
  void enter_named_barrier(Warp& warp, Pc pc, uint32_t id, uint32_t threads, bool sync, bool whole);
  static bool all_here(const Cta& cta, const NamedBarrier& barrier) {
    uint32_t exited = barrier.whole ? cta.exited_warps : 0;
    for (const Warp* warp : barrier.members)  // one that has arrived and exited counts once
      if (exited != 0 && warp->exited == warp->lanes.size()) --exited;
    return barrier.arrived + 32 * exited >= barrier.expected;
  }
  void complete_named_barrier(Cta& cta, uint32_t id);
  void cluster_barrier_check();

  // engines.cpp
  void issue(std::unique_ptr<AsyncOp> op);
  void erase_pending(size_t index);
  void complete(size_t index);
  void progress(AsyncOp& op, bool& done);
  /// The signal that finished work owes to its barrier; null and a finding when that cannot take it.
  const Barrier* deliver(const AsyncOp& op, SignalKind kind, const char* what);
  void wake_bulk_waiters(Thread& thread);

  // tcgen05.cpp
  /// The first CTA of the group that the thread's tcgen05 work of this cta_group runs on.
  uint32_t first_of_group(const Thread& thread, int cta_group) const {
    const auto group = static_cast<uint32_t>(cta_group);
    return thread.cta->rank / group * group;
  }
  /// Reports columns that are not allocated in every CTA of the group, or held by nobody. `what`: "tcgen05.mma writes"
  void check_tmem_use(Thread& thread, Pc pc, int cta_group, const char* instruction, const TmemUse& use);
  void complete_tcgen05(AsyncOp& op);
  void chain_mma(const MmaOperation& op, const MmaMemory* memory);
  /// Before anything but a tcgen05.mma of such a chain reads or writes the CTA's tensor memory.
  void settle_tensor_memory(const Cta& cta);

  void issue_store(Thread& thread, Pc pc, uint32_t offset, std::unique_ptr<AsyncOp> op);

  // tensor_map_edit.cpp
  TensorMap& draft_at(Thread& thread, Pc pc, uint32_t address, bool write, const char* operation);
  /// What a copy through this map does; reports one that cannot be used.
  TensorMapArgs usable_map(Thread& thread, Pc pc, const TensorMap& map);

  // bulk.cpp
  void check_local_bulk(Thread& thread, Pc pc, const char* operation, const char* what, uint32_t address,
                        uint32_t bytes);
  void check_global_reduction(Thread& thread, Pc pc);
  void land_bulk_send(const AsyncOp& op);
  static void write_bulk(const AsyncOp& op);

  // cp_async.cpp, launch_control.cpp
  void land_copy(AsyncOp& op);
  void land_copy_arrival(const AsyncOp& op);
  void land_store(const AsyncOp& op);
  void answer_cancel(const AsyncOp& op);
  void decide(CancelRequest& request);
  /// True and a finding when a cluster was canceled and nobody asked which.
  bool lost_work();

  // wgmma.cpp, registers.cpp
  void check_wgmma_registers(Thread& thread, Pc pc, const native::WgmmaLane& lane, uint32_t k);
  const WgmmaOperation& legal_wgmma(Thread& thread, const Posted& posted, const native::WgmmaLane& lane);
  void start_wgmma(Warp& warp, WgmmaInstruction& op);
  void complete_wgmma(WgmmaInstruction& op);
  void multiply_wgmma(const WgmmaInstruction& op);
  bool wgmma_covered(const Warp& warp) const;
  uint64_t release_wgmma(Warp& warp);
  void release_registers(Warp& warp, const PostedRegisters& registers, bool with_a);
  bool wgmma_left_at_exit(Thread& thread);
  /// At a standstill or at the end: did only a part of a warpgroup execute what all of it must? Records the finding.
  bool partial_warpgroup();
  void grant_registers(Cta& cta, uint64_t time);

  const LaunchContext& launch_;
  uint32_t index_;
  WorkerMemory& memory_;
  std::atomic<uint64_t>& beats_;  ///< the worker's sign of life is its count of steps, from cluster to cluster
  uint64_t first_beat_, last_beat_;
  ProcessorQueue* queue_;
  std::vector<std::shared_ptr<CancelRequest>> granted_;  ///< requests that canceled a cluster
  Random random_;
  bool shuffle_;     ///< threads are picked at random
  bool priorities_;  ///< ... by random priority
  bool passes_;      ///< threads hand over to each other
  bool plain_;       ///< nothing is recorded or altered, and no thread gives way
  bool runs_ahead_;
  std::vector<Warp*> continuing_;  ///< the phase has completed that their posted operations waited for
  bool continues_ = false;         ///< somebody sees to them
  uint32_t turn_depth_ = 0;        ///< MachineTurns, one inside the other
  std::vector<std::unique_ptr<Cta>> ctas_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::deque<Warp*> ready_;
  const Warpgroup* last_ = nullptr;  ///< whose warp ran last, and how often one of them has gone before others
  uint32_t turns_ = 0;
  const Warp* script_warp_ = nullptr;  ///< whom native::script is about
  std::vector<std::unique_ptr<AsyncOp>> pending_;
  std::vector<MmaSum> sums_;  ///< of executed tcgen05.mma
  Thread* running_ = nullptr;
  bool early_ = false;  ///< grids before this one count as unfinished
  std::vector<Thread*> grid_waiters_;
  /// Tensor maps that this cluster has published, and who has fenced since.
  struct PublishedMap {
    std::vector<Thread*> fenced;
    std::optional<check::Stamp> at;  ///< with the checker
  };
  std::map<const TensorMap*, PublishedMap> published_;
  uint32_t alive_ = 0;
  bool dead_ = false;
  std::optional<Error> broken_off_;
  // barrier.cluster
  uint32_t cluster_arrived_ = 0;
  uint64_t cluster_phase_ = 0;
  uint64_t cluster_time_ = 0;
  std::vector<Thread*> cluster_waiters_;
  std::vector<Thread*> pollers_;  ///< threads whose mbarrier test failed: they run again when nothing else can
  uint64_t failed_polls_ = 0;
  uint64_t productive_steps_ = 0;
  uint32_t idle_rounds_ = 0;
  uint32_t polls_answered_ = 0;  ///< with the truth or not
  uint32_t next_point_ = 0;
  struct Held {
    Thread* thread = nullptr;
    const void* object = nullptr;
    bool ordered = false;  ///< goes on when nothing else can run and its turn has come
  };
  std::vector<Held> held_;
  std::vector<Held> spinners_;       ///< threads that ask an atomic over and over, at their words; or several, nullptr
  uint64_t spun_at_ = ~uint64_t{0};  ///< so many productive steps were made when they last went on
  void wake_spinners(const void* word = nullptr);  ///< null: all of them
  /// Objects whose visitors go in an order that the schedule names.
  struct Ordered {
    const void* object = nullptr;
    uint32_t order = 0;
  };
  std::vector<Ordered> ordered_;
  /// Who has come to an object, of a checked run.
  struct Visitor {
    const void* object = nullptr;
    const Thread* thread = nullptr;
    uint32_t point = 0;
  };
  std::vector<Visitor> visitors_;
  /// A question that the schedule answers with no.
  struct Denied {
    const Thread* thread = nullptr;
    const Barrier* barrier = nullptr;
    uint64_t phases = 0;
    uint32_t times = 0;
  };
  std::vector<Denied> denied_;
  // cta_group of the kernel's tcgen05 work: one value for all of it
  int cta_group_ = 0;
  // TMEM rendezvous of pairs: [2 * pair, + 1 for dealloc] -> the warp that came first
  struct PairWait {
    Warp* warp = nullptr;
    Pc pc = nullptr;
    uint32_t value = 0;
    uint32_t slot = 0;
  };
  std::map<uint32_t, PairWait> pair_waits_;
  /// A tcgen05.alloc that waits for columns; `peer` is the other CTA's warp of a pair.
  struct AllocRequest {
    Warp* warp = nullptr;
    Warp* peer = nullptr;
    Pc pc = nullptr;
    uint32_t columns = 0;
    uint32_t slot = 0;
    uint32_t peer_slot = 0;
  };
  bool grant(const AllocRequest& request);
  void grant_waiting(uint64_t time);
  std::vector<AllocRequest> alloc_waiters_;
  struct RegisterWait {
    Warp* warp = nullptr;
    uint32_t count = 0;
  };
  std::vector<RegisterWait> register_waiters_;  ///< setmaxnreg.inc, in the order they came
  std::unordered_map<uint64_t, size_t> site_index_;
  int64_t mutated_executions_ = 0;  ///< of all addresses that are the mutation's site
  std::vector<Pc> finding_pcs_;
  std::map<std::pair<std::string_view, std::vector<Pc>>, bool> passed_by_;
  std::vector<std::vector<Pc>> side_pcs_;  ///< of each finding
  std::unique_ptr<check::Watch> watch_;    ///< where the run is checked
  Pc asked_ = nullptr;                     ///< location_from_fiber's question and answer
  Location answer_;
  std::unordered_map<std::string, uint32_t> event_names_;
};

}  // namespace warploom::loom
