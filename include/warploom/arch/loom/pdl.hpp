// The loom side of arch/pdl.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN void grid_dependency_wait() noexcept { native::grid_dependency_wait(); }
WARPLOOM_FN void grid_launch_dependents() noexcept { native::grid_launch_dependents(); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
