// What the misuses share: rings, and an entry point that both machines compile.
#pragma once

#include "warploom/pipeline/per_k.hpp"
#include "warploom/warp/contexts.hpp"
#include "warploom/warp/skeleton.hpp"

#if WARPLOOM_GPU
#define MISUSE_ENTRY __global__ void
#else
#define MISUSE_ENTRY void
#endif

namespace misuse {

using namespace warploom;

struct OneRoleFrees {
  static constexpr char name[] = "ring";
  using cluster = ClusterShape<1, 1, 1>;
  using filled = filled_by<tma_bytes<Load>>;
  using freed = freed_by<every_thread<Epilogue>>;
  static constexpr uint32_t bytes = 1024;
};
struct TwoRolesFree {
  static constexpr char name[] = "ring";
  using cluster = ClusterShape<1, 1, 1>;
  using filled = filled_by<tma_bytes<Load>>;
  using freed = freed_by<mma_commit<Mma, to_operand_sources>, lane_per_warp<Epilogue>>;
  static constexpr uint32_t bytes = 1024;
};

using Ring = ProducerConsumerPipeline<3, OneRoleFrees>;
using SharedRing = ProducerConsumerPipeline<3, TwoRolesFree>;
constexpr OutputPipelineConfig opc{.num_stages = 2, .stage_stride_cols = 128, .cta_group = 1};
using Output = OutputTilePipeline<opc>;
using Input = InputTilePipeline<StandardTilePayload<bf16, bf16, 64, 16, ClusterShape<1, 1, 1>>, 2,
                                filled_by<tma_bytes<Load>>, freed_by<mma_commit<Mma, to_operand_sources>>>;

}  // namespace misuse
