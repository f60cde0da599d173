// The accumulator ring: tensor-memory stages from the MMA warp to the epilogue warps.
//
// The MMA side runs on one elected lane of the pair's leader; releasing a stage commits, so the stage is full once the
// tensor core is done with it, in both CTAs of a pair. The epilogue side runs on every epilogue thread; releasing a
// stage frees it, on the leader. Leaving a handle signals what is still held.
//
//   OutputTilePipeline<opc> output(storage.barriers.ptr(), tmem);
//   { auto acc = output.producer(); umma(acc.tmem(), a, b, Accumulate::fresh); }   // MMA: leaving commits
//   { auto acc = output.consumer(); load(acc.tmem()); acc.free(); store(); }       // epilogue: freed once in registers
#pragma once

#include "warploom/pipeline/producer_consumer.hpp"
#include "warploom/warp/tmem.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

template <OutputPipelineConfig opc>
class OutputTilePipeline;
template <OutputPipelineConfig opc>
class OutputKPipeline;
template <OutputPipelineConfig opc, class Input>
class EpilogueKContext;

/// A stage's index and its place in tensor memory, and the ring whose empty barrier frees it.
template <OutputPipelineConfig opc>
struct OutputStage {
  using Pipeline = typename OutputTilePipeline<opc>::Pipeline;

  uint32_t index = 0;
  TmemStage<opc> tmem;
  const Pipeline* pipeline = nullptr;

  /// For epilogue code that waits on the ring by itself: it has waited, and holds the accumulator from here on.
  static WARPLOOM_FN OutputStage from_raw(const Pipeline& ring, uint32_t stage_index, uint32_t tmem_offset) noexcept {
    arch::hold_accumulator({tmem_offset}, AccumulatorSide::epilogue);
    return {stage_index, TmemStage<opc>::from_offset(tmem_offset, stage_index), &ring};
  }
};

namespace detail {
/// An accumulator in somebody's hands. `Handle` says whether it still is.
template <OutputPipelineConfig opc, class Handle>
class HeldAccumulator {
 public:
  WARPLOOM_FN HeldAccumulator(OutputTilePipeline<opc>& ring, const OutputStage<opc>& stage) noexcept
      : ring_(&ring), stage_(stage) {}
  WARPLOOM_FN uint32_t index() const noexcept { return stage().index; }
  WARPLOOM_FN const TmemStage<opc>& tmem() const noexcept { return stage().tmem; }
  WARPLOOM_FN uint32_t tmem_offset() const noexcept { return stage().tmem.offset(); }

 protected:
  WARPLOOM_FN const OutputStage<opc>& stage() const noexcept {
    static_cast<const Handle*>(this)->claim();
    return stage_;
  }
  OutputTilePipeline<opc>* ring_;
  OutputStage<opc> stage_;
};
}  // namespace detail

/// A free accumulator for one scope, on the MMA lane. Leaving commits.
template <OutputPipelineConfig opc>
class [[nodiscard]] OutputProducer : public detail::HeldAccumulator<opc, OutputProducer<opc>>, Scope {
 public:
  WARPLOOM_FN explicit OutputProducer(OutputTilePipeline<opc>& ring) noexcept
      : detail::HeldAccumulator<opc, OutputProducer>(ring, ring.acquire_for_mma()) {}
  WARPLOOM_FN ~OutputProducer() noexcept { this->ring_->release_from_mma(this->stage_); }
  WARPLOOM_FN void claim() const noexcept {}  // a scope holds it to the end
};

/// A finished accumulator for one scope. free() gives it back early, once it is in registers; leaving does otherwise.
template <OutputPipelineConfig opc>
class [[nodiscard]] OutputConsumer : public detail::HeldAccumulator<opc, OutputConsumer<opc>>, Scope {
 public:
  WARPLOOM_FN explicit OutputConsumer(OutputTilePipeline<opc>& ring) noexcept
      : detail::HeldAccumulator<opc, OutputConsumer>(ring, ring.acquire_for_epilogue()) {}
  WARPLOOM_FN ~OutputConsumer() noexcept {
    free();
    this->ring_->pipeline.consumer_step();
  }

  /// Gives the accumulator back now: every load of it must have been waited for.
  WARPLOOM_FN void free() noexcept {
    accumulator_.settle([&]() WARPLOOM_LAMBDA { this->ring_->signal_epilogue_done(); });
  }
  WARPLOOM_FN void claim() const noexcept { accumulator_.claim(); }

 private:
  Held<typename OutputTilePipeline<opc>::Protocol> accumulator_;
};

/// A free accumulator that must be released; release() commits and steps.
template <OutputPipelineConfig opc>
class [[nodiscard]] MmaStage : public detail::HeldAccumulator<opc, MmaStage<opc>>,
                               MustRelease<typename OutputTilePipeline<opc>::Protocol> {
 public:
  WARPLOOM_FN explicit MmaStage(OutputTilePipeline<opc>& ring) noexcept
      : detail::HeldAccumulator<opc, MmaStage>(ring, ring.acquire_for_mma()) {}
  WARPLOOM_DEFAULTED MmaStage(MmaStage&&) noexcept = default;
  WARPLOOM_DEFAULTED ~MmaStage() noexcept = default;

  /// The full barrier, which release() commits to.
  WARPLOOM_FN CommittedBarrier mbar() const noexcept { return {this->ring_->pipeline.producer_mbar(this->index())}; }
  WARPLOOM_FN void release() noexcept {
    this->settle([&]() WARPLOOM_LAMBDA { this->ring_->release_from_mma(this->stage_); });
  }
  WARPLOOM_FN void claim() const noexcept { this->claim_held(); }
};

/// A finished accumulator that must be released; release() frees it and steps.
template <OutputPipelineConfig opc>
class [[nodiscard]] EpilogueStage : public detail::HeldAccumulator<opc, EpilogueStage<opc>>,
                                    MustRelease<typename OutputTilePipeline<opc>::Protocol> {
 public:
  WARPLOOM_FN explicit EpilogueStage(OutputTilePipeline<opc>& ring) noexcept
      : detail::HeldAccumulator<opc, EpilogueStage>(ring, ring.acquire_for_epilogue()) {}
  WARPLOOM_DEFAULTED EpilogueStage(EpilogueStage&&) noexcept = default;
  WARPLOOM_DEFAULTED ~EpilogueStage() noexcept = default;

  WARPLOOM_FN void release() noexcept {
    this->settle([&]() WARPLOOM_LAMBDA { this->ring_->release_from_epilogue(); });
  }
  WARPLOOM_FN void claim() const noexcept { this->claim_held(); }
};

template <OutputPipelineConfig opc>
class OutputTilePipeline {
 public:
  static constexpr int cta_group = opc.cta_group;
  static constexpr int num_stages = opc.num_stages;
  static constexpr int stage_stride_cols = opc.stage_stride_cols;
  static_assert(num_stages * stage_stride_cols <= 512, "warploom: the accumulator ring exceeds 512 columns");

  struct Protocol {
    static constexpr char name[] = "accum";
    using cluster = ClusterShape<cta_group, cta_group, 1>;
    using filled = filled_by<mma_commit<Mma, to_pair>>;
    using freed = freed_by<every_thread<Epilogue, to_pair_leader>>;
    static constexpr uint32_t bytes = 0;
  };
  using Cluster = typename Protocol::cluster;
  using Pipeline = ProducerConsumerPipeline<num_stages, Protocol>;
  using BarrierArray = typename Pipeline::BarrierArray;
  using Stage = OutputStage<opc>;
  using Tmem = TmemAllocation<cta_group>;

  /// Which CTAs hear of a finished accumulator: this one and, with pairs, its peer.
  static WARPLOOM_FN uint16_t complete_mask() noexcept { return Cluster::pair_mask(arch::cluster_rank()); }

  WARPLOOM_FN OutputTilePipeline(SharedMemBarrier* barriers, Tmem tmem_allocation,
                                 uint16_t complete = complete_mask()) noexcept
      : pipeline(barriers), tmem(tmem_allocation), mma_complete_mask(complete) {
    arch::claim_argument<Protocol>("completion mask", complete, complete_mask());
    arch::claim_accumulators<Protocol>(tmem.addr, num_stages, stage_stride_cols);
  }

  /// One thread, once per CTA. The counts default to what the policies say.
  static WARPLOOM_FN void init_barriers(SharedMemBarrier* barriers,
                                        uint32_t producer_arrivals = Pipeline::producer_count,
                                        uint32_t consumer_arrivals = Pipeline::consumer_count) noexcept {
    Pipeline::init_mbars(barriers, producer_arrivals, consumer_arrivals);
  }

  // ---- MMA side (one lane)
  WARPLOOM_FN Stage acquire_for_mma() const noexcept {
    pipeline.wait_consumer();
    arch::tcgen05_fence_after();
    const Stage acquired = stage(pipeline.producer_stage());
    arch::hold_accumulator(acquired.tmem.address(), AccumulatorSide::mma);
    return acquired;
  }
  WARPLOOM_FN void release_from_mma(const Stage& stage) noexcept {
    arch::give_back_accumulator(stage.tmem.address(), AccumulatorSide::mma);
    const arch::SharedAddress full = arch::shared_address(pipeline.producer_mbar(stage.index));
    Protocol::filled::policy::template signal<Cluster>(full, mma_complete_mask);
    pipeline.producer_step();
  }

  // ---- epilogue side (every thread of the role)
  WARPLOOM_FN Stage acquire_for_epilogue() const noexcept {
    pipeline.wait_producer();
    arch::tcgen05_fence_after();
    const Stage acquired = stage(pipeline.consumer_stage());
    arch::hold_accumulator(acquired.tmem.address(), AccumulatorSide::epilogue);
    return acquired;
  }
  /// Frees the stage: after the last tcgen05.ld of it has been waited for.
  WARPLOOM_FN void signal_epilogue_done() const noexcept {
    arch::give_back_accumulator(stage(pipeline.consumer_stage()).tmem.address(), AccumulatorSide::epilogue);
    arch::tcgen05_fence_before();
    pipeline.template signal_free<Epilogue>();
  }
  WARPLOOM_FN void release_from_epilogue() noexcept {
    signal_epilogue_done();
    pipeline.consumer_step();
  }

  // ---- handles
  WARPLOOM_FN OutputProducer<opc> producer() noexcept { return OutputProducer<opc>(*this); }
  WARPLOOM_FN OutputConsumer<opc> consumer() noexcept { return OutputConsumer<opc>(*this); }
  WARPLOOM_FN MmaStage<opc> acquire_mma_linear() noexcept { return MmaStage<opc>(*this); }
  WARPLOOM_FN EpilogueStage<opc> acquire_epilogue_linear() noexcept { return EpilogueStage<opc>(*this); }
  WARPLOOM_FN OutputKPipeline<opc> per_k() noexcept { return OutputKPipeline<opc>(*this); }
  /// Accumulator and input scales of one K block together.
  template <class Input>
  WARPLOOM_FN EpilogueKContext<opc, Input> per_k_epilogue(Input& input) noexcept {
    return EpilogueKContext<opc, Input>(*this, input);
  }
  WARPLOOM_FN Pipeline get_pipeline() const noexcept { return pipeline; }

  Pipeline pipeline;
  Tmem tmem;
  uint16_t mma_complete_mask;

 private:
  WARPLOOM_FN Stage stage(uint32_t index) const noexcept { return {index, {tmem.addr, index}, &pipeline}; }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
