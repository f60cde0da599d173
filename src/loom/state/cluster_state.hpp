// What a cluster keeps for the instructions whose effects reach across its threads: one small struct for each family,
// changed by the files of isa/ and exec/ that it names. All of it is passive.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "loom/observe/check/knowledge.hpp"
#include "loom/state/async_op.hpp"
#include "loom/state/launch_context.hpp"
#include "loom/units/mma_sum.hpp"
#include "warploom/loom/schedule.hpp"

namespace warploom::loom {

/// barrier.cluster (isa/cluster_barrier.cpp).
struct ClusterBarrier {
  uint32_t arrived = 0;
  uint64_t phase = 0;
  uint64_t time = 0;
  std::vector<Thread*> waiters;
};

/// tcgen05 (isa/tcgen05.cpp, isa/tensor_memory.cpp).
struct TensorState {
  int cta_group = 0;         ///< of the kernel's tcgen05 work: one value for all of it
  std::vector<MmaSum> sums;  ///< of executed tcgen05.mma
  /// TMEM rendezvous of pairs: [2 * pair, + 1 for dealloc] -> the warp that came first
  struct PairWait {
    Warp* warp = nullptr;
    Pc pc = nullptr;
    uint32_t value = 0;
    uint32_t slot = 0;
  };
  std::map<uint32_t, PairWait> pair_waits;
  /// A tcgen05.alloc that waits for columns; `peer` is the other CTA's warp of a pair.
  struct AllocRequest {
    Warp* warp = nullptr;
    Warp* peer = nullptr;
    Pc pc = nullptr;
    uint32_t columns = 0;
    uint32_t slot = 0;
    uint32_t peer_slot = 0;
  };
  std::vector<AllocRequest> alloc_waiters;
};

/// setmaxnreg.inc that waits for registers (isa/setmaxnreg.cpp).
struct RegisterWait {
  Warp* warp = nullptr;
  uint32_t count = 0;
};

/// clusterlaunchcontrol (isa/launch_control.cpp).
struct LaunchControl {
  ProcessorQueue* queue = nullptr;                      ///< the processor's, for launches with launch control
  std::vector<std::shared_ptr<CancelRequest>> granted;  ///< requests that canceled a cluster
  uint32_t canceled = 0;                                ///< clusters that were canceled for this one
};

/// griddepcontrol (isa/grid_dependency.cpp).
struct GridDependency {
  bool early = false;      ///< grids before this one count as unfinished
  bool triggered = false;  ///< griddepcontrol.launch_dependents was executed
  std::vector<Thread*> waiters;
};

/// A tensor map in global memory that this cluster has changed, and who has fenced since (isa/tensor_map.cpp).
struct ChangedMap {
  struct Fence {
    const Thread* thread = nullptr;
    std::optional<check::Stamp> at = {};  ///< with the checker
  };
  bool released = false;           ///< by tensormap.cp_fenceproxy, or by a fence after the change
  std::optional<check::Stamp> at;  ///< its change or its release, with the checker
  std::vector<Fence> fences;       ///< that acquire it
};

/// Threads that ask an mbarrier again and again (isa/mbarrier_test.cpp).
struct Polls {
  std::vector<Thread*> waiting;     ///< whose test failed: they run again when nothing else can
  std::vector<Thread*> activating;  ///< that ask who is active with them
  uint64_t failed = 0;
  uint64_t productive_steps = 0;
  uint32_t idle_rounds = 0;
  uint32_t answered = 0;  ///< with the truth or not
};

/// Warps that have deferred operations, and who sees to them (front/deferred.cpp).
struct DeferredWork {
  std::vector<Warp*> continuing;  ///< the phase has completed that their deferred operations waited for
  bool continues = false;         ///< somebody sees to them
  uint32_t turn_depth = 0;        ///< MachineTurns, one inside the other
};

/// Points at which the schedule decides something (exec/choices.cpp).
struct Choices {
  uint32_t next_point = 0;
  struct Held {
    Thread* thread = nullptr;
    const void* object = nullptr;
    bool ordered = false;  ///< goes on when nothing else can run and its turn has come
  };
  std::vector<Held> held;
  std::vector<Held> spinners;       ///< threads that ask an atomic over and over, at their words; or several, nullptr
  uint64_t spun_at = ~uint64_t{0};  ///< so many productive steps were made when they last went on
  /// Objects whose visitors go in an order that the schedule names.
  struct Ordered {
    const void* object = nullptr;
    uint32_t order = 0;
  };
  std::vector<Ordered> ordered;
  /// Who has come to an object, of a checked run.
  struct Visitor {
    const void* object = nullptr;
    const Thread* thread = nullptr;
    uint32_t point = 0;
  };
  std::vector<Visitor> visitors;
  /// A question that the schedule answers with no.
  struct Denied {
    const Thread* thread = nullptr;
    const Barrier* barrier = nullptr;
    uint64_t phases = 0;
    uint32_t times = 0;
  };
  std::vector<Denied> denied;
};

}  // namespace warploom::loom
