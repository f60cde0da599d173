// The loom side of arch/proxy.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN void fence_proxy_async_shared() noexcept { native::fence_proxy_async(native::ProxyFence::shared); }
WARPLOOM_FN void fence_proxy_async_global() noexcept { native::fence_proxy_async(native::ProxyFence::global); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
