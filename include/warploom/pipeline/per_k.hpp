// The accumulator ring used once per K block instead of once per tile: what blockwise FP8 needs, where every block has
// scales of its own and the sum lives in registers.
//
//   { auto acc = output.per_k().produce(); umma(acc, in.a(), in.b(), Accumulate::fresh); }   // MMA: leaving commits
//   auto part = output.per_k_epilogue(input);         // epilogue: accumulator and scales of one K block
//   const float scale = part.take_scales();           // the slot is free again
//   part.drain<columns>([&](const auto& values, int column) { add(values, column, scale); });
#pragma once

#include "warploom/pipeline/input.hpp"
#include "warploom/pipeline/output.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// A free accumulator for one K block, on the MMA lane. Leaving commits.
template <OutputPipelineConfig opc>
class [[nodiscard]] MmaKStage : public OutputProducer<opc> {
 public:
  WARPLOOM_FN explicit MmaKStage(OutputTilePipeline<opc>* ring, int k = 0) noexcept
      : OutputProducer<opc>(*ring), k_(k) {}
  WARPLOOM_DEFAULTED ~MmaKStage() noexcept = default;
  WARPLOOM_FN int k() const noexcept { return k_; }

 private:
  int k_;
};

/// A finished K block for one scope, without the input ring. Leaving frees the accumulator.
template <OutputPipelineConfig opc>
using PerKConsumerStage = OutputConsumer<opc>;

/// The per-K view of an accumulator ring.
template <OutputPipelineConfig opc>
class OutputKPipeline {
 public:
  WARPLOOM_FN explicit OutputKPipeline(OutputTilePipeline<opc>& ring) noexcept : ring_(&ring) {}
  WARPLOOM_FN MmaKStage<opc> produce() const noexcept { return MmaKStage<opc>(ring_); }
  WARPLOOM_FN PerKConsumerStage<opc> consume() const noexcept { return PerKConsumerStage<opc>(*ring_); }

 private:
  OutputTilePipeline<opc>* ring_;
};

/// One K block as the epilogue holds it: the accumulator and the input slot whose scales belong to it. Each may be
/// given back early, once it is in registers.
template <OutputPipelineConfig opc, class Input>
class EpilogueKStage : Scope {
 public:
  static constexpr int columns_per_load = 32;

  WARPLOOM_FN EpilogueKStage(OutputTilePipeline<opc>& output, Input& input, int k) noexcept
      : output_pipeline_ptr(&output),
        input_pipeline_ptr(&input),
        output_stage(output.acquire_for_epilogue()),
        input_stage_index(input.pipeline.consumer_stage()),
        k_(k) {
    input.wait_scales();
  }

  WARPLOOM_FN int k() const noexcept { return k_; }
  WARPLOOM_FN const TmemStage<opc>& tmem() const noexcept {
    accumulator_.claim();
    return output_stage.tmem;
  }

  /// The A scale of this thread's row; the slot is free again.
  WARPLOOM_FN float take_scales() noexcept {
    slot_.claim();
    const auto scales = input_pipeline_ptr->a_scales(input_stage_index);
    const float scale = arch::load_shared(scales.data + arch::thread_index() - 32 * Epilogue::first_warp);
    arrive_input();
    return scale;
  }
  /// Lets go of the input slot now; leaving then signals the accumulator only.
  WARPLOOM_FN void arrive_input() noexcept {
    slot_.settle([&]() WARPLOOM_LAMBDA { input_pipeline_ptr->pipeline.template signal_free<Epilogue>(); });
  }
  /// Lets go of the accumulator now: every load of it must have been waited for.
  WARPLOOM_FN void free_accumulator() noexcept {
    accumulator_.settle([&]() WARPLOOM_LAMBDA { output_pipeline_ptr->signal_epilogue_done(); });
  }

  /// Hands `f(fragment, column)` the accumulator row of this thread, 32 columns at a time, the next load in flight
  /// meanwhile. The accumulator is free after the last load, before the arithmetic on it.
  template <int columns, class F>
  WARPLOOM_FN void drain(F&& f) noexcept {
    static_assert(columns % columns_per_load == 0, "warploom: an accumulator is drained 32 columns at a time");
    drain_from<0, columns>(f, [] {});
  }

  OutputTilePipeline<opc>* output_pipeline_ptr;
  Input* input_pipeline_ptr;
  OutputStage<opc> output_stage;
  uint32_t input_stage_index;

 protected:
  ~EpilogueKStage() noexcept = default;

 private:
  using Part = arch::Fragment<uint32_t, columns_per_load>;

  // Recursion instead of a loop keeps every fragment index a constant: an array of fragments must stay in registers.
  template <int column, int columns, class F, class Previous>
  WARPLOOM_FN void drain_from(F& f, Previous&& previous) noexcept {
    Part part;
    arch::tmem_load_32x32b(part, tmem().address().lane(32 * (arch::warp_index() % 4)).column(column));
    previous();
    arch::tmem_wait_load();
    auto use = [&]() WARPLOOM_LAMBDA { f(part, column); };
    if constexpr (column + columns_per_load < columns) {
      drain_from<column + columns_per_load, columns>(f, use);
    } else {
      free_accumulator();
      use();
    }
  }

  int k_;
  Held<typename Input::Protocol> slot_;
  Held<typename OutputTilePipeline<opc>::Protocol> accumulator_;
};

/// One K block for one scope. Entering waits for the accumulator and for the scales; the context is the stage. Leaving
/// gives back what is still held, and steps both rings.
template <OutputPipelineConfig opc, class Input>
class [[nodiscard]] EpilogueKContext : public EpilogueKStage<opc, Input> {
 public:
  using OutputPipelineType = OutputTilePipeline<opc>;
  using InputPipelineType = Input;
  using OutputStageType = OutputStage<opc>;
  using CombinedStageType = EpilogueKStage<opc, Input>;
  static constexpr int cta_group = opc.cta_group;
  static constexpr int num_output_stages = opc.num_stages;
  static constexpr int num_input_stages = Input::num_stages;

  /// Both rings, as a range of K blocks hands them on.
  struct Rings {
    OutputPipelineType* output;
    Input* input;
  };
  WARPLOOM_FN EpilogueKContext(const Rings& rings, int k) noexcept : EpilogueKContext(*rings.output, *rings.input, k) {}
  WARPLOOM_FN EpilogueKContext(OutputPipelineType& output, Input& input, int k = 0) noexcept
      : CombinedStageType(output, input, k) {}
  WARPLOOM_FN ~EpilogueKContext() noexcept {
    this->arrive_input();
    this->input_pipeline_ptr->pipeline.consumer_step();
    this->free_accumulator();
    this->output_pipeline_ptr->pipeline.consumer_step();
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
