// A relay of three roles for sm_90 and later: `fetch` brings rows by TMA, `square` squares them, `total` adds them up.
// Two rings lie between them, one filled by TMA, one by threads.
//
//   fetch --input--> square --output--> total
//
// Made to be broken: a planted error changes one number of one barrier, and the kernel hangs. On the GPU the watchdog
// says so (gpu/watchdog.cu), on the loom its report. Its trace points show on either machine's timeline.
#pragma once

#include "warploom/arch/global.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/tma.hpp"
#include "warploom/arch/trace.hpp"
#include "warploom/pipeline/producer_consumer.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

enum class Planted {
  nothing,
  full_count,   ///< output.full expects one arrival more than `square` has threads
  empty_count,  ///< input.empty expects one arrival more than `square` has warps
  bytes,        ///< input.full is armed for 16 bytes more than TMA brings
};

struct RelayParams {
  TensorMap rows;    ///< [CTAs * turns][columns] of u32
  uint32_t* totals;  ///< [CTAs][32]
};

template <Planted planted>
struct Relay {
  static constexpr char name[] = "relay";
  using Params = RelayParams;
  static constexpr uint32_t columns = 64, turns = 16;
  static constexpr bool waits_for_earlier_grids = false;

  struct Fetch : WarpRole<0, 1> {
    static constexpr char name[] = "fetch";
  };
  struct Square : WarpRole<1, 2> {
    static constexpr char name[] = "square";
  };
  struct Total : WarpRole<3, 1> {
    static constexpr char name[] = "total";
  };
  static constexpr int threads = threads_of<Fetch, Square, Total>;

  struct Input {
    static constexpr char name[] = "input";
    using cluster = ClusterShape<1, 1, 1>;
    using filled = filled_by<tma_bytes<Fetch>>;
    using freed = freed_by<lane_per_warp<Square>>;
    static constexpr uint32_t bytes = columns * sizeof(uint32_t) + (planted == Planted::bytes ? 16 : 0);
  };
  struct Output {
    static constexpr char name[] = "output";
    using cluster = ClusterShape<1, 1, 1>;
    using filled = filled_by<every_thread<Square>>;
    using freed = freed_by<every_thread<Total>>;
    static constexpr uint32_t bytes = 0;
  };
  using InputRing = ProducerConsumerPipeline<3, Input>;
  using OutputRing = ProducerConsumerPipeline<2, Output>;

  struct Storage {
    alignas(128) uint32_t input[InputRing::num_stages][columns];
    uint32_t output[OutputRing::num_stages][columns];
    typename InputRing::BarrierArray input_barriers;
    typename OutputRing::BarrierArray output_barriers;
  };

  // Trace points.
  struct SquareRow {
    static constexpr char name[] = "square a row";
  };
  struct Half {
    static constexpr char name[] = "half way";
  };

  static WARPLOOM_FN void fetch(Storage& storage, const Params& params) noexcept {  // one lane
    InputRing input(storage.input_barriers.ptr());
    for (uint32_t turn = 0; turn < turns; ++turn) {
      auto slot = input.produce();  // a free slot, armed
      const int row = static_cast<int>(arch::block_index().x * turns + turn);
      arch::tma_load<1>(arch::shared_address(storage.input[slot.index()]), params.rows,
                        arch::shared_address(slot.mbar()), {0, row});
    }
    input.drain();
  }

  static WARPLOOM_FN void square(Storage& storage) noexcept {  // two warps
    InputRing input(storage.input_barriers.ptr());
    OutputRing output(storage.output_barriers.ptr());
    const uint32_t column = arch::thread_index() - 32 * Square::first_warp;
    for (uint32_t turn = 0; turn < turns; ++turn) {
      auto in = input.consume();
      auto out = output.produce();
      arch::trace_begin<SquareRow>();
      const uint32_t value = arch::load_shared(&storage.input[in.index()][column]);
      arch::store_shared(&storage.output[out.index()][column], value * value);
      arch::trace_end<SquareRow>();
    }
  }

  static WARPLOOM_FN void total(Storage& storage, const Params& params) noexcept {  // one warp
    OutputRing output(storage.output_barriers.ptr());
    const uint32_t lane = arch::lane_index();
    uint32_t sum = 0;
    for (uint32_t turn = 0; turn < turns; ++turn) {
      auto slot = output.consume();
      for (uint32_t column = lane; column < columns; column += 32)
        sum = sum * 31 + arch::load_shared(&storage.output[slot.index()][column]);
      if (turn == turns / 2) {
        arch::trace_instant<Half>();
      }
    }
    arch::store_global(params.totals + 32 * arch::block_index().x + lane, sum);
  }

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t warp = arch::warp_index();
    if (warp == 0 && arch::elect_one()) {
      InputRing::init_mbars(storage.input_barriers.ptr(), InputRing::producer_count,
                            InputRing::consumer_count + (planted == Planted::empty_count ? 1 : 0));
      OutputRing::init_mbars(storage.output_barriers.ptr(),
                             OutputRing::producer_count + (planted == Planted::full_count ? 1 : 0));
      arch::fence_mbarrier_init();
    }
    arch::syncwarp();
    arch::syncthreads();
    if (warp == Fetch::first_warp) {
      arch::name_role<Fetch>();
      if (arch::elect_one()) fetch(storage, params);
    } else if (warp < Total::first_warp) {
      arch::name_role<Square>();
      square(storage);
    } else {
      arch::name_role<Total>();
      total(storage, params);
    }
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
