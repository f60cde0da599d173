// The derived counts and masks carry a kernel on every cluster shape, also on those that are not compiled ahead of
// time.
#include <gtest/gtest.h>

#include "warp/blockwise_launch.hpp"

namespace warploom::test {
namespace {

template <class Kernel>
void entry(const void* params) {
  Skeleton<Kernel>::run(*static_cast<const typename Kernel::Params*>(params));
}

template <class Cluster>
class Clusters : public testing::Test {};
using Shapes = testing::Types<ClusterShape<1, 1, 2>, ClusterShape<1, 2, 2>, ClusterShape<1, 4, 2>,
                              ClusterShape<2, 4, 1>, ClusterShape<2, 4, 2>>;
TYPED_TEST_SUITE(Clusters, Shapes);

// A border that cuts through the cluster: some of its CTAs have no rows, some no columns.
TYPED_TEST(Clusters, MultiplyOnePartlyEmptyClusterTile) {
  using Kernel = BlockwiseFP8<TypeParam>;
  Reference& r = reference(128 * TypeParam::m - 72, 128 * TypeParam::n - 56, 128 * (Kernel::stages + 2), Fill::integer);
  for (const loom::Schedule& schedule : {loom::Schedule{loom::Policy::lazy}, loom::Schedule{loom::Policy::random, 5}}) {
    SCOPED_TRACE(schedule.text());
    const loom::Outcome outcome = launch_blockwise<Kernel>(r.problem(), &entry<Kernel>, on(schedule));
    ASSERT_TRUE(outcome.ok()) << to_text(outcome.report);
    ASSERT_TRUE(r.right());
  }
}

}  // namespace
}  // namespace warploom::test
