// Who waits for whom when nothing can go on: a cycle, or the one that waits for somebody who does not come.
#pragma once

#include <string>
#include <vector>

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

/// A warp, and what it waits for: `object`, which `from` should bring.
struct Edge {
  const Warp* warp = nullptr;
  std::string object;
  std::vector<const Warp*> from;
};
std::vector<Edge> edges(const Cluster& cluster);
/// One whose suppliers do not wait at an mbarrier, or nobody.
const Edge* root(const std::vector<Edge>& list);
/// The cycle or its beginning, and how the rings stand that threads wait for.
std::vector<std::string> notes(const Cluster& cluster);

}  // namespace warploom::loom
