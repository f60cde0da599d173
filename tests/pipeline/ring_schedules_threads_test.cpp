// Rings that threads fill (each of them, one, one lane per warp, by cp.async, by a commit), freed by every policy and
// target, in small clusters and in CTA pairs.
#include "pipeline/ring_schedules_kernel.hpp"

namespace warploom::test {
namespace {

using C1x1 = ClusterShape<1, 1, 1>;
using C2x1 = ClusterShape<1, 2, 1>;
using C1x2 = ClusterShape<1, 1, 2>;
using C2x2 = ClusterShape<1, 2, 2>;
using Pair = ClusterShape<2, 2, 1>;
using TwoPairs = ClusterShape<2, 2, 2>;
using R1 = Readers<1>;
using R2 = Readers<2>;
template <class Shape, class Filler, class Freer, int stages>
using Threads = RingSchedules<Shape, typename TargetOf<Filler>::type, Filler, Freer, stages>;

UNDER_SCHEDULES(ThreadRing, EveryThread, Threads<C1x1, every_thread<Writer>, lane_per_warp<R2>, 2>)
UNDER_SCHEDULES(ThreadRing, LanePerWarp, Threads<C1x1, lane_per_warp<Writer>, every_thread<R1>, 3>)
UNDER_SCHEDULES(ThreadRing, OneThread, Threads<C1x1, one_thread<Writer>, one_thread<R1>, 1>)
UNDER_SCHEDULES(ThreadRing, Copies, Threads<C1x1, cp_async_arrive<Writer>, every_thread<R1>, 2>)
UNDER_SCHEDULES(ThreadRing, CopiesLanePerWarp, Threads<C1x1, cp_async_arrive<Writer>, lane_per_warp<R2>, 3>)
UNDER_SOME_SCHEDULES(ThreadRing, Copies1x2, Threads<C1x2, cp_async_arrive<Writer>, lane_per_warp<R1>, 2>)
UNDER_SCHEDULES(ThreadRing, EveryThreadToColumn2x1,
                Threads<C2x1, every_thread<Writer, to_column>, every_thread<R1, to_column>, 2>)
UNDER_SCHEDULES(ThreadRing, LanePerWarpToCluster2x1,
                Threads<C2x1, lane_per_warp<Writer, to_cluster>, lane_per_warp<R2, to_cluster>, 3>)
UNDER_SCHEDULES(ThreadRing, OneThreadToRow1x2, Threads<C1x2, one_thread<Writer, to_row>, lane_per_warp<R1, to_row>, 2>)
UNDER_SCHEDULES(ThreadRing, OneThreadToSources2x2,
                Threads<C2x2, one_thread<Writer, to_operand_sources>, one_thread<R1, to_operand_sources>, 3>)
UNDER_SCHEDULES(ThreadRing, LanePerWarpToRow2x2,
                Threads<C2x2, lane_per_warp<Writer, to_row>, every_thread<R1, to_row>, 2>)

UNDER_SCHEDULES(PairRing, OneThreadToPair, Threads<Pair, one_thread<Writer, to_pair>, every_thread<R1, to_pair>, 2>)
UNDER_SCHEDULES(PairRing, EveryThreadToPair,
                Threads<Pair, every_thread<Writer, to_pair>, lane_per_warp<R1, to_pair>, 3>)
UNDER_SCHEDULES(PairRing, EveryThreadToLeader,
                Threads<Pair, mma_commit<Writer, to_pair>, every_thread<R1, to_pair_leader>, 2>)
UNDER_SCHEDULES(PairRing, OneThreadToLeader,
                Threads<Pair, mma_commit<Writer, to_pair>, one_thread<R1, to_pair_leader>, 1>)
UNDER_SCHEDULES(PairRing, LanePerWarpToLeaders,
                Threads<TwoPairs, mma_commit<Writer, to_pair>, lane_per_warp<R1, to_pair_leader>, 2>)
UNDER_SCHEDULES(PairRing, LanePerWarpToPairs,
                Threads<TwoPairs, lane_per_warp<Writer, to_pair>, one_thread<R1, to_pair>, 2>)

}  // namespace
}  // namespace warploom::test
