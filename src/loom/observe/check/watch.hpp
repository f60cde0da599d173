// The checker as the machine sees it: one per cluster that is checked. The machine tells it every operation; it keeps
// the order of things (order.hpp) and who touched what (shadow.hpp), and stops the run with a finding where two
// accesses are not ordered, or where only this schedule made a barrier come out right. docs/verdict.md says what
// follows from a run in which it finds nothing.
//
// A machine that is not checked has none, and asks nothing but that.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "loom/observe/check/footprint.hpp"
#include "loom/observe/check/global_memory.hpp"
#include "loom/observe/check/order.hpp"
#include "loom/observe/check/recorder.hpp"
#include "loom/observe/check/shadow.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/loom/report.hpp"

namespace warploom::loom {

struct AsyncOp;
struct Barrier;
struct BulkGroup;
class Cluster;
struct CopyGroup;
struct Cta;
struct NamedBarrier;
struct Thread;
struct TmemAccess;
struct Warp;
struct WgmmaInstruction;

/// The other side of a finding, before its place becomes a line.
struct OtherSide {
  std::string what;
  const Warp* warp = nullptr;  ///< null: `agents`, of a cluster that is gone
  uint32_t lanes = 0;
  const void* pc = nullptr;
  Agents agents = {};
};

namespace check {

using Pc = const void*;
using WorkRef = std::shared_ptr<const Work>;

class Watch {
 public:
  explicit Watch(Cluster& cluster);

  // ---- threads
  void synchronise(const Warp& warp, uint32_t mask);
  /// `value`: what a store is about to write, where that is known.
  void access(Thread& thread, Pc pc, const Cta& owner, uint32_t offset, uint32_t bytes, bool write,
              const char* operation, const void* value = nullptr);
  /// By all lanes of a warp together, which have met: stmatrix, ldmatrix, tcgen05.alloc.
  void access(const Warp& warp, Pc pc, std::span<const uint32_t> offsets, uint32_t bytes, bool write,
              const char* operation);
  /// `release`: one that makes a relaxed arrival at the cluster barrier tell what the thread has done. `own_cta`: about
  /// the shared memory of the thread's own CTA only (.shared::cta).
  void fence_proxy_async(Thread& thread, bool release, bool own_cta);
  /// fence.release of shared memory, for the cluster.
  void fence_shared_release(Thread& thread);
  void tensor_fence(Thread& thread, bool before);
  void fence_mbarrier_init(Thread& thread);

  /// atom.acq_rel on a word of shared memory: it tells and learns.
  void shared_atomic(Thread& thread, Pc pc, const Cta& owner, uint32_t offset, uint32_t bytes);

  // ---- global memory (watch_global.cpp)
  /// tensormap.cp_fenceproxy: a warp writes a tensor map to global memory. Its moment, for those who fence.
  Stamp published(Thread& thread, Pc pc, const void* begin, size_t bytes);
  /// Is that moment over, in every schedule, when the thread comes here?
  bool knows(const Thread& thread, const Stamp& moment) const;
  void global_access(Thread& thread, Pc pc, const void* begin, size_t bytes, bool write, const void* value = nullptr);
  void global_atomic(Thread& thread, Pc pc, const void* word, size_t bytes, MemoryOrder order, MemoryScope scope);
  void fence(Thread& thread, MemoryScope scope);
  void fence_proxy_global(Thread& thread);
  void bulk_committed(const Thread& thread, const BulkGroup& group);
  /// For the end of all but the latest `pending` groups.
  void bulk_waited(const Thread& thread, uint32_t pending);
  /// What this cluster touched, where clusters cannot talk; null otherwise.
  std::unique_ptr<GlobalMemory> take_global() { return std::move(own_global_); }

  // ---- barriers
  void init(Thread& thread, Pc pc, Barrier& barrier);
  void invalidate(Thread& thread, Pc pc, const Barrier& barrier);
  /// `not_last`: mbarrier.arrive.noComplete.
  void signal(Thread& thread, Pc pc, const Barrier& barrier, SignalKind kind, uint32_t arrivals, int64_t bytes,
              bool cluster_scope, bool not_last);
  /// The pending count is raised by one: cp.async.mbarrier.arrive without .noinc.
  void increment(Thread& thread, Pc pc, const Barrier& barrier);
  void phase_completed(const Barrier& barrier);
  /// `cluster_scope`: what other CTAs released to the cluster is seen, too.
  void passed(Thread& thread, Pc pc, const Barrier& barrier, uint64_t phases, bool cluster_scope);
  /// ... by each lane of a warp.
  void passed(const Warp& warp, Pc pc, const Barrier& barrier, uint64_t phases, bool cluster_scope);
  /// A poll whose answer is a hint.
  void polled(Thread& thread, Pc pc, const Barrier& barrier, uint64_t phases);
  void arrive(const Warp& warp, Pc pc, const NamedBarrier& barrier);
  void completed(const Cta& cta, const NamedBarrier& barrier, std::span<Warp* const> waiting);
  void cluster_arrive(Thread& thread, Pc pc, bool release);
  void cluster_completed();
  void cluster_passed(Thread& thread, Pc pc);

  // ---- asynchronous work
  /// Checks it with what its issuer knows, and sets `op.work`.
  void issue(AsyncOp& op);
  /// Before its signal is applied to the barrier.
  void deliver(const AsyncOp& op, const Barrier& barrier, bool arrival);
  void finished(const AsyncOp& op);
  /// The thread has waited for the groups.
  void learn(Thread& thread, std::vector<WorkRef>& works);
  /// A warp has come to it; wgmma() when all four have.
  void wgmma_joined(const Warp& warp, WgmmaInstruction& op);
  void wgmma(const Warp& first, WgmmaInstruction& op);
  void wgmma_commit(const Warp& warp);
  void wgmma_waited(const Warp& warp, const WgmmaInstruction& last);
  void tmem_allocated(const Warp& warp, Pc pc, uint32_t column, uint32_t columns, uint32_t slot);
  void tmem_relinquished(const Warp& warp, Pc pc);
  void tmem_freed(const Warp& warp, Pc pc, const Cta& cta, uint32_t column, uint32_t columns);
  void tmem_access(const Warp& warp, Pc pc, TmemAccess& access);
  void tmem_waited(const Warp& warp, const TmemAccess& access);

  // ---- the end (watch_exit.cpp)
  void exited(const Thread& thread);
  /// The cluster barrier and __syncthreads count the threads that have not exited. `arrived`: at the cluster barrier,
  /// in the phase under way.
  void left_barriers(const Thread& thread, bool arrived);

  // ---- what the schedule decides (watch_choice.cpp)
  struct PointNote {
    Pc pc = nullptr;
    const char* operation = "";
    Decision decision;
    bool may_hold = false, may_refuse = false;
    bool matters = false;  ///< another schedule may have it come out differently
  };
  struct Asked {
    uint64_t phases = 0;    ///< completed phases that it asks for
    bool by_token = false;  ///< of a token: it may be asked while that phase is the current one or the last
  };
  /// A test for a phase. Not for one whose answer is only a hint.
  void tested(Thread& thread, Pc pc, const Barrier& barrier, const Asked& asked, bool answer, const Decision& decision);
  /// An operation that sees what others have done to the object before it. `of_launch`: also those of other clusters.
  void visited(Thread& thread, Pc pc, const void* object, const char* operation, bool of_launch,
               const Decision& decision);
  void answered(Pc pc, const Decision& decision);
  /// clusterlaunchcontrol.try_cancel, and a thread that sees that a request has failed: after that none may follow.
  void cancel_asked(Thread& thread, Pc pc);
  /// griddepcontrol.wait was passed; and whether one of this CTA comes before what the thread does now.
  void grid_waited(const Thread& thread);
  bool knows_grid_wait(const Thread& thread) const;
  void cancel_refused(Thread& thread, Pc pc);
  /// setmaxnreg: so many registers more (of the whole warp) are asked for, or given back.
  void registers_asked(const Warp& warp, Pc pc, uint32_t count);
  void registers_given(const Warp& warp, uint32_t count);
  /// The run has ended: what depends on all of it becomes a point, or does not.
  void settle_registers();
  /// Does the end of the barrier's last phase come before what the thread does now, under every schedule?
  bool knows_end(const Thread& thread, const Barrier& barrier) const;
  /// Something that nothing can be decided about.
  void depends(Pc pc, const char* operation);
  std::span<const PointNote> points() const { return points_; }

 private:
  struct Site {
    Pc pc = nullptr;
    const Warp* warp = nullptr;
    uint32_t lanes = ~0u;
    const char* operation = "";
    std::string object;   ///< "input.full[2]"
    uint32_t global = 0;  ///< its number there; 0: none
    /// Of a thread's stores: what the thread knew, by its tick, since its warp met.
    std::vector<std::pair<uint32_t, KnowledgeRef>> stores = {};
  };
  struct BarrierNotes {
    const Barrier* barrier = nullptr;
    std::string name = {};  ///< of one that is no mbarrier
    std::optional<Stamp> init = {}, fenced = {};
    Pc init_at = nullptr;
    const Warp* ended_by = nullptr;  ///< mbarrier.inval: who, by which lane, and where
    uint32_t ended_lane = 0;
    Pc ended_at = nullptr;
    std::vector<uint32_t> known_to[2] = {};  ///< lanes of each warp to whom it is usable: in its CTA, from elsewhere
    struct Test {
      Stamp stamp;
      size_t point = 0;
      Asked asked;
      Pc pc = nullptr;
    };
    std::vector<Test> tests = {};  ///< that another phase may still end before
  };
  /// Instructions of a tensor core that are one piece of work: same issuers, same knowledge, same accumulator.
  struct Batch {
    std::shared_ptr<Work> work;
    std::pair<KnowledgeRef, uint32_t> moment;  ///< of its issuer: another one at the same may be added to it
    Footprints::Id lines = Footprints::nothing;
    std::shared_ptr<const WarpIssue> issuers[4];  ///< wgmma: what each warp knew
    uint32_t site = 0;
    const Warp* warp = nullptr;
    Pc pc = nullptr;
    uint32_t first_cta = 0, ctas = 1;
    bool masked = false;  ///< it left lanes of its accumulator alone: the next one may write others
    bool flushed = true;
    // Four warps wait for the same end.
    WorkRef waited;
    KnowledgeRef told;
  };
  /// What a warp writes with one stmatrix after the other, or a thread with one 16-byte store after the other, while
  /// nothing else happens to it or to shared memory: tiles are whole lines once it is done, and checked as such. Every
  /// other event settles it first.
  struct Stores {
    struct One {
      Pc pc = nullptr;
      Record record;
      uint32_t offset = 0;
    };
    const Warp* warp = nullptr;
    uint32_t lanes = 0;     ///< all of them, or one
    std::vector<One> each;  ///< units of 16 bytes
    LineSet lines;

    bool go_on(const Warp& who, uint32_t which) const {
      constexpr size_t most = 1024;
      return warp == &who && lanes == which && each.size() < most;
    }
  };
  /// Of one more store of these lanes: what is noted of it, for the caller to fill in where it lies. (A record that is
  /// changed and then copied is waited for by the copy.)
  Record& gather(const Warp& warp, uint32_t lanes, Pc pc, uint32_t offset) {
    gathered_.warp = &warp;
    gathered_.lanes = lanes;
    gathered_.lines.add(offset);
    Stores::One& one = gathered_.each.emplace_back();
    one.pc = pc;
    one.offset = offset;
    return one.record;
  }
  /// May these bytes be those of a live mbarrier?
  bool near_barriers(const Cta& cta, uint32_t offset, uint32_t bytes) const {
    return live_[rank_of(cta)].near(offset, bytes);
  }
  /// Reports an access to the bytes of a live mbarrier by anything but mbarrier operations.
  void spare_barriers(Pc pc, const Warp& warp, const Cta& cta, uint32_t offset, uint32_t bytes, bool write,
                      const Record& record);
  /// The 8 bytes of a barrier, as its init and its end write them.
  void write_barrier(Thread& thread, Pc pc, const Barrier& barrier, const char* operation);
  void settle_stores() {
    if (gathered_.warp != nullptr) check_stores();
  }
  void check_stores();
  /// A thread's tcgen05 work on some columns: later work on them is ordered behind.
  struct TensorWork {
    WorkRef work;
    uint32_t column = 0, columns = 0;
    bool copy = false;
  };
  struct TensorThread {
    Batch batch;
    std::vector<TensorWork> works;
  };

  /// The number of a warp's first thread in the cluster.
  static size_t first_thread(const Warp& warp);
  Agent agent(const Thread& thread) const;
  Agent agent(const Warp& warp, uint8_t lane = 0) const;
  const Warp& warp_of(uint32_t slot) const;
  /// `object`: the barrier that is told of its end.
  uint32_t site(Pc pc, const Warp& warp, uint32_t lanes, const char* operation, const Barrier* object = nullptr);
  void touch(Pc pc, const Warp& warp, Shadow& shadow, uint32_t first, uint32_t count, bool write, const Viewpoint& view,
             const Record& record, bool tensor, const Alike* alike = nullptr);
  void touch_shared(Pc pc, const Warp& warp, const Cta& cta, uint32_t offset, uint32_t bytes, bool write,
                    const Viewpoint& view, const Record& record, const Alike* alike = nullptr) {
    settle_stores();
    touch(pc, warp, shared_[rank_of(cta)], offset, bytes, write, view, record, false, alike);
    if (near_barriers(cta, offset, bytes)) spare_barriers(pc, warp, cta, offset, bytes, write, record);
  }
  /// Of a thread's store to its own CTA's memory.
  class AlikeStores;
  void note_store(Agent agent, const Record& store);
  void touch_cells(Pc pc, const Warp& warp, uint32_t first_cta, const std::vector<CellRun>& runs, bool write,
                   const Viewpoint& view, const Record& record);
  static uint32_t rank_of(const Cta& cta);
  void learn(const Warp& warp, const KnowledgeRef& news);
  void flush(Batch& batch);
  void allocation_changes(const Warp& warp, Pc pc, const char* operation);
  void issue_tensor(AsyncOp& op);
  void issue_commit(AsyncOp& op);
  void issue_global(const AsyncOp& op, uint32_t at);
  GlobalAccess global_access_of(const Warp& warp, const Stamp& stamp, uint32_t at, Touch touch, Proxy proxy);
  void touch_global(Pc pc, const Warp& warp, const void* begin, size_t bytes, const GlobalAccess& access, uint8_t lane,
                    const Viewpoint& view, const AsyncOp* store = nullptr, bool same = false);
  [[nodiscard]] bool leaves_the_same(const AsyncOp& store, const GlobalConflict& conflict) const;
  void acquire(Thread& thread, std::span<const GlobalMemory::Release> releases);
  Work begin_write(Agent issuer, const Cta& cta, uint32_t offset, uint32_t bytes, Tells tells);
  /// The moment of a thread's access to shared memory.
  Record record_of(const Thread& thread, const Cta& owner, const Viewpoint& view, uint32_t site);
  void usable(Pc pc, const Warp& warp, uint32_t lanes, const Barrier& barrier, const Viewpoint& view, bool async,
              const char* operation);
  Order::BarrierId number_of(const NamedBarrier& barrier);
  size_t add_point(Pc pc, const char* operation, const Decision& decision);
  /// Two updates of the same bytes that come in either order, and it shows which.
  void updated(const Conflict& conflict, const Shadow& shadow);
  void updated(const GlobalConflict& conflict);
  void updated(const void* word, uint32_t bytes, Pc pc, const char* operation, bool answers);
  void settle_tests(Order::BarrierId id);
  void note_alias(Order::BarrierId id, const Asked& asked, uint64_t phases, const Stamp& by, Pc pc);

  /// Something that reads, writes or signals in the shared memory of a CTA, and may do so for as long as no thread
  /// there knows that it is over.
  struct Incoming {
    Stamp stamp;
    Pc pc = nullptr;
    const Warp* warp = nullptr;
    uint32_t lanes = 0;
    const char* operation = "";
    const char* code = "EXIT-REMOTE";
    const Barrier* barrier = nullptr;  ///< that is told of its end
  };
  void came_into(const Cta& cta, const Incoming& incoming);
  /// All CTAs whose memory the work reads or writes, or whose barrier it signals.
  void came_into(const AsyncOp& op, const char* operation);

  // watch_report.cpp
  void report(Pc pc, const Warp& warp, const Conflict& conflict, const Shadow* shared);
  void report(const Order::Violation& violation);
  std::string name_of(Order::BarrierId id) const;
  /// " (ring input, slot 2)", where a copy into these bytes completes on a barrier of a ring.
  [[nodiscard]] std::string slot_of(const Shadow& shadow, uint32_t offset) const;
  [[nodiscard]] const Barrier* slot_barrier(const Shadow& shadow, uint32_t offset) const;
  [[nodiscard]] std::optional<OtherSide> release_of(const Shadow& shadow, const Conflict& conflict) const;
  [[nodiscard]] OtherSide side_of(const Record& record, bool writes) const;
  /// The record with the place of the store that wrote these bytes.
  [[nodiscard]] Record placed(Record record, const Shadow& shadow, uint32_t offset) const;

  Cluster& cluster_;
  uint32_t warps_per_cta_;
  Order order_;
  std::vector<Shadow> shared_, tensor_;          ///< one per CTA
  std::vector<std::vector<Incoming>> incoming_;  ///< into each CTA, that no thread that left it knew of
  Footprints footprints_;
  std::vector<Site> sites_;
  std::unordered_map<uint64_t, uint32_t> site_index_;
  std::array<std::pair<uint64_t, uint32_t>, 256> recent_sites_ = {};
  std::vector<BarrierNotes> barriers_;
  /// The live mbarriers of a CTA, by offset, and how many there are in each line of shared memory.
  struct LiveBarriers {
    static constexpr uint32_t line_bytes = 128, most_lines = 8;
    std::map<uint32_t, const Barrier*> at;
    std::vector<uint8_t> lines;

    void add(const Barrier& barrier);
    void remove(const Barrier& barrier);
    /// Whether there could be one among those bytes: asked of every access, so that few lines are looked at.
    bool near(uint32_t offset, uint32_t bytes) const {
      if (bytes > most_lines * line_bytes) return !at.empty();
      const auto end = std::min<size_t>((offset + bytes + line_bytes - 1) / line_bytes, lines.size());
      for (size_t line = offset / line_bytes; line < end; ++line)
        if (lines[line] != 0) return true;
      return false;
    }
  };
  std::vector<LiveBarriers> live_;
  /// Where copies to a CTA land, and the barrier they complete on: [CTA][offset].
  struct Slot {
    uint32_t bytes = 0;
    const Barrier* barrier = nullptr;
  };
  std::vector<std::map<uint32_t, Slot>> slots_;
  std::unordered_map<const NamedBarrier*, Order::BarrierId> named_;
  Order::BarrierId cluster_barrier_ = 0;
  std::unordered_map<const Thread*, TensorThread> tensor_threads_;
  std::unordered_map<const Thread*, std::vector<WorkRef>> copies_;  ///< cp.async that no arrival has told of
  /// What a warp's wgmmas may rely on, until it does something else.
  struct WgmmaIssuer {
    uint32_t tick = 0;
    std::shared_ptr<const WarpIssue> relies;
  };
  std::vector<WgmmaIssuer> wgmma_issuers_;       ///< one per warp of the cluster
  std::unordered_map<uint64_t, Stamp> writers_;  ///< the last work that wrote some bytes of shared memory, by place
  std::vector<Batch> wgmmas_;                    ///< one per warpgroup of the cluster
  Stores gathered_;
  /// Units of a CTA's shared memory: by which store they were written last, of those that were gathered; and by which
  /// stmatrix, counted through the run.
  struct Unit {
    uint32_t site = 0, instruction = 0;
  };
  std::vector<std::vector<Unit>> units_;
  uint32_t instructions_ = 0;
  bool names_a_unit_twice(const Cta& cta, std::span<const uint32_t> offsets);
  std::vector<bool> released_;                           ///< threads of the cluster: by a release fence
  std::vector<std::pair<uint32_t, Stamp>> fresh_inits_;  ///< barriers whose init no fence has followed
  const AsyncOp* delivering_ = nullptr;
  /// Of a warp: its latest arrival that told nothing of what its threads had written.
  struct Mute {
    Pc pc = nullptr;
    uint32_t lanes = 0;
    Order::BarrierId barrier = 0;
  };
  std::vector<Mute> mute_;  ///< by warp
  void note_mute(uint32_t warp, const Mute& mute) {
    if (mute_.size() <= warp) mute_.resize(warp + 1);
    mute_[warp] = mute;
  }
  /// What it did, for a report: every arrival notes one, and few are told.
  std::string text_of(const Mute& mute) const;
  std::vector<std::optional<Stamp>> allocations_;  ///< of each CTA's tensor memory: the latest change
  struct Visit {
    Agent agent;
    Stamp stamp;
    size_t point = 0;
  };
  std::vector<PointNote> points_;
  /// try_cancel of the threads of each CTA: the latest of each.
  std::vector<std::vector<Incoming>> cancels_;
  std::vector<std::optional<Order::BarrierId>> exits_;  ///< of the threads of each CTA, where there were any
  std::vector<std::vector<Stamp>> grid_waits_;          ///< of each CTA
  /// setmaxnreg of the warps of each CTA.
  struct RegisterPool {
    struct Change {
      Stamp stamp;
      uint64_t count = 0;
      uint64_t supply = 0;   ///< of an increase: what is given back before it, and never depends on another
      uint64_t demand = 0;   ///< ... what it and those that may come before it take
      bool depends = false;  ///< of a decrease: it comes after an increase
      size_t point = 0;
    };
    std::vector<Change> increases, decreases;
  };
  std::vector<RegisterPool> pools_;
  std::unordered_map<const void*, std::vector<Visit>> visits_;
  std::unordered_map<const void*, KnowledgeRef> words_;  ///< what atomics on them have told
  std::unique_ptr<GlobalMemory> own_global_;
  GlobalMemory* global_ = nullptr;
  /// What a thread's fences make of its atomics: those before one acquire with it, those after it release with it.
  struct FenceNotes {
    std::vector<GlobalMemory::Release> found;  ///< by atomics that acquire nothing
    std::vector<GlobalMemory::Release> told;   ///< at its latest fences
  };
  std::unordered_map<const Thread*, FenceNotes> fence_notes_;
  std::unordered_map<const Thread*, std::vector<uint32_t>> stores_;  ///< groups that nobody has waited for to the end
  Recorder* recorder_ = nullptr;                                     ///< of tests of the checker
};

}  // namespace check
}  // namespace warploom::loom
