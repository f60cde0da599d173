// The order in which clusters begin, from where they run.
#include "gpu/cluster_places.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace warploom::gpu {
namespace {

std::vector<int> places_of(const std::vector<int>& group) {
  const ClusterPlaces made = places_by_group(group);
  EXPECT_EQ(made.count, static_cast<int>(group.size()));
  std::vector<int> places;
  for (int c = 0; c < made.count; ++c) places.push_back(made[c]);
  return places;
}

TEST(ClusterPlaces, NeighboursBeginBesideEachOther) {
  EXPECT_EQ(places_of({7, 3, 7, 3}), (std::vector<int>{2, 0, 3, 1}));
  // What one group has more than all comes last: every group begins at a multiple of two.
  EXPECT_EQ(places_of({0, 1, 2, 0, 1, 2, 0, 2}), (std::vector<int>{0, 2, 4, 1, 3, 5, 6, 7}));
}

TEST(ClusterPlaces, EveryPlaceIsTakenOnce) {
  std::vector<int> group;
  for (int c = 0; c < 66; ++c) group.push_back(c < 4 ? 5 : c * c % 8);
  std::vector<int> places = places_of(group);
  std::sort(places.begin(), places.end());
  for (int i = 0; i < 66; ++i) EXPECT_EQ(places[static_cast<size_t>(i)], i);
}

TEST(ClusterPlaces, NothingKnownIsTheOrderOfTheClusters) {
  EXPECT_EQ(ClusterPlaces{}[17], 17);
  EXPECT_EQ(places_by_group({}).count, 0);
  EXPECT_EQ(places_by_group(std::vector<int>(ClusterPlaces::most + 1)).count, 0);
}

}  // namespace
}  // namespace warploom::gpu
