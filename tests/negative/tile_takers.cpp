// Tiles of a dynamic schedule are taken by a role that is not in its list, or the list begins with a role that cannot
// set the pace.
#include "misuse.hpp"
#include "warploom/schedule/clc.hpp"

using namespace misuse;

#if defined(WARPLOOM_POSITIVE)
using Takers = taken_by<elected_lane<Load>, whole_warps<Epilogue>>;
using Taker = Epilogue;
#elif defined(TAKERS_STRANGER)
using Takers = taken_by<elected_lane<Load>, whole_warps<Epilogue>>;
using Taker = Mma;
#elif defined(TAKERS_PACE)
using Takers = taken_by<whole_warps<Epilogue>, elected_lane<Load>>;
using Taker = Epilogue;
#elif defined(TAKERS_LANE_OF_MANY)
using Takers = taken_by<elected_lane<Epilogue>>;
using Taker = Epilogue;
#endif
using Schedule = ClcScheduler<ClusterShape<1, 1, 1>, 2, Takers>;

MISUSE_ENTRY take(Schedule::Storage& storage, int* sum) {
  const Schedule schedule(storage, 4, 4, 1);
  for (Tile tile : schedule.tiles<Taker>()) *sum += tile.m;
}
