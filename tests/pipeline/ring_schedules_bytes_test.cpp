// Rings that bytes fill (TMA, multicast, armed from another CTA), freed by every policy and target, in small clusters.
#include "pipeline/ring_schedules_kernel.hpp"

namespace warploom::test {
namespace {

using C1x1 = ClusterShape<1, 1, 1>;
using C2x1 = ClusterShape<1, 2, 1>;
using C1x2 = ClusterShape<1, 1, 2>;
using C2x2 = ClusterShape<1, 2, 2>;
using R1 = Readers<1>;
using R2 = Readers<2>;
template <class Shape, class Reach, class Freer, int stages>
using Tma = RingSchedules<Shape, Reach, tma_bytes<Writer>, Freer, stages>;
template <class Shape, class Freer, int stages>
using Remote = RingSchedules<Shape, to_cluster, remote_expect<Writer>, Freer, stages>;

UNDER_SCHEDULES(TmaRing, EveryThread, Tma<C1x1, to_self, every_thread<R1>, 3>)
UNDER_SCHEDULES(TmaRing, LanePerWarp, Tma<C1x1, to_self, lane_per_warp<R2>, 2>)
UNDER_SCHEDULES(TmaRing, OneThread, Tma<C1x1, to_self, one_thread<R1>, 1>)
UNDER_SCHEDULES(TmaRing, Commit, Tma<C1x1, to_self, mma_commit<R1, to_self>, 2>)
UNDER_SCHEDULES(TmaRing, EveryThreadToColumn2x1, Tma<C2x1, to_column, every_thread<R1, to_column>, 2>)
UNDER_SCHEDULES(TmaRing, LanePerWarpToSources2x1,
                Tma<C2x1, to_operand_sources, lane_per_warp<R2, to_operand_sources>, 3>)
UNDER_SCHEDULES(TmaRing, CommitToColumn2x1, Tma<C2x1, to_column, mma_commit<R1, to_column>, 2>)
UNDER_SCHEDULES(TmaRing, LanePerWarpToRow1x2, Tma<C1x2, to_row, lane_per_warp<R1, to_row>, 2>)
UNDER_SCHEDULES(TmaRing, OneThreadToCluster1x2, Tma<C1x2, to_cluster, one_thread<R1, to_cluster>, 3>)
UNDER_SCHEDULES(TmaRing, OwnSlots2x2, Tma<C2x2, to_self, lane_per_warp<R1>, 2>)
UNDER_SCHEDULES(TmaRing, LanePerWarpToRow2x2, Tma<C2x2, to_row, lane_per_warp<R1, to_row>, 2>)
UNDER_SCHEDULES(TmaRing, OneThreadToColumn2x2, Tma<C2x2, to_column, one_thread<R1, to_column>, 3>)
UNDER_SCHEDULES(TmaRing, LanePerWarpToSources2x2,
                Tma<C2x2, to_operand_sources, lane_per_warp<R1, to_operand_sources>, 2>)
UNDER_SCHEDULES(TmaRing, CommitToSources2x2, Tma<C2x2, to_operand_sources, mma_commit<R1, to_operand_sources>, 3>)
UNDER_SCHEDULES(TmaRing, EveryThreadToCluster2x2, Tma<C2x2, to_cluster, every_thread<R1, to_cluster>, 2>)

UNDER_SCHEDULES(RemoteRing, EveryThreadToFirst2x1, Remote<C2x1, every_thread<R1, to_first>, 2>)
UNDER_SCHEDULES(RemoteRing, OneThreadToFirst1x2, Remote<C1x2, one_thread<R1, to_first>, 3>)
UNDER_SCHEDULES(RemoteRing, LanePerWarpToFirst2x2, Remote<C2x2, lane_per_warp<R2, to_first>, 2>)
UNDER_SCHEDULES(RemoteRing, CommitToFirst2x2, Remote<C2x2, mma_commit<R1, to_first>, 2>)

}  // namespace
}  // namespace warploom::test
