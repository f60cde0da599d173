// The less common fences of hardware.md §1.6: between the proxies in one direction, and for a cluster's shared memory.
// arch/proxy.hpp has those that kernels need every day.
//
//   fence_proxy_async_release();  cluster_arrive_relaxed();      // what this thread did in its own shared memory ...
//   cluster_wait();  fence_proxy_async_acquire();                // ... comes before async work of the cluster
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// fence.acq_rel.{cta,cluster,sys}; fence.acq_rel.gpu is in arch/atomic.hpp
WARPLOOM_FN void fence_cta() noexcept;
WARPLOOM_FN void fence_cluster() noexcept;
WARPLOOM_FN void fence_system() noexcept;
/// fence.proxy.async: both directions, every state space
WARPLOOM_FN void fence_proxy_async() noexcept;
/// fence.release.sync_restrict::shared::cta.cluster
WARPLOOM_FN void fence_shared_release() noexcept;
/// fence.acquire.sync_restrict::shared::cluster.cluster
WARPLOOM_FN void fence_shared_acquire() noexcept;
/// fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster
WARPLOOM_FN void fence_proxy_async_release() noexcept;
/// fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster
WARPLOOM_FN void fence_proxy_async_acquire() noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/fence.hpp"
#else
#include "warploom/arch/loom/fence.hpp"
#endif
