// Each wrong use of accumulators, tensor memory and warp contexts has its own diagnosis, with the line; and the right
// use next to it runs clean.
#include "pipeline/misuse_kernel.hpp"
#include "warploom/pipeline/per_k.hpp"

namespace warploom::misuse {
namespace {

using Stage = AccumStage;
using MmaContext = Stage::MmaContext;
using EpilogueContext = Stage::EpilogueContext;

// ---- accumulators that nobody holds

TEST(NotHeld, MultiplyBeforeAcquire) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (!Stage::multiplies()) return Stage::look_once(storage);
         auto context = CREATE(MmaContext, storage);
         if (!arch::elect_one()) return;
         if (buggy) OFFENDING(MULTIPLY(storage, context.tmem.addr.value));
         auto stage = context.per_k_stage();
         MULTIPLY(storage, stage.tmem().offset());
       },
       {"TMEM-NOT-HELD", {"tcgen05.mma touches accumulator accum[0]", "this thread does not hold"}});
}
TEST(NotHeld, MultiplyAfterRelease) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (!Stage::multiplies()) return Stage::look_once(storage);
         auto context = CREATE(MmaContext, storage);
         if (!arch::elect_one()) return;
         auto stage = context.acquire_k_stage_linear();
         const uint32_t offset = stage.tmem_offset();
         MULTIPLY(storage, offset);
         stage.release();
         if (buggy) OFFENDING(MULTIPLY(storage, offset));
       },
       {"TMEM-NOT-HELD", {"tcgen05.mma", "accum[0]", "given back"}});
}
TEST(NotHeld, MultiplyIntoTheNextStage) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (!Stage::multiplies()) return Stage::look_once(storage);
         auto context = CREATE(MmaContext, storage);
         if (!arch::elect_one()) return;
         auto stage = context.per_k_stage();
         OFFENDING(MULTIPLY(storage, stage.tmem().offset() + (buggy ? opc.stage_stride_cols : 0)));
       },
       {"TMEM-NOT-HELD", {"tcgen05.mma", "accum[1]"}});
}
TEST(NotHeld, LoadBeforeAcquire) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (Stage::multiplies()) return Stage::multiply_once(storage);
         EpilogueContext::Sync::wait();
         auto context = CREATE(EpilogueContext, storage);
         if (buggy) OFFENDING(LOOK(context.tmem.addr.value));
         auto stage = context.output_pipeline.consumer();
         LOOK(stage.tmem().offset());
       },
       {"TMEM-NOT-HELD", {"tcgen05.ld touches accumulator accum[0]", "this warp does not hold"}});
}
TEST(NotHeld, LoadAfterFree) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (Stage::multiplies()) return Stage::multiply_once(storage);
         EpilogueContext::Sync::wait();
         auto context = CREATE(EpilogueContext, storage);
         auto stage = context.output_pipeline.consumer();
         const uint32_t offset = stage.tmem().offset();
         LOOK(offset);
         stage.free();
         if (buggy) OFFENDING(LOOK(offset));
       },
       {"TMEM-NOT-HELD", {"tcgen05.ld", "accum[0]", "given back"}});
}

// ---- stages of the accumulator ring

TEST(AccumulatorStages, MmaStageReleasedTwice) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (!Stage::multiplies()) return Stage::look_once(storage);
         auto context = CREATE(MmaContext, storage);
         if (!arch::elect_one()) return;
         auto stage = context.acquire_k_stage_linear();
         stage.release();
         if (buggy) OFFENDING(stage.release());
       },
       {"STAGE-RELEASED-TWICE", {"a stage of accum"}});
}
TEST(AccumulatorStages, MmaStageAfterRelease) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (!Stage::multiplies()) return Stage::look_once(storage);
         auto context = CREATE(MmaContext, storage);
         if (!arch::elect_one()) return;
         auto stage = context.acquire_k_stage_linear();
         stage.release();
         if (buggy) OFFENDING((void)stage.tmem_offset());
       },
       {"STAGE-AFTER-RELEASE", {"a stage of accum"}});
}
TEST(AccumulatorStages, EpilogueStageReleasedTwice) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (Stage::multiplies()) return Stage::multiply_once(storage);
         EpilogueContext::Sync::wait();
         auto context = CREATE(EpilogueContext, storage);
         auto stage = context.acquire_k_stage_linear();
         stage.release();
         if (buggy) OFFENDING(stage.release());
       },
       {"STAGE-RELEASED-TWICE", {"a stage of accum"}});
}
TEST(AccumulatorStages, EpilogueStageMovedFrom) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (Stage::multiplies()) return Stage::multiply_once(storage);
         EpilogueContext::Sync::wait();
         auto context = CREATE(EpilogueContext, storage);
         auto acquired = context.acquire_k_stage_linear();
         auto stage = std::move(acquired);
         if (buggy) OFFENDING((void)acquired.tmem());
         stage.release();
       },
       {"STAGE-AFTER-RELEASE", {"a stage of accum"}});
}
TEST(AccumulatorStages, ConsumerAfterFree) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (Stage::multiplies()) return Stage::multiply_once(storage);
         EpilogueContext::Sync::wait();
         auto context = CREATE(EpilogueContext, storage);
         auto stage = context.output_pipeline.consumer();
         stage.free();
         if (buggy) OFFENDING((void)stage.tmem());
       },
       {"STAGE-AFTER-SETTLE", {"a stage of accum"}});
}

// ---- the warp handles

TEST(WarpHandles, MmaWarpReleasedTwice) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (!Stage::multiplies()) return Stage::look_once(storage);
         auto warp = CREATE(MmaWarp<opc>, storage);
         if (arch::elect_one()) auto stage = warp.per_k_stage();
         warp.release();
         if (buggy) OFFENDING(warp.release());
       },
       {"STAGE-RELEASED-TWICE", {"tensor memory"}});
}
TEST(WarpHandles, MmaWarpAfterRelease) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (!Stage::multiplies()) return Stage::look_once(storage);
         auto warp = CREATE(MmaWarp<opc>, storage);
         if (arch::elect_one()) auto stage = warp.per_k_stage();
         warp.release();
         if (buggy && arch::lane_index() == 0) OFFENDING((void)warp.per_k_stages(1));
       },
       {"STAGE-AFTER-RELEASE", {"tensor memory"}});
}
TEST(WarpHandles, EpilogueWarpReleasedTwice) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (Stage::multiplies()) return Stage::multiply_once(storage);
         EpilogueContext::Sync::wait();
         auto warp = CREATE(EpilogueWarp<opc>, storage);
         {
           auto stage = warp.output_pipeline.consumer();
           LOOK(stage.tmem().offset());
         }
         warp.release();
         if (buggy) OFFENDING(warp.release());
       },
       {"STAGE-RELEASED-TWICE", {"tensor memory"}});
}

// ---- the hand-over of tensor memory

TEST(TensorMemory, AddressReadBeforeItIsPublished) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (Stage::multiplies()) return Stage::multiply_once(storage);
         if (!buggy) EpilogueContext::Sync::wait();
         IN_THE_NEXT_LINE;
         auto context = CREATE(EpilogueContext, storage);
         auto stage = context.output_pipeline.consumer();
         LOOK(stage.tmem().offset());
       },
       {"TMEM-UNPUBLISHED", {"named barrier 1"}});
}
// That the address is there, because something else came after the allocation, is luck.
TEST(TensorMemory, AddressReadBeforeItIsPublishedThoughItIsThere) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         const arch::SharedAddress there = arch::shared_address(&storage.there);
         if (Stage::multiplies()) {
           auto context = CREATE(MmaContext, storage);
           if (!arch::elect_one()) return;
           arch::mbarrier_arrive(there);
           auto stage = context.per_k_stage();
           MULTIPLY(storage, stage.tmem().offset());
           return;
         }
         arch::mbarrier_wait(there, 1);
         if (!buggy) EpilogueContext::Sync::wait();
         IN_THE_NEXT_LINE;
         auto context = CREATE(EpilogueContext, storage);
         auto stage = context.output_pipeline.consumer();
         LOOK(stage.tmem().offset());
       },
       {"TMEM-UNPUBLISHED", {"named barrier 1"}});
}
TEST(TensorMemory, Leaked) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (!Stage::multiplies()) return;
         using Allocation = TmemAllocation<1, 64>;
         Allocation tmem{};
         OFFENDING(tmem = Allocation::allocate(storage.output.tmem_address));
         tmem.release_lock();
         if (!buggy) tmem.deallocate();
       },
       {"TMEM-LEAK", {"CTA 0 exits with 64 tensor-memory columns still allocated"}});
}

// ---- contexts of a whole warp in a part of it

TEST(PartOfAWarp, ContextCreatedByTheElectedLaneWhileTheOthersLeave) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (!Stage::multiplies()) return Stage::look_once(storage);
         if (buggy && arch::lane_index() != 0) return;
         IN_THE_NEXT_LINE;
         auto context = CREATE(MmaContext, storage);
         if (arch::lane_index() != 0) return;
         auto stage = context.per_k_stage();
         MULTIPLY(storage, stage.tmem().offset());
       },
       {"DIVERGENCE", {"lane 0 of warp 4 waits in tcgen05.alloc", "lanes 1-31 have exited"}});
}
TEST(PartOfAWarp, ContextCreatedByTheElectedLaneWhileTheOthersGoOn) {
  // Which lanes come second, and so whose line is reported, is the schedule's choice.
  const auto kernel = [](bool buggy) {
    auto& storage = Stage::begin();
    if (!Stage::multiplies()) {
      Stage::look_once(storage);
    } else if (!buggy || arch::elect_one()) {
      Stage::multiply_once(storage);
    }
    arch::syncwarp();
  };
  const Launch launch = Stage::launch();
  always_found(launch, kernel, true, {"DIVERGENCE", {"tcgen05.alloc", "bar.warp.sync", "of the same warp"}, false});
  always_clean(launch, kernel, false);
}
TEST(PartOfAWarp, ContextCreatedByTheElectedLaneWhileTheOthersMeetTheCluster) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (!Stage::multiplies()) {
           Stage::look_once(storage);
         } else if (!buggy || arch::elect_one()) {
           IN_THE_NEXT_LINE;
           auto context = CREATE(MmaContext, storage);
           if (arch::lane_index() == 0) {
             auto stage = context.per_k_stage();
             MULTIPLY(storage, stage.tmem().offset());
           }
         }
         arch::cluster_sync();
       },
       {"DIVERGENCE", {"lane 0 of warp 4 waits in tcgen05.alloc", "lanes 1-31 wait at the cluster barrier"}});
}
TEST(PartOfAWarp, ContextLeftByHalfOfTheLanes) {
  rule(Stage::launch(),
       [](bool buggy) {
         auto& storage = Stage::begin();
         if (!Stage::multiplies()) {
           Stage::look_once(storage);
           return arch::cluster_sync();
         }
         auto warp = CREATE(MmaWarp<opc>, storage);
         if (arch::elect_one()) auto stage = warp.per_k_stage();
         if (buggy && arch::lane_index() >= 16) arch::cluster_sync();
         OFFENDING(warp.release());
         if (!buggy || arch::lane_index() < 16) arch::cluster_sync();
       },
       {"DIVERGENCE", {"lanes 0-15 of warp 4 wait in bar.warp.sync", "the cluster barrier"}});
}

}  // namespace
}  // namespace warploom::misuse
