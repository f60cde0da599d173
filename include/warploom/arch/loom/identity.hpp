// The loom side of arch/identity.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN uint32_t thread_index() noexcept { return native::self().thread; }
WARPLOOM_FN uint32_t warp_index() noexcept { return native::self().warp; }
WARPLOOM_FN uint32_t lane_index() noexcept { return native::self().lane; }
WARPLOOM_FN Dim3 block_index() noexcept { return native::self().block; }
WARPLOOM_FN Dim3 grid_dim() noexcept { return native::self().grid; }
WARPLOOM_FN uint32_t cluster_rank() noexcept { return native::self().cluster_rank; }
WARPLOOM_FN Dim3 cluster_index() noexcept { return native::self().cluster; }
WARPLOOM_FN Dim3 cluster_count() noexcept { return native::self().clusters; }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
