// The loom side of arch/cluster.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN void cluster_arrive() noexcept { native::cluster_arrive(true); }
WARPLOOM_FN void cluster_arrive_relaxed() noexcept { native::cluster_arrive(false); }
WARPLOOM_FN void cluster_wait() noexcept { native::cluster_wait(); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
