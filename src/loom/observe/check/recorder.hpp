// What a checked cluster does, kept as a list: every operation the checker is told of, in the order in which the
// machine executes it. The tests of the checker turn such lists into programs small enough to try every schedule of
// them (docs/verdict_evidence.md).
//
//   Recorder recorder;
//   {
//     Recorder::Listening on(recorder);                    // the first cluster that starts from here on
//     launch(config, entry, &params, tensors, options);    // options.check is set
//   }
//   recorder.operations ...
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "warploom/loom/report.hpp"

namespace warploom::loom {

struct AsyncOp;
struct Barrier;
class Cluster;
struct Cta;
struct NamedBarrier;
struct Thread;
struct TmemAccess;
struct Warp;
struct WgmmaInstruction;

namespace check {

/// Bytes of a CTA's shared memory, or cells of its tensor memory.
struct Region {
  uint32_t cta = 0;
  bool tensor = false;
  bool writes = false;
  uint32_t first = 0, count = 0;
};

struct Operation {
  enum class Kind : uint8_t {
    meet,    ///< the lanes are together
    access,  ///< by ordinary instructions; tensor memory is freed with one
    fence_proxy,
    tensor_before,
    tensor_after,
    arrive,
    arrive_relaxed,
    expect,
    arrive_expect,
    wait,    ///< passed: `phases` phases of the barrier are complete
    sync,    ///< arrives at a named barrier,
    passed,  ///< ... and waited there
    cluster_arrive,
    cluster_arrive_relaxed,
    cluster_wait,
    load,        ///< asynchronous: writes, then brings `bytes` to the barrier
    store,       ///< asynchronous: reads
    wait_store,  ///< the next `count` stores of the thread have been read
    multiply,    ///< tcgen05.mma
    commit,
    tensor_access,  ///< tcgen05.ld, st
    tensor_wait,
    wgmma,         ///< this warp's part of it
    wgmma_commit,  ///< of the warp
    wgmma_wait,    ///< the groups up to the `count`-th of the warp, from 0, are over
    unsupported,   ///< `note` says what
  };
  Kind kind = Kind::meet;
  uint32_t warp = 0;  ///< of the cluster
  uint32_t lanes = 0;
  uint32_t barrier = 0;
  uint64_t phases = 0;
  uint32_t count = 0;
  int64_t bytes = 0;
  std::vector<Region> regions = {};
  const char* note = "";
};

class Recorder {
 public:
  class Listening {
   public:
    explicit Listening(Recorder& recorder) { next_ = &recorder; }
    ~Listening() { next_ = nullptr; }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
  };
  /// Who records the cluster that starts now; null for nobody.
  static Recorder* take(Cluster& cluster);

  struct BarrierInfo {
    std::string name = {};
    uint32_t count = 0;  ///< arrivals of a phase; 0 where the operations tell
  };
  std::vector<Operation> operations;
  std::vector<BarrierInfo> barriers;
  uint32_t ctas = 0, warps_per_cta = 0;

  // ---- what the checker is told (watch.hpp)
  void synchronise(const Warp& warp, uint32_t mask);
  void access(const Thread& thread, const Cta& owner, uint32_t offset, uint32_t bytes, bool write);
  void access(const Warp& warp, uint32_t offset, uint32_t bytes, bool write);
  void fence_proxy(const Thread& thread);
  void tensor_fence(const Thread& thread, bool before);
  void signal(const Thread& thread, const Barrier& barrier, SignalKind kind, uint32_t arrivals, int64_t bytes,
              bool tells);
  void passed(const Thread& thread, const Barrier& barrier, uint64_t phases);
  void arrive(const Warp& warp, const NamedBarrier& barrier);
  void completed(const NamedBarrier& barrier, std::span<Warp* const> waiting);
  void cluster_arrive(const Thread& thread, bool tells);
  void cluster_passed(const Thread& thread);
  void issue(const AsyncOp& op);
  void learn(const Thread& thread, size_t stores);
  void wgmma(const Warp& warp, const WgmmaInstruction& op);
  void wgmma_commit(const Warp& warp);
  void wgmma_waited(const Warp& warp, const WgmmaInstruction& last);
  void tensor_freed(const Warp& warp, const Cta& cta, uint32_t column, uint32_t columns);
  void tensor_access(const Warp& warp, const TmemAccess& access);
  void tensor_waited(const Warp& warp);

 private:
  Operation& add(Operation::Kind kind, const Warp& warp, uint32_t lanes);
  Operation& add(Operation::Kind kind, const Thread& thread);
  uint32_t number_of(const void* barrier, const std::string& name, uint32_t count);

  static inline std::atomic<Recorder*> next_ = nullptr;
  std::unordered_map<const void*, uint32_t> numbers_;
};

}  // namespace check
}  // namespace warploom::loom
