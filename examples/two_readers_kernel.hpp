// One producer, two readers, for sm_90 and later: the sum and the largest element of every row of a matrix of integers.
// Two warps add up what two others compare, in the same slot of the ring.
//
// A slot may be filled again when both readers have let go of it, and each does so in its own way: every thread of
// `Sum` arrives, one lane per warp of `Largest`. The ring's type says so; that 64 + 2 arrivals make a slot free
// follows.
#pragma once

#include "warploom/arch/global.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/tma.hpp"
#include "warploom/pipeline/producer_consumer.hpp"
#include "warploom/pipeline/tile.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

struct TwoReadersParams {
  TensorMap matrix;
  int32_t *sums, *largest;  ///< one per row
  int rows, columns;
};

struct TwoReaders {
  static constexpr char name[] = "two-readers";
  struct Sum : WarpRole<0, 2> {
    static constexpr char name[] = "sum";
  };
  struct Largest : WarpRole<2, 2> {
    static constexpr char name[] = "largest";
  };
  using Params = TwoReadersParams;
  using Box = SmemTile<int32_t, 64, 64, Swizzle::none>;
  static constexpr int threads = threads_of<Sum, Largest, Load>;
  static constexpr bool waits_for_earlier_grids = false;

  struct Boxes {
    static constexpr char name[] = "boxes";
    using cluster = ClusterShape<1, 1, 1>;
    using filled = filled_by<tma_bytes<Load>>;
    using freed = freed_by<every_thread<Sum>, lane_per_warp<Largest>>;
    static constexpr uint32_t bytes = Box::bytes;
  };
  using Ring = ProducerConsumerPipeline<3, Boxes>;

  struct Storage {
    Box::Storage boxes[Ring::num_stages];
    Ring::BarrierArray barriers;
  };

  // ---- the roles: each CTA has 64 rows, each reading thread one of them

  WARPLOOM_FN void load() noexcept {  // one lane
    for (int column = 0; column < params.columns; column += Box::columns) {
      auto slot = ring.produce();  // a slot that both readers have freed, armed
      arch::tma_load<1>(Box(storage.boxes[slot.index()]).address(), params.matrix, arch::shared_address(slot.mbar()),
                        {column, first_row()});
    }
  }

  WARPLOOM_FN void sum() noexcept {  // two warps
    uint32_t total = 0;
    for (int column = 0; column < params.columns; column += Box::columns) {
      auto slot = ring.consume<Sum>();  // leaving: every thread arrives
      for_each_in_row(slot.index(), column,
                      [&](int32_t value) WARPLOOM_LAMBDA { total += static_cast<uint32_t>(value); });
    }
    store(params.sums, static_cast<int32_t>(total));
  }

  WARPLOOM_FN void find_largest() noexcept {  // two warps
    int32_t most = INT32_MIN;
    for (int column = 0; column < params.columns; column += Box::columns) {
      auto slot = ring.consume<Largest>();  // leaving: one lane per warp arrives
      for_each_in_row(slot.index(), column, [&](int32_t value) WARPLOOM_LAMBDA { most = value > most ? value : most; });
    }
    store(params.largest, most);
  }

  // ---- around them

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t warp = arch::warp_index();
    if (warp == 0 && arch::elect_one()) {
      Ring::init_mbars(storage.barriers.ptr());
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();

    TwoReaders kernel{params, storage, Ring(storage.barriers.ptr())};
    if (warp < Largest::first_warp) {
      arch::name_role<Sum>();
      kernel.sum();
    } else if (warp < Load::first_warp) {
      arch::name_role<Largest>();
      kernel.find_largest();
    } else {
      arch::name_role<Load>();
      if (arch::elect_one()) kernel.load();
    }
  }

  WARPLOOM_FN int first_row() const noexcept { return static_cast<int>(arch::block_index().x) * Box::rows; }
  WARPLOOM_FN int box_row() const noexcept { return static_cast<int>(arch::thread_index()) % Box::rows; }

  /// Lanes begin in different columns, or they would all ask the same bank of shared memory.
  template <class F>
  WARPLOOM_FN void for_each_in_row(uint32_t stage, int column, F&& f) const noexcept {
    const int32_t* const row = Box(storage.boxes[stage]).data + box_row() * Box::columns;
    for (int i = 0; i < Box::columns; ++i) {
      const int at = (i + box_row()) % Box::columns;
      if (column + at < params.columns) f(arch::load_shared(row + at));
    }
  }
  WARPLOOM_FN void store(int32_t* to, int32_t value) const noexcept {
    const int row = first_row() + box_row();
    if (row < params.rows) arch::store_global(to + row, value);
  }

  const Params& params;
  Storage& storage;
  Ring ring;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
