// The smallest ring: a copy of a matrix of floats, for sm_90 and later. TMA brings boxes of 64 x 64 into two slots, and
// four warps store what they find there with ordinary instructions.
//
// While the warps empty one slot, TMA fills the other. Everything that keeps the two apart is in `Boxes`: who fills a
// slot, who frees it, and how many bytes it holds; the arrive counts follow.
#pragma once

#include "warploom/arch/global.hpp"
#include "warploom/arch/pdl.hpp"
#include "warploom/arch/tma.hpp"
#include "warploom/pipeline/producer_consumer.hpp"
#include "warploom/pipeline/tile.hpp"
#include "warploom/schedule/static_persistent.hpp"
#include "warploom/warp/named.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

struct TwoStageCopyParams {
  TensorMap from;
  float* to;
  int64_t stride;     ///< elements from row to row of `to`, a multiple of 4
  int rows, columns;  ///< columns a multiple of 4
};

struct TwoStageCopy {
  static constexpr char name[] = "two-stage-copy";
  struct Store : WarpRole<0, 4> {
    static constexpr char name[] = "store";
  };
  using Params = TwoStageCopyParams;
  using Cluster = ClusterShape<1, 1, 1>;
  using Box = SmemTile<float, 64, 64, Swizzle::none>;
  static constexpr int threads = threads_of<Store, Load>;
  static constexpr bool waits_for_earlier_grids = true;

  struct Boxes {
    static constexpr char name[] = "boxes";
    using cluster = Cluster;
    using filled = filled_by<tma_bytes<Load>>;
    using freed = freed_by<lane_per_warp<Store>>;
    static constexpr uint32_t bytes = Box::bytes;
  };
  using Ring = ProducerConsumerPipeline<2, Boxes>;

  struct Storage {
    Box::Storage boxes[Ring::num_stages];
    Ring::BarrierArray barriers;
  };

  // ---- the roles

  WARPLOOM_FN void load(Tile tile) noexcept {  // one lane
    auto slot = ring.produce();                // a free slot, armed
    arch::tma_load<1>(box(slot.index()).address(), params.from, arch::shared_address(slot.mbar()),
                      {tile.n * Box::columns, tile.m * Box::rows});
  }

  WARPLOOM_FN void store(Tile tile) noexcept {  // four warps
    auto slot = ring.consume();                 // a full slot; leaving frees it
    constexpr int units = Box::row_bytes / 16, rows_at_once = Store::threads / units;
    const int thread = static_cast<int>(arch::thread_index()), unit = thread % units;
    const int column = tile.n * Box::columns + 4 * unit;
    WARPLOOM_UNROLL
    for (int i = 0; i < Box::rows; i += rows_at_once) {
      const int box_row = i + thread / units, row = tile.m * Box::rows + box_row;
      const char* four = box(slot.index()).unit(static_cast<uint32_t>(box_row), static_cast<uint32_t>(unit));
      if (row < params.rows && column < params.columns)
        arch::store_global(reinterpret_cast<Unit*>(params.to + row * params.stride + column),
                           arch::load_shared(reinterpret_cast<const Unit*>(four)));
    }
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
    arch::grid_dependency_wait();

    TwoStageCopy kernel{params, storage, Ring(storage.barriers.ptr())};
    const StaticPersistent<Cluster> tiles(ceil_div(params.rows, Box::rows), ceil_div(params.columns, Box::columns), 1);
    if (warp < Store::warps) {
      arch::name_role<Store>();
      for (Tile tile : tiles) kernel.store(tile);
    } else {
      arch::name_role<Load>();
      if (arch::elect_one())
        for (Tile tile : tiles) kernel.load(tile);
    }
    arch::grid_launch_dependents();
  }

  WARPLOOM_FN Box box(uint32_t stage) const noexcept { return Box(storage.boxes[stage]); }

  const Params& params;
  Storage& storage;
  Ring ring;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
