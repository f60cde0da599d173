// Where warps meet: named barriers between groups of warps (tensor-memory hand-off, writers), and a whole cluster.
//
//   using Sync = WarpGroupBarrier<160, 1>;    // 160 threads, barrier 1
//   Sync::arrive();                           // one side goes on ...
//   Sync::wait();                             // ... the other waits for it
#pragma once

#include "warploom/arch/annotate.hpp"
#include "warploom/arch/cluster.hpp"
#include "warploom/arch/named_barrier.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// `num_threads` threads meet at named barrier `barrier_id`. Warp-collective.
template <int num_threads, int barrier_id>
struct WarpGroupBarrier {
  static constexpr int threads = num_threads;
  static constexpr int id = barrier_id;
  static_assert(num_threads % 32 == 0, "warploom: a named barrier counts whole warps");
  static WARPLOOM_FN void arrive() noexcept { arch::bar_arrive(barrier_id, num_threads); }  ///< does not wait
  static WARPLOOM_FN void wait() noexcept { arch::bar_sync(barrier_id, num_threads); }
  static WARPLOOM_FN void sync() noexcept { wait(); }
  template <class Label>
  static WARPLOOM_FN void name() noexcept {
    arch::name_named_barrier<Label>(barrier_id);
  }
};

/// Every thread of the cluster, of the CTA where it is alone; `init` where only mbarriers were written, and are fenced.
template <class Cluster, bool init = false>
WARPLOOM_FN void meet() noexcept {
  if constexpr (Cluster::size > 1)
    init ? arch::cluster_arrive_relaxed() : arch::cluster_arrive(), arch::cluster_wait();
  else
    arch::syncthreads();
}

}  // namespace warploom::inline WARPLOOM_MACHINE
