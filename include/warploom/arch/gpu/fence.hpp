// The GPU side of arch/fence.hpp.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN void fence_cta() noexcept { ::cuda::ptx::fence(::cuda::ptx::sem_acq_rel, ::cuda::ptx::scope_cta); }
WARPLOOM_FN void fence_system() noexcept { ::cuda::ptx::fence(::cuda::ptx::sem_acq_rel, ::cuda::ptx::scope_sys); }
WARPLOOM_FN void fence_cluster() noexcept { ::cuda::ptx::fence(::cuda::ptx::sem_acq_rel, ::cuda::ptx::scope_cluster); }
WARPLOOM_FN void fence_proxy_async() noexcept { ::cuda::ptx::fence_proxy_async(); }
WARPLOOM_FN void fence_shared_release() noexcept {
  ::cuda::ptx::fence_sync_restrict(::cuda::ptx::sem_release, ::cuda::ptx::space_shared, ::cuda::ptx::scope_cluster);
}
WARPLOOM_FN void fence_shared_acquire() noexcept {
  ::cuda::ptx::fence_sync_restrict(::cuda::ptx::sem_acquire, ::cuda::ptx::space_cluster, ::cuda::ptx::scope_cluster);
}
WARPLOOM_FN void fence_proxy_async_release() noexcept {
  ::cuda::ptx::fence_proxy_async_generic_sync_restrict(::cuda::ptx::sem_release, ::cuda::ptx::space_shared,
                                                       ::cuda::ptx::scope_cluster);
}
WARPLOOM_FN void fence_proxy_async_acquire() noexcept {
  ::cuda::ptx::fence_proxy_async_generic_sync_restrict(::cuda::ptx::sem_acquire, ::cuda::ptx::space_cluster,
                                                       ::cuda::ptx::scope_cluster);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
