// Handles that are dropped without a release. Optimised builds do not compile that (tests/negative); this program is
// built without optimisation, where the loom reports it.
#include "pipeline/misuse_kernel.hpp"

namespace warploom::misuse {
namespace {

using Ring = RingStage<Parcels>;

TEST(Dropped, ProducerStage) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           {
             auto slot = ring.acquire_producer();
             if (!buggy) slot.release();
             IN_THE_NEXT_LINE;
           }
         } else if (reader()) {
           auto slot = ring.consume();
         }
       },
       {"STAGE-DROPPED", {"parcels", "dropped without release()"}});
}
TEST(Dropped, ConsumerStage) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (reader()) {
           {
             auto slot = ring.acquire_consumer();
             if (!buggy) slot.release();
             IN_THE_NEXT_LINE;
           }
         }
       },
       {"STAGE-DROPPED", {"parcels"}});
}
TEST(Dropped, ConsumerStageThatWasMoved) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (reader()) {
           auto acquired = ring.acquire_consumer();
           {
             auto slot = std::move(acquired);
             if (!buggy) slot.release();
             IN_THE_NEXT_LINE;
           }
         }
       },
       {"STAGE-DROPPED", {"parcels"}});
}
TEST(Dropped, LateStage) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (reader()) {
           {
             auto slot = ring.acquire_late();
             if (!buggy) slot.release();
             IN_THE_NEXT_LINE;
           }
         }
       },
       {"STAGE-DROPPED", {"parcels"}});
}
TEST(Dropped, InputProducerStage) {
  rule(InputStage::launch(),
       [](bool buggy) {
         auto input = InputStage::begin();
         if (writer()) {
           {
             auto slot = input.acquire_producer();
             LOAD(slot);
             if (!buggy) slot.release();
             IN_THE_NEXT_LINE;
           }
         } else if (reader()) {
           auto in = input.consume();
         }
       },
       {"STAGE-DROPPED", {"a stage of input"}});
}
TEST(Dropped, InputConsumerStage) {
  rule(InputStage::launch(),
       [](bool buggy) {
         auto input = InputStage::begin();
         if (writer()) {
           auto loads = input.producer();
           auto slot = loads.acquire();
           LOAD(slot);
         } else if (reader()) {
           {
             auto in = input.acquire_consumer();
             if (!buggy) in.release();
             IN_THE_NEXT_LINE;
           }
         }
       },
       {"STAGE-DROPPED", {"a stage of input"}});
}
TEST(Dropped, MmaStage) {
  rule(AccumStage::launch(),
       [](bool buggy) {
         auto& storage = AccumStage::begin();
         if (!AccumStage::multiplies()) return AccumStage::look_once(storage);
         auto context = CREATE(AccumStage::MmaContext, storage);
         if (!arch::elect_one()) return;
         {
           auto stage = context.acquire_k_stage_linear();
           if (!buggy) stage.release();
           IN_THE_NEXT_LINE;
         }
       },
       {"STAGE-DROPPED", {"a stage of accum"}});
}
TEST(Dropped, EpilogueStage) {
  rule(AccumStage::launch(),
       [](bool buggy) {
         auto& storage = AccumStage::begin();
         if (AccumStage::multiplies()) return AccumStage::multiply_once(storage);
         AccumStage::EpilogueContext::Sync::wait();
         auto context = CREATE(AccumStage::EpilogueContext, storage);
         {
           auto stage = context.acquire_k_stage_linear();
           if (!buggy) stage.release();
           IN_THE_NEXT_LINE;
         }
       },
       {"STAGE-DROPPED", {"a stage of accum"}});
}
TEST(Dropped, MmaWarp) {
  rule(AccumStage::launch(),
       [](bool buggy) {
         auto& storage = AccumStage::begin();
         if (!AccumStage::multiplies()) return AccumStage::look_once(storage);
         auto made = CREATE(MmaWarp<opc>, storage);
         if (arch::elect_one()) auto stage = made.per_k_stage();
         {
           auto warp = std::move(made);
           if (!buggy) warp.release();
           IN_THE_NEXT_LINE;
         }
       },
       {"STAGE-DROPPED", {"tensor memory"}});
}
TEST(Dropped, EpilogueWarp) {
  rule(AccumStage::launch(),
       [](bool buggy) {
         auto& storage = AccumStage::begin();
         if (AccumStage::multiplies()) return AccumStage::multiply_once(storage);
         MmaWarp<opc>::Sync::wait();
         auto made = CREATE(EpilogueWarp<opc>, storage);
         {
           auto stage = made.acquire_k_stage_linear();
           stage.release();
         }
         {
           auto warp = std::move(made);
           if (!buggy) warp.release();
           IN_THE_NEXT_LINE;
         }
       },
       {"STAGE-DROPPED", {"tensor memory"}});
}

}  // namespace
}  // namespace warploom::misuse
