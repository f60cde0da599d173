// The order between the two roles that load: the residual of a tile is asked for only after the tile's first operand
// loads are out, so that it does not delay them.
//
// A ring of two slots with nothing in them. Both sides count full laps and each waits for the other, so no parity can
// be met twice: a load role that runs ahead is held back after two tiles instead of overwriting a signal nobody has
// seen (one toggling barrier without a way back can deadlock: docs/decisions.md).
//
//   auto first = order.first_loads(Input::num_stages);                   // load, per tile
//   for (auto slot : input.produce(k)) { slot.load(...); first.issued(); }
//   order.wait();                                                        // epilogue-load, per tile
#pragma once

#include "warploom/pipeline/producer_consumer.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

template <class LoadRole = Load, class EpilogueLoadRole = EpilogueLoad, int depth = 2>
class LoadOrder {
 public:
  struct Protocol {
    static constexpr char name[] = "load order";
    using cluster = ClusterShape<1, 1, 1>;
    using filled = filled_by<one_thread<LoadRole>>;
    using freed = freed_by<one_thread<EpilogueLoadRole>>;
    static constexpr uint32_t bytes = 0;
  };
  using Pipeline = ProducerConsumerPipeline<depth, Protocol>;
  struct Storage {
    typename Pipeline::BarrierArray barriers;
  };

  WARPLOOM_FN explicit LoadOrder(Storage& storage) noexcept : pipeline(storage.barriers.ptr()) {}
  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept { Pipeline::init_mbars(storage.barriers.ptr()); }

  /// The first operand loads of a tile: announced once `count` of them are out, or at the end of the scope.
  class [[nodiscard]] FirstLoads : Scope {
   public:
    WARPLOOM_FN FirstLoads(Pipeline& pipeline, int count) noexcept
        : pipeline_(pipeline), left_(count > 0 ? count : 1) {}
    WARPLOOM_FN ~FirstLoads() noexcept {
      if (left_ > 0) pipeline_.producer_signal_and_step();
    }
    WARPLOOM_FN void issued() noexcept {
      if (left_ > 0 && --left_ == 0) pipeline_.producer_signal_and_step();
    }

   private:
    Pipeline& pipeline_;
    int left_;
  };
  WARPLOOM_FN FirstLoads first_loads(int count) noexcept { return FirstLoads(pipeline, count); }
  WARPLOOM_FN void wait() noexcept { pipeline.consumer_signal_and_step(); }

  Pipeline pipeline;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
