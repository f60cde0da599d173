// A tile that the CTAs of a cluster row cannot share in slices of eight rows.
#include "misuse.hpp"
#include "warploom/pipeline/payload.hpp"

using namespace misuse;

#if defined(WARPLOOM_POSITIVE)
constexpr int rows = 128;
#else
constexpr int rows = 64;
#endif

static_assert(BlockwiseFP8TilePayload<e4m3, e4m3, rows, 128, ClusterShape<1, 1, 16>>::tile_m == rows);
