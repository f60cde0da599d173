// The GPU side of arch/pdl.hpp, by the CUDA runtime's device functions.
#pragma once

#include <cuda_device_runtime_api.h>

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN void grid_dependency_wait() noexcept { ::cudaGridDependencySynchronize(); }
WARPLOOM_FN void grid_launch_dependents() noexcept { ::cudaTriggerProgrammaticLaunchCompletion(); }

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
