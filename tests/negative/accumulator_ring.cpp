// Accumulator rings that tensor memory cannot hold, or whose stages are too narrow. -DRING_... says which.
#include "misuse.hpp"
#include "warploom/pipeline/payload.hpp"

using namespace misuse;

#if defined(WARPLOOM_POSITIVE)
constexpr OutputPipelineConfig config{.num_stages = 4, .stage_stride_cols = 128, .cta_group = 1};
#elif defined(RING_TOO_LARGE)
constexpr OutputPipelineConfig config{.num_stages = 5, .stage_stride_cols = 128, .cta_group = 1};
#elif defined(RING_TOO_NARROW)
constexpr OutputPipelineConfig config{.num_stages = 4, .stage_stride_cols = 64, .cta_group = 1};
#endif

using Payload = BlockwiseFP8TilePayload<e4m3, e4m3, 128, 128, ClusterShape<1, 1, 1>>;

MISUSE_ENTRY multiply(SharedMemBarrier* barriers, Payload::Slot* slot) {
  OutputTilePipeline<config> ring(barriers, {});
  auto stage = ring.producer();
  umma(stage.tmem(), Payload::A(slot->a), Payload::B(slot->b), Accumulate::fresh);
}
