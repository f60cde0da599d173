// The input ring: operand tiles from TMA to the tensor core and, where the payload has some, scales from TMA to the
// epilogue, in one slot. A slot holds `k_group` K blocks (fewer barrier round trips where one MMA is short); blocks of
// the last group that lie beyond the tile's range bring zeros.
//
// Two full barriers guard a slot. The operands complete on the leader's (with CTA pairs, the bytes of both CTAs), what
// is local to a CTA on one of its own, because a wait is local.
//
//   for (auto slot : input.produce(k_blocks)) slot.load(a[m], b[n], a_scales[m]);      // load: a free slot, armed
//   { auto in = input.consume(); umma(acc, in.a(), in.b(), Accumulate::fresh); }       // mma: leaving commits
#pragma once

#include "warploom/pipeline/input_stages.hpp"
#include "warploom/pipeline/stage_range.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

template <class Payload_, int stages, class Filled_, class Freed_, int k_group = 1>
class InputTilePipeline {
 public:
  using Payload = Payload_;
  using Cluster = typename Payload::Cluster;
  using Freed = Freed_;
  using Role = typename Freed::first_role;   ///< who reads the operands
  static constexpr int num_stages = stages;  ///< slots; each holds k_group_size K blocks
  static constexpr int k_group_size = k_group;
  static_assert(k_group >= 1 && k_group <= Payload::max_k_group,
                "warploom: this payload does not go into groups of so many K blocks");
  static constexpr bool has_local = Payload::local_bytes != 0;

  struct Protocol {
    static constexpr char name[] = "input";
    using cluster = Cluster;
    using filled = Filled_;
    using freed = Freed;
    static constexpr uint32_t bytes = Payload::operand_bytes * k_group;
  };
  using Pipeline = ProducerConsumerPipeline<stages, Protocol>;
  struct ScalesLabel {
    static constexpr char name[] = "input.scales";
  };

  struct Barriers {
    typename Pipeline::BarrierArray ring;
  };
  struct BarriersWithLocal : Barriers {
    SMemArray<SharedMemBarrier, stages> local_full;
  };
  using BarrierStorage = std::conditional_t<has_local, BarriersWithLocal, Barriers>;
  struct SlotStorage {
    typename Payload::Slot slots[stages * k_group];
  };
  struct Storage : SlotStorage {
    BarrierStorage barriers;
    WARPLOOM_FN operator BarrierStorage&() noexcept { return barriers; }
  };

  WARPLOOM_FN explicit InputTilePipeline(Storage& storage) noexcept : InputTilePipeline(storage, storage.barriers) {}
  /// Slots and barriers apart: together, the barriers take as much room as the slots' alignment.
  WARPLOOM_FN InputTilePipeline(SlotStorage& slots, BarrierStorage& barriers) noexcept
      : pipeline(barriers.ring.ptr()), slots_(&slots), barriers_(&barriers) {}

  /// One thread, once per CTA. The counts are the policies'; the loom reports any other.
  static WARPLOOM_FN void init_barriers(BarrierStorage& barriers,
                                        uint32_t producer_arv_count = Pipeline::producer_count,
                                        uint32_t consumer_arv_count = Pipeline::consumer_count) noexcept {
    Pipeline::init_mbars(barriers.ring.ptr(), producer_arv_count, consumer_arv_count);
    if constexpr (has_local) {
      for (int i = 0; i < stages; ++i)
        arch::mbarrier_init(arch::shared_address(barriers.local_full[i]), Pipeline::producer_count);
      arch::name_barriers<ScalesLabel, Filled_>(barriers.local_full.ptr(), stages, arch::RingSide::full);
    }
  }

  // ---- the two ends: a role gets its own
  WARPLOOM_FN InputProducer<InputTilePipeline> producer() noexcept { return InputProducer<InputTilePipeline>(*this); }
  template <class R = Role>
  WARPLOOM_FN InputConsumer<InputTilePipeline, R> consumer() noexcept {
    return InputConsumer<InputTilePipeline, R>(*this);
  }

  // ---- load
  /// The slots for these K blocks, one after the other.
  WARPLOOM_FN StageRange<ProducerTiles<InputTilePipeline>, InputTilePipeline*> produce(KBlocks k_blocks) noexcept {
    k_end = k_blocks.begin + k_blocks.count;
    return {this, k_blocks, k_group};
  }
  WARPLOOM_FN InputProducerStage<InputTilePipeline> acquire_producer(int k = 0) noexcept {
    return InputProducerStage<InputTilePipeline>(*this, k);
  }
  [[nodiscard]] WARPLOOM_FN arch::Ready try_acquire_producer() const noexcept { return pipeline.try_wait_consumer(); }
  WARPLOOM_FN void wait_consumer_if_needed(arch::Ready poll) const noexcept { pipeline.wait_consumer_if_needed(poll); }
  WARPLOOM_FN uint32_t producer_stage() const noexcept { return pipeline.producer_stage(); }
  WARPLOOM_FN MbarPtr producer_mbar(uint32_t stage) const noexcept { return pipeline.producer_mbar(stage); }
  /// End of the load role: until every slot, also those that other CTAs read, is free again.
  WARPLOOM_FN void drain() noexcept { pipeline.drain(); }
  WARPLOOM_FN void drain_producer() noexcept { pipeline.drain(); }

  // ---- who multiplies
  template <class R = Role>
  WARPLOOM_FN ConsumerTiles<InputTilePipeline, R> consume() noexcept {
    return ConsumerTiles<InputTilePipeline, R>(*this);
  }
  template <class R = Role>
  WARPLOOM_FN InputConsumerStage<InputTilePipeline, R> acquire_consumer() noexcept {
    return InputConsumerStage<InputTilePipeline, R>(*this);
  }
  [[nodiscard]] WARPLOOM_FN arch::Ready try_acquire_consumer() const noexcept { return pipeline.try_wait_producer(); }
  WARPLOOM_FN void wait_producer_if_needed(arch::Ready poll) const noexcept { pipeline.wait_producer_if_needed(poll); }
  WARPLOOM_FN uint32_t consumer_stage() const noexcept { return pipeline.consumer_stage(); }
  WARPLOOM_FN MbarPtr consumer_mbar(uint32_t stage) const noexcept { return pipeline.consumer_mbar(stage); }

  // ---- epilogue: the scales of the current slot
  WARPLOOM_FN void wait_scales() const noexcept {
    arch::mbarrier_wait(arch::shared_address(scales_mbar(pipeline.consumer_stage())), pipeline.consumer_lap() + 1);
  }
  WARPLOOM_FN MbarPtr scales_mbar(uint32_t stage) const noexcept {
    static_assert(has_local, "warploom: this payload brings no scales");
    return barriers_->local_full[static_cast<int>(stage)];
  }

  // ---- what is in a slot: K block k of its group
  WARPLOOM_FN typename Payload::Slot& slot(uint32_t stage, int k = 0) const noexcept {
    return slots_->slots[static_cast<int>(stage) * k_group + k];
  }
  WARPLOOM_FN auto a(uint32_t stage, int k = 0) const noexcept { return typename Payload::A(slot(stage, k).a); }
  WARPLOOM_FN auto b(uint32_t stage, int k = 0) const noexcept { return typename Payload::B(slot(stage, k).b); }
  WARPLOOM_FN auto a_scales(uint32_t stage) const noexcept { return typename Payload::Scales(slot(stage).a_scales); }
  WARPLOOM_FN auto sfa(uint32_t stage, int k = 0) const noexcept { return typename Payload::SFA(slot(stage, k).sfa); }
  WARPLOOM_FN auto sfb(uint32_t stage, int k = 0) const noexcept { return typename Payload::SFB(slot(stage, k).sfb); }

  static WARPLOOM_CONST_FN int slots_of(int k_blocks) { return (k_blocks + k_group - 1) / k_group; }

  Pipeline pipeline;
  int k_end = 0;  ///< of the range that produce() walks

 private:
  SlotStorage* slots_;
  BarrierStorage* barriers_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
