// The checker's part for what orders threads: barriers of all kinds, fences, atomics and tests.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loom/observe/check/watch_memory.hpp"

namespace warploom::loom::check {

class WatchBarriers : public WatchMemory {
 public:
  /// `release`: one that makes a relaxed arrival at the cluster barrier tell what the thread has done. `own_cta`: about
  /// the shared memory of the thread's own CTA only (.shared::cta).
  void fence_proxy_async(Thread& thread, bool release, bool own_cta);
  /// fence.release of shared memory, for the cluster.
  void fence_shared_release(Thread& thread);
  void tensor_fence(Thread& thread, bool before);
  void fence_mbarrier_init(Thread& thread);
  struct Strong {
    Update update = Update::answers;
    MemoryOrder order = MemoryOrder::acq_rel;
    MemoryScope scope = MemoryScope::gpu;
    const char* operation = "";
  };
  void shared_atomic(Thread& thread, Pc pc, const Cta& owner, uint32_t offset, uint32_t bytes, const Strong& strong);
  void global_atomic(Thread& thread, Pc pc, const void* word, size_t bytes, const Strong& strong);
  /// fence.acq_rel
  void fence(Thread& thread, MemoryScope scope);
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
  /// The cluster barrier and __syncthreads count the threads that have not exited. `arrived`: at the cluster barrier,
  /// in the phase under way.
  void left_barriers(const Thread& thread, bool arrived);
  /// A test for a phase. Not for one whose answer is only a hint.
  void tested(Thread& thread, Pc pc, const Barrier& barrier, const Asked& asked, bool answer, const Decision& decision);
  /// Does the end of the barrier's last phase come before what the thread does now, under every schedule?
  bool knows_end(const Thread& thread, const Barrier& barrier) const;
  /// How many of its phases are complete when the thread comes here, in every schedule.
  uint64_t least_phases(const Thread& thread, const Barrier& barrier) const;

 protected:
  explicit WatchBarriers(Cluster& cluster);

  /// The 8 bytes of a barrier, as its init and its end write them.
  void write_barrier(Thread& thread, Pc pc, const Barrier& barrier, const char* operation);
  void acquire(Thread& thread, std::span<const SyncWords::Release> releases);
  /// What an operation with an order learns at a word before it, and tells there after it.
  void acquire_at(Thread& thread, const SyncWords& words, const void* word, size_t bytes, const Strong& strong);
  void release_at(Thread& thread, SyncWords& words, const void* word, size_t bytes, const Strong& strong);
  void usable(Pc pc, const Warp& warp, uint32_t lanes, const Barrier& barrier, const Viewpoint& view, bool async,
              const char* operation);
  Order::BarrierId number_of(const NamedBarrier& barrier);
  void settle_tests(Order::BarrierId id);
  void note_alias(Order::BarrierId id, const Asked& asked, uint64_t phases, const Stamp& by, Pc pc);
  std::unordered_map<const NamedBarrier*, Order::BarrierId> named_;
  std::vector<std::pair<uint32_t, Stamp>> fresh_inits_;  ///< barriers whose init no fence has followed
  std::vector<std::optional<Order::BarrierId>> exits_;   ///< of the threads of each CTA, where there were any
  SyncWords words_;                                      ///< of shared memory, by where the machine keeps it
  /// What a thread's fences make of its atomics: those before one acquire with it, those after it release with it.
  struct FenceNotes {
    std::vector<SyncWords::Release> found;  ///< by atomics that acquire nothing
    std::vector<SyncWords::Release> told;   ///< at its latest fences
  };
  std::unordered_map<const Thread*, FenceNotes> fence_notes_;
};

}  // namespace warploom::loom::check
