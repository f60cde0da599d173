// The GPU side of arch/cluster.hpp.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN void cluster_arrive() noexcept { ::cuda::ptx::barrier_cluster_arrive(::cuda::ptx::sem_release); }
WARPLOOM_FN void cluster_arrive_relaxed() noexcept { ::cuda::ptx::barrier_cluster_arrive(::cuda::ptx::sem_relaxed); }
WARPLOOM_FN void cluster_wait() noexcept { ::cuda::ptx::barrier_cluster_wait(::cuda::ptx::sem_acquire); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
