// K blocks in groups, of a payload whose scales are taken one block at a time.
#include "misuse.hpp"

using namespace misuse;

using Payload = BlockwiseFP8TilePayload<e4m3, e4m3, 128, 128, ClusterShape<1, 1, 1>>;
#if defined(WARPLOOM_POSITIVE)
constexpr int k_group = 1;
#else
constexpr int k_group = 2;
#endif
using Grouped = InputTilePipeline<Payload, 2, filled_by<tma_bytes<Load>>,
                                  freed_by<mma_commit<Mma, to_operand_sources>, lane_per_warp<Epilogue>>, k_group>;

static_assert(Grouped::num_stages == 2);
