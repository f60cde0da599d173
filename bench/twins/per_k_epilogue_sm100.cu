// Both sides of the per-K loop, for tools/free_of_cost.py: on one SM and on a pair of CTAs.
#include "../../examples/per_k_epilogue_kernel.hpp"
#include "per_k_epilogue_twin.hpp"
#include "side.cuh"

namespace warploom {

template <int group>
using PerK = examples::PerKEpilogue<ClusterShape<group, group, 1>>;
template <int group>
using PerKTwin = twins::PerKEpilogueTwin<examples::PerKEpilogueParams, group>;

WARPLOOM_SIDE(per_k_1sm, PerK<1>)
WARPLOOM_SIDE(per_k_1sm_twin, PerKTwin<1>)
WARPLOOM_SIDE(per_k_2sm, PerK<2>)
WARPLOOM_SIDE(per_k_2sm_twin, PerKTwin<2>)

}  // namespace warploom
