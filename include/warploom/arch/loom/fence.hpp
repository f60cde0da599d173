// The loom side of arch/fence.hpp: memory is sequential here, so that fences are steps and nothing more.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN void fence_cta() noexcept { native::fence(MemoryScope::cta); }
WARPLOOM_FN void fence_system() noexcept { native::fence(MemoryScope::sys); }
WARPLOOM_FN void fence_cluster() noexcept { native::fence(MemoryScope::cluster); }
WARPLOOM_FN void fence_proxy_async() noexcept { native::fence_proxy_async(native::ProxyFence::all); }
WARPLOOM_FN void fence_shared_release() noexcept { native::fence_shared(true); }
WARPLOOM_FN void fence_shared_acquire() noexcept { native::fence_shared(false); }
WARPLOOM_FN void fence_proxy_async_release() noexcept { native::fence_proxy_async(native::ProxyFence::release); }
WARPLOOM_FN void fence_proxy_async_acquire() noexcept { native::fence_proxy_async(native::ProxyFence::acquire); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
