// Programmatic dependent launch (hardware.md §6.8).
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// griddepcontrol.wait: earlier grids are complete and their memory visible. Every role that reads global memory calls
/// it.
WARPLOOM_FN void grid_dependency_wait() noexcept;
/// griddepcontrol.launch_dependents
WARPLOOM_FN void grid_launch_dependents() noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/pdl.hpp"
#else
#include "warploom/arch/loom/pdl.hpp"
#endif
