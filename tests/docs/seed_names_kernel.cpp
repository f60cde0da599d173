// Names every C++ entity of docs/seed_table.md once: what the table says exists, or this does not compile.
#include <type_traits>

#include "../../examples/blockwise_fp8_kernel.hpp"
#include "docs/seed_names.hpp"
#include "warploom/warp/tmem_tensor.hpp"

namespace warploom::test {
namespace seed {

// Instances under the names of their templates, so that the facts read as the table does.
constexpr OutputPipelineConfig opc{.num_stages = 4, .stage_stride_cols = 128, .cta_group = 1};
using Cluster = ClusterShape<1, 1, 1>;
using ByTma = filled_by<tma_bytes<Load>>;
using ByCommit = freed_by<mma_commit<Mma, to_operand_sources>>;
using ByCommitAndScales = freed_by<mma_commit<Mma, to_operand_sources>, lane_per_warp<Epilogue>>;

using OutputTilePipeline = warploom::OutputTilePipeline<opc>;
using OutputStage = warploom::OutputStage<opc>;
using OutputProducer = warploom::OutputProducer<opc>;
using OutputConsumer = warploom::OutputConsumer<opc>;
using OutputKPipeline = warploom::OutputKPipeline<opc>;
using MmaStage = warploom::MmaStage<opc>;
using EpilogueStage = warploom::EpilogueStage<opc>;
using MmaKStage = warploom::MmaKStage<opc>;
using PerKConsumerStage = warploom::PerKConsumerStage<opc>;

using TmemAllocation = warploom::TmemAllocation<opc.cta_group>;
using TmemStage = warploom::TmemStage<opc>;
using TmemDeallocBarrier = warploom::TmemDeallocBarrier<opc.cta_group>;
using TmemTensor = warploom::TmemTensor<float, 128, 128>;
using AccumTensor = warploom::AccumTensor<128, 128>;
using TmemFragments = warploom::TmemFragments<64>;

using StandardTilePayload = warploom::StandardTilePayload<bf16, bf16, 128, 128, Cluster>;
using BlockScaledTilePayload =
    warploom::BlockScaledTilePayload<e4m3, e4m3, uint8_t, uint8_t, 128, 128, /*vector=*/32, Cluster>;
using BlockwiseFP8TilePayload = warploom::BlockwiseFP8TilePayload<e4m3, e4m3, 128, 128, Cluster>;
using InputTilePipeline = warploom::InputTilePipeline<BlockwiseFP8TilePayload, 4, ByTma, ByCommitAndScales>;
using StandardInput = warploom::InputTilePipeline<StandardTilePayload, 4, ByTma, ByCommit>;
using InputProducer = warploom::InputProducer<StandardInput>;
using InputConsumer = warploom::InputConsumer<StandardInput, Mma>;
using ProducerTiles = warploom::ProducerTiles<StandardInput>;
using ConsumerTiles = warploom::ConsumerTiles<StandardInput, Mma>;
using InputProducerStage = warploom::InputProducerStage<StandardInput>;
using InputConsumerStage = warploom::InputConsumerStage<StandardInput, Mma>;

using EpilogueKStage = warploom::EpilogueKStage<opc, InputTilePipeline>;
using EpilogueKContext = warploom::EpilogueKContext<opc, InputTilePipeline>;
using MmaWarpContext = warploom::MmaWarpContext<opc>;
using EpilogueWarpContext = warploom::EpilogueWarpContext<opc>;
using MmaWarp = warploom::MmaWarp<opc>;
using EpilogueWarp = warploom::EpilogueWarp<opc>;
using BlockwiseFP8Accumulator = warploom::BlockwiseFP8Accumulator<128>;
using MmaOp = warploom::MmaOp<StandardTilePayload::A, StandardTilePayload::B, Cluster>;

using EpiLoadPipeline = warploom::EpiLoadPipeline<2, SmemTile<bf16, 128, 64, Swizzle::b128>>;
struct Protocol {
  static constexpr char name[] = "ring";
  using cluster = Cluster;
  using filled = filled_by<tma_bytes<Load>>;
  using freed = freed_by<every_thread<Epilogue>>;
  static constexpr uint32_t bytes = 1024;
};
using ProducerConsumerPipeline = warploom::ProducerConsumerPipeline<3, Protocol>;
using ProducerStage = warploom::ProducerStage<ProducerConsumerPipeline>;
using ProduceContext = warploom::ProduceContext<ProducerConsumerPipeline>;
using ConsumerStage = warploom::ConsumerStage<ProducerConsumerPipeline, Epilogue>;
using ConsumeContext = warploom::ConsumeContext<ProducerConsumerPipeline, Epilogue>;
using ExplicitConsumeContext = warploom::ExplicitConsumeContext<ProducerConsumerPipeline, Epilogue>;

template <class T>
T& object() noexcept;  // never defined: for decltype
template <class Have, class Want>
constexpr bool is = std::is_same_v<Have, Want>;

#define SEED(original, ours, ...) static_assert(__VA_ARGS__, original);
#include "docs/seed_names.def"
#undef SEED

}  // namespace seed

const std::vector<SeedName>& seed_names() {
#define SEED(original, ours, ...) {original, ours, #__VA_ARGS__},
  static const std::vector<SeedName> names = {
#include "docs/seed_names.def"
  };
#undef SEED
  return names;
}

}  // namespace warploom::test
