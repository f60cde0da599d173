// The GPU side of arch/proxy.hpp.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN void fence_proxy_async_shared() noexcept { ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_shared); }
WARPLOOM_FN void fence_proxy_async_global() noexcept { ::cuda::ptx::fence_proxy_async(::cuda::ptx::space_global); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
