// Both sides of the two-stage copy, for tools/free_of_cost.py.
#include "../../examples/two_stage_copy_kernel.hpp"
#include "side.cuh"
#include "two_stage_copy_twin.hpp"

namespace warploom {

using CopyTwin = twins::TwoStageCopyTwin<examples::TwoStageCopyParams>;

WARPLOOM_SIDE(two_stage_copy, examples::TwoStageCopy)
WARPLOOM_SIDE(two_stage_copy_twin, CopyTwin)

}  // namespace warploom
