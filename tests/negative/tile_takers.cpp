// Tiles of a dynamic schedule are taken by a role that is not in its list, or the list begins with a role that cannot
// set the pace.
#include "misuse.hpp"
#include "warploom/schedule/clc.hpp"

using namespace misuse;

#if defined(WARPLOOM_POSITIVE)
using Takers = freed_by<one_thread<Load, to_first>, lane_per_warp<Epilogue, to_first>>;
using Taker = Epilogue;
#elif defined(TAKERS_STRANGER)
using Takers = freed_by<one_thread<Load, to_first>, lane_per_warp<Epilogue, to_first>>;
using Taker = Mma;
#elif defined(TAKERS_PACE)
using Takers = freed_by<lane_per_warp<Epilogue, to_first>, one_thread<Load, to_first>>;
using Taker = Epilogue;
#endif
using Schedule = ClcScheduler<ClusterShape<1, 1, 1>, 2, Takers>;

MISUSE_ENTRY take(Schedule::Storage& storage, int* sum) {
  const Schedule schedule(storage, 4, 4, 1);
  for (Tile tile : schedule.tiles<Taker>()) *sum += tile.m;
}
