// Each wrong use of a ring's handles has its own diagnosis, with the ring's name and the line; and the right use next
// to it runs clean. Dropped handles: tests/negative and pipeline/unoptimised.
#include "pipeline/misuse_kernel.hpp"

namespace warploom::misuse {
namespace {

using Ring = RingStage<Parcels>;

// ---- released twice

TEST(ReleasedTwice, ProducerStage) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.acquire_producer();
           slot.release();
           if (buggy) OFFENDING(slot.release());
         } else if (reader()) {
           auto slot = ring.consume();
         }
       },
       {"STAGE-RELEASED-TWICE", {"a stage of parcels is released a second time"}});
}
TEST(ReleasedTwice, ConsumerStage) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (reader()) {
           auto slot = ring.acquire_consumer();
           slot.release();
           if (buggy) OFFENDING(slot.release());
         }
       },
       {"STAGE-RELEASED-TWICE", {"parcels"}});
}
TEST(ReleasedTwice, ConsumerStageByHand) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (reader()) {
           auto slot = ring.acquire_consumer();
           slot.arrive();
           slot.release_without_signal();
           if (buggy) OFFENDING(slot.release_without_signal());
         }
       },
       {"STAGE-RELEASED-TWICE", {"parcels"}});
}
TEST(ReleasedTwice, LateStage) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (reader()) {
           auto slot = ring.acquire_late();
           slot.release();
           if (buggy) OFFENDING(slot.release());
         }
       },
       {"STAGE-RELEASED-TWICE", {"parcels"}});
}
TEST(ReleasedTwice, InputProducerStage) {
  rule(InputStage::launch(),
       [](bool buggy) {
         auto input = InputStage::begin();
         if (writer()) {
           auto slot = input.acquire_producer();
           LOAD(slot);
           slot.release();
           if (buggy) OFFENDING(slot.release());
         } else if (reader()) {
           auto in = input.consume();
         }
       },
       {"STAGE-RELEASED-TWICE", {"a stage of input"}});
}
TEST(ReleasedTwice, InputConsumerStage) {
  rule(InputStage::launch(),
       [](bool buggy) {
         auto input = InputStage::begin();
         if (writer()) {
           auto slot = input.producer().acquire();
           LOAD(slot);
         } else if (reader()) {
           auto in = input.consumer().acquire_stage();
           in.release();
           if (buggy) OFFENDING(in.release());
         }
       },
       {"STAGE-RELEASED-TWICE", {"a stage of input"}});
}

// ---- used after release, or after a move

TEST(AfterRelease, ProducerStage) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.acquire_producer();
           slot.release();
           if (buggy) OFFENDING((void)slot.index());
         } else if (reader()) {
           auto slot = ring.consume();
         }
       },
       {"STAGE-AFTER-RELEASE", {"a stage of parcels is used after it was released or moved from"}});
}
TEST(AfterRelease, ProducerStageMovedFrom) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto acquired = ring.acquire_producer();
           auto slot = std::move(acquired);
           if (buggy) OFFENDING((void)acquired.mbar());
           slot.release();
         } else if (reader()) {
           auto slot = ring.consume();
         }
       },
       {"STAGE-AFTER-RELEASE", {"parcels", "moved from"}});
}
TEST(AfterRelease, ConsumerStage) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (reader()) {
           auto slot = ring.acquire_consumer();
           slot.release();
           if (buggy) OFFENDING(slot.arrive());
         }
       },
       {"STAGE-AFTER-RELEASE", {"parcels"}});
}
TEST(AfterRelease, ConsumerStageFreed) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (reader()) {
           auto slot = ring.acquire_consumer();
           slot.arrive();
           slot.release_without_signal();
           if (buggy) OFFENDING(slot.free());
         }
       },
       {"STAGE-AFTER-RELEASE", {"parcels"}});
}
TEST(AfterRelease, LateStage) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (reader()) {
           auto slot = ring.acquire_late();
           slot.release();
           if (buggy) OFFENDING((void)slot.index());
         }
       },
       {"STAGE-AFTER-RELEASE", {"parcels"}});
}
TEST(AfterRelease, InputProducerStage) {
  rule(InputStage::launch(),
       [](bool buggy) {
         auto input = InputStage::begin();
         if (writer()) {
           auto slot = input.acquire_producer();
           LOAD(slot);
           slot.release();
           if (buggy) OFFENDING(LOAD(slot));
         } else if (reader()) {
           auto in = input.consume();
         }
       },
       {"STAGE-AFTER-RELEASE", {"a stage of input"}});
}
TEST(AfterRelease, InputConsumerStage) {
  rule(InputStage::launch(),
       [](bool buggy) {
         auto input = InputStage::begin();
         if (writer()) {
           auto slot = input.producer().acquire();
           LOAD(slot);
         } else if (reader()) {
           auto in = input.acquire_consumer();
           in.release();
           if (buggy) OFFENDING((void)in.a());
         }
       },
       {"STAGE-AFTER-RELEASE", {"a stage of input"}});
}

// ---- used after it was given back early

TEST(AfterSettle, ConsumeContext) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (reader()) {
           auto slot = ring.consume();
           if (!buggy) (void)slot.index();
           slot.free();
           if (buggy) OFFENDING((void)slot.index());
         }
       },
       {"STAGE-AFTER-SETTLE", {"a stage of parcels is used after its slot was given back early"}});
}
TEST(AfterSettle, ConsumerStage) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (reader()) {
           auto slot = ring.acquire_consumer();
           slot.free();
           if (buggy) OFFENDING((void)slot.mbar());
           slot.release();
         }
       },
       {"STAGE-AFTER-SETTLE", {"parcels"}});
}

// ---- the other end of the ring

TEST(WrongEnd, AWriterThatConsumes) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           {
             auto slot = ring.produce();
           }
           if (buggy) OFFENDING(ring.consumer_signal_and_step());
         } else if (reader()) {
           auto slot = ring.consume();
         }
       },
       {"RING-SIDE", {"parcels", "producer"}});
}
TEST(WrongEnd, AReaderThatProduces) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto ring = Ring::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (reader()) {
           {
             auto slot = ring.consume();
           }
           if (buggy) OFFENDING(ring.producer_signal_and_step());
         }
       },
       {"RING-SIDE", {"parcels", "consumer"}});
}

// ---- numbers that contradict the policies

TEST(WrongArgument, BytesOfASlot) {
  rule(InputStage::launch(),
       [](bool buggy) {
         auto input = InputStage::begin();
         if (writer()) {
           auto slot = input.producer().acquire();
           OFFENDING(slot.expect_bytes(buggy ? 128 : Payload::operand_bytes));
           LOAD(slot);
         } else if (reader()) {
           auto in = input.consume();
         }
       },
       {"RING-ARGUMENT", {"input is given 128 as its bytes; its policies say 10240"}});
}
TEST(WrongArgument, CountsOfARing) {
  rule(Ring::launch(),
       [](bool buggy) {
         auto& storage = arch::shared<Ring::Storage>();
         if (arch::thread_index() == 0) OFFENDING(Ring::Ring::init_mbars(storage.barriers.ptr(), 1, buggy ? 32 : 1));
         arch::syncthreads();
       },
       {"RING-ARGUMENT", {"parcels is given 32 as its consumer arrivals; its policies say 1"}});
}

// ---- a stage of a whole warp in a part of it

using Bundle = RingStage<Bundles>;

TEST(PartOfAWarp, HalfOfTheLanesConsume) {
  rule(Bundle::launch(),
       [](bool buggy) {
         auto ring = Bundle::begin();
         if (writer()) {
           auto slot = ring.produce();
         } else if (arch::warp_index() == 1 && (!buggy || arch::lane_index() < 16)) {
           auto slot = ring.acquire_consumer();
           OFFENDING(slot.release());
         }
       },
       {"DIVERGENCE", {"lanes 0-15 of warp 1 wait in bar.warp.sync", "lanes 16-31 have exited"}});
}
TEST(PartOfAWarp, HalfOfTheLanesReturnFromTheStage) {
  rule(Bundle::launch(),
       [](bool buggy) {
         auto ring = Bundle::begin();
         if (writer()) {
           {
             auto slot = ring.produce();
           }
           {
             auto slot = ring.produce();
           }
         } else if (arch::warp_index() == 1) {
           {
             auto slot = ring.consume();
             if (buggy && arch::lane_index() >= 16) return;  // leaving signals; but these lanes are gone
           }
           auto slot = ring.acquire_consumer();
           OFFENDING(slot.release());
         }
       },
       {"DIVERGENCE", {"lanes 0-15 of warp 1 wait in bar.warp.sync", "lanes 16-31 have exited"}});
}

}  // namespace
}  // namespace warploom::misuse
