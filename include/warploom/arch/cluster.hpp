// barrier.cluster (hardware.md §6.3): every thread of every CTA of the cluster arrives once per phase.
#pragma once

#include "warploom/arch/shared.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN void cluster_arrive() noexcept;          ///< barrier.cluster.arrive.release
WARPLOOM_FN void cluster_arrive_relaxed() noexcept;  ///< barrier.cluster.arrive.relaxed
WARPLOOM_FN void cluster_wait() noexcept;            ///< barrier.cluster.wait.acquire
WARPLOOM_FN void cluster_sync() noexcept {
  cluster_arrive();
  cluster_wait();
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/cluster.hpp"
#else
#include "warploom/arch/loom/cluster.hpp"
#endif
