// The checker's part for asynchronous work: copies, tensor cores, tensor memory.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loom/observe/check/footprint.hpp"
#include "loom/observe/check/watch_barriers.hpp"

namespace warploom::loom::check {

class WatchWork : public WatchBarriers {
 public:
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

 protected:
  explicit WatchWork(Cluster& cluster);

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
  void learn(const Warp& warp, const KnowledgeRef& news);
  void flush(Batch& batch);
  void allocation_changes(const Warp& warp, Pc pc, const char* operation);
  void issue_tensor(AsyncOp& op);
  void issue_commit(AsyncOp& op);
  Work begin_write(Agent issuer, const Cta& cta, uint32_t offset, uint32_t bytes, Tells tells);
  Footprints footprints_;
  std::unordered_map<const Thread*, TensorThread> tensor_threads_;
  std::unordered_map<const Thread*, std::vector<WorkRef>> copies_;  ///< cp.async that no arrival has told of
  /// What a warp's wgmmas may rely on, until it does something else.
  struct WgmmaIssuer {
    uint32_t tick = 0;
    std::shared_ptr<const WarpIssue> relies;
  };
  std::vector<WgmmaIssuer> wgmma_issuers_;         ///< one per warp of the cluster
  std::unordered_map<uint64_t, Stamp> writers_;    ///< the last work that wrote some bytes of shared memory, by place
  std::vector<Batch> wgmmas_;                      ///< one per warpgroup of the cluster
  std::vector<std::optional<Stamp>> allocations_;  ///< of each CTA's tensor memory: the latest change
};

}  // namespace warploom::loom::check
