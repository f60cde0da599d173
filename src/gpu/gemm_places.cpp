#include <algorithm>
#include <map>
#include <vector>

#include "gpu/cluster_places.hpp"

namespace warploom::gpu {

ClusterPlaces places_by_group(std::span<const int> group) {
  ClusterPlaces made;
  if (group.empty() || group.size() > ClusterPlaces::most) return made;
  std::map<int, std::vector<int>> members;
  for (size_t c = 0; c < group.size(); ++c) members[group[c]].push_back(static_cast<int>(c));
  // As many of each as all have, group by group; what the larger ones have more comes last, or every group after them
  // would begin in the middle of a panel of tiles.
  size_t least = group.size();
  for (const auto& [which, clusters] : members) least = std::min(least, clusters.size());
  for (const bool more : {false, true})
    for (const auto& [which, clusters] : members)
      for (size_t i = more ? least : 0; i < (more ? clusters.size() : least); ++i)
        made.places[clusters[i]] = static_cast<uint8_t>(made.count++);
  return made;
}

}  // namespace warploom::gpu
