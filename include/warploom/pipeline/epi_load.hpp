// The residual ring: tiles of C, for D = acc + beta*C, from the epilogue-load warp to the epilogue warps.
//
//   { auto slot = residual.produce(); residual.load(slot, c[m], n); }  // epilogue-load: a free slot, armed
//   { auto slot = residual.consume(); read(residual.tile(slot)); }      // every epilogue thread; leaving frees it
//
// A row without a tensor map, a bias, comes by cp.async: BiasPipeline<stages, BiasRow<bf16, 128>>, whose producer side
// runs on the whole epilogue-load warp.
#pragma once

#include "warploom/pipeline/input.hpp"
#include "warploom/pipeline/tile.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// `Freed`: who gives a slot back; every epilogue thread, unless another policy is named. `Filled`: what brings it.
template <int stages, class Tile_, class Freed = freed_by<every_thread<Epilogue>>,
          class Filled = filled_by<tma_bytes<EpilogueLoad>>>
class EpiLoadPipeline {
 public:
  using Tile = Tile_;
  static constexpr int num_stages = stages;

  struct Protocol {
    static constexpr char name[] = "residual";
    using cluster = ClusterShape<1, 1, 1>;
    using filled = Filled;
    using freed = Freed;
    static constexpr uint32_t bytes = Filled::counts_bytes ? Tile::bytes : 0;
  };
  using Pipeline = ProducerConsumerPipeline<stages, Protocol>;

  using BarrierStorage = typename Pipeline::BarrierArray;
  struct TileStorage {
    typename Tile::Storage tiles[stages];
  };
  struct Storage : TileStorage {
    BarrierStorage barriers;
  };

  WARPLOOM_FN explicit EpiLoadPipeline(Storage& storage) noexcept : EpiLoadPipeline(storage, storage.barriers) {}
  /// Tiles and barriers apart: together, the barriers take as much room as the tiles' alignment.
  WARPLOOM_FN EpiLoadPipeline(TileStorage& tiles, BarrierStorage& barriers) noexcept
      : pipeline(barriers.ptr()), storage_(&tiles) {}

  /// One thread, once per CTA. The counts default to what the policies say.
  static WARPLOOM_FN void init_barriers(Storage& storage, uint32_t producer_arv_count = Pipeline::producer_count,
                                        uint32_t consumer_arv_count = Pipeline::consumer_count) noexcept {
    Pipeline::init_mbars(storage.barriers.ptr(), producer_arv_count, consumer_arv_count);
  }
  static WARPLOOM_FN void init_barriers(BarrierStorage& barriers) noexcept { Pipeline::init_mbars(barriers.ptr()); }

  /// The tile in a slot.
  WARPLOOM_FN Tile tile(uint32_t index) const noexcept { return Tile(storage_->tiles[index]); }

  // ---- epilogue-load (one lane)
  /// Brings the tile that starts at this row and column into a slot of produce() or acquire_producer().
  template <class Slot>
  WARPLOOM_FN void load(const Slot& slot, TileLoader::Row source, int column) const noexcept {
    arch::tma_load<1>(tile(slot.index()).address(), *source.map, arch::shared_address(slot.mbar()),
                      {column, source.row});
  }
  /// The whole warp, where cp.async fills the ring: `count` elements from `source`, 16-byte aligned, zeros after them.
  /// The slot is full once the copies of every lane have landed.
  template <class Slot>
  WARPLOOM_FN void load_row(const Slot& slot, const typename Tile::Element* source, int count) const noexcept {
    static_assert(!Filled::counts_bytes && Tile::bytes % 16 == 0, "warploom: load_row fills a ring of cp.async rows");
    constexpr int per_copy = 16 / sizeof(typename Tile::Element);
    const arch::SharedAddress row = tile(slot.index()).address();
    WARPLOOM_UNROLL
    for (int first = 0; first < static_cast<int>(Tile::bytes) / 16; first += 32) {
      const int copy = first + static_cast<int>(arch::lane_index());
      if (copy >= static_cast<int>(Tile::bytes) / 16) break;
      const int left = count - copy * per_copy;
      const int elements = left < 0 ? 0 : left < per_copy ? left : per_copy;
      // A copy of nothing still names an address that is there.
      arch::cp_async<16>(row + copy * 16, elements == 0 ? source : source + copy * per_copy,
                         elements * sizeof(typename Tile::Element));
    }
  }
  WARPLOOM_FN ProduceContext<Pipeline> produce() noexcept { return pipeline.produce(); }
  WARPLOOM_FN ProducerStage<Pipeline> acquire_producer() noexcept { return pipeline.acquire_producer(); }
  WARPLOOM_FN void wait_consumer() const noexcept { pipeline.wait_consumer(); }
  WARPLOOM_FN void arm() const noexcept { pipeline.arm(); }  ///< by hand: after wait_consumer, before the copy
  WARPLOOM_FN MbarPtr producer_mbar() const noexcept { return pipeline.producer_mbar(pipeline.producer_stage()); }
  WARPLOOM_FN uint32_t producer_stage() const noexcept { return pipeline.producer_stage(); }
  WARPLOOM_FN void producer_step() noexcept { pipeline.producer_step(); }

  // ---- epilogue (every thread)
  WARPLOOM_FN ConsumeContext<Pipeline, Epilogue> consume() noexcept { return pipeline.template consume<Epilogue>(); }
  WARPLOOM_FN ExplicitConsumeContext<Pipeline, Epilogue> consume_explicit() noexcept {
    return pipeline.template consume_explicit<Epilogue>();
  }
  WARPLOOM_FN ConsumerStage<Pipeline, Epilogue> acquire_consumer() noexcept {
    return pipeline.template acquire_consumer<Epilogue>();
  }
  WARPLOOM_FN void wait_producer() const noexcept { pipeline.wait_producer(); }
  WARPLOOM_FN uint32_t consumer_stage() const noexcept { return pipeline.consumer_stage(); }
  WARPLOOM_FN void consumer_step() noexcept { pipeline.consumer_step(); }

  Pipeline pipeline;

 private:
  TileStorage* storage_;
};

/// One row of `count` elements.
template <class T, int count>
using BiasRow = SmemTile<T, 1, count, Swizzle::none>;

/// Rows of a bias, by cp.async.
template <int stages, class Row, class Freed = freed_by<every_thread<Epilogue>>>
using BiasPipeline = EpiLoadPipeline<stages, Row, Freed, filled_by<cp_async_arrive<EpilogueLoad>>>;

}  // namespace warploom::inline WARPLOOM_MACHINE
