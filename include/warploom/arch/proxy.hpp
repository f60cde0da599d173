// Fences between the generic and the async proxy (hardware.md §1.6, §2.6).
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// fence.proxy.async.shared::cta: orders this thread's plain shared-memory accesses before later asynchronous ones.
/// Executed by the threads that made the accesses, before the barrier that hands the memory over.
WARPLOOM_FN void fence_proxy_async_shared() noexcept;
/// fence.proxy.async.global
WARPLOOM_FN void fence_proxy_async_global() noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/proxy.hpp"
#else
#include "warploom/arch/loom/proxy.hpp"
#endif
