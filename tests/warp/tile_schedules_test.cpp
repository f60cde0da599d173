// The accumulator ring once per tile under many schedules: all handles of both sides, tensor memory read and written
// through its typed views (accumulators of 64 and 128 rows), one SM, CTA pairs and clusters that share operands, in the
// scoped contexts and in their twins that must be released.
#include "warp/gemm_schedules_kernel.hpp"

namespace warploom::test {
namespace {

struct TileParams {
  Tally* tally;
  TensorMap a_map, b_map;
  const Operand<bf16>*a, *b;
};

template <class Shape_, int rows, bool twins>
struct TileSchedules {
  using Shape = Shape_;
  static constexpr int g = Shape::cta_group, tiles = 6, blocks = 2, columns = 16 * g;
  static constexpr OutputPipelineConfig opc{.num_stages = 2, .stage_stride_cols = 32, .cta_group = g};
  using Payload = StandardTilePayload<bf16, bf16, rows, columns, Shape>;
  using Input =
      InputTilePipeline<Payload, 3, filled_by<tma_bytes<Load>>, freed_by<mma_commit<Mma, to_operand_sources>>>;
  using Output = OutputTilePipeline<opc>;
  using Op = MmaOp<typename Payload::A, typename Payload::B, Shape>;
  using Accumulator = AccumTensor<rows, columns, g>;
  using Part = typename Accumulator::template Fragments<columns>;
  struct Storage {
    typename Input::Storage input;
    OutputStorage<opc> output;
  };

  static void entry(const void* block) noexcept {
    Storage& storage = arch::shared<Storage>();
    TileSchedules kernel(*static_cast<const TileParams*>(block), storage);
    run_roles<TileSchedules, twins>(kernel, storage);
  }

  void load() noexcept {
    const TileLoader a{&params.a_map, rows}, b{&params.b_map, columns};
    const auto m = static_cast<int>(Shape::rank_m(rank)), n = static_cast<int>(Shape::rank_n(rank));
    for (int tile = 0; tile < tiles; ++tile)
      for (auto slot : input.produce(blocks)) slot.load(a[m + tile * Shape::m], b[n + tile * Shape::n]);
    input.drain();
  }

  // ---- MMA: another handle for each tile

  template <class Side>
  void mma(Side& side) noexcept {
    Output& output = side.output_pipeline;
    for (int tile = 0; tile < tiles; ++tile) {
      switch (tile) {
        case 0: {
          auto stage = output.producer();
          accumulate(stage.tmem());
          break;
        }
        case 1: {
          auto acquired = output.acquire_mma_linear();
          auto stage = static_cast<decltype(acquired)&&>(acquired);
          accumulate(stage.tmem());
          stage.release();
          break;
        }
        case 2: {
          const OutputStage<opc> stage = output.acquire_for_mma();
          accumulate(stage.tmem);
          output.release_from_mma(stage);
          break;
        }
        case 3: {
          auto stage = side.per_k_stage();
          accumulate(stage.tmem());
          break;
        }
        case 4: {
          auto stage = output.per_k().produce();
          accumulate(stage.tmem());
          break;
        }
        case 5: {
          // By hand: operands waited for, multiplied and committed one by one.
          auto stage = side.acquire_k_stage_linear();
          for (int k = 0; k < blocks; ++k) {
            input.pipeline.wait_producer();
            arch::tcgen05_fence_after();
            const uint32_t slot = input.consumer_stage();
            Op::mma(input.a(slot), input.b(slot), stage.tmem_offset(), k == 0 ? Accumulate::fresh : Accumulate::onto);
            Op::commit(input.consumer_mbar(slot));
            input.pipeline.consumer_step();
          }
          Op::commit(stage.mbar());
          stage.release();
          break;
        }
      }
    }
  }
  void accumulate(const TmemStage<opc>& accumulator) noexcept {
    for (int k = 0; k < blocks; ++k) {
      auto in = input.consume();
      umma(accumulator, in.a(), in.b(), k == 0 ? Accumulate::fresh : Accumulate::onto);
    }
  }

  // ---- epilogue

  template <class Side>
  void epilogue(Side& side) noexcept {
    Output& output = side.output_pipeline;
    for (int tile = 0; tile < tiles; ++tile) {
      switch (tile) {
        case 0: {
          auto stage = output.consumer();
          look(stage.tmem().offset(), tile);
          break;
        }
        case 1: {
          auto stage = output.consumer();
          look(stage.tmem().offset(), tile);
          stage.free();
          stage.free();
          break;
        }
        case 2: {
          auto acquired = output.acquire_epilogue_linear();
          auto stage = static_cast<decltype(acquired)&&>(acquired);
          change(stage.tmem_offset(), tile);
          stage.release();
          break;
        }
        case 3: {
          const OutputStage<opc> stage = output.acquire_for_epilogue();
          look(stage.tmem.offset(), tile);
          output.release_from_epilogue();
          break;
        }
        case 4: {
          auto stage = output.per_k().consume();
          change(stage.tmem().offset(), tile);
          break;
        }
        case 5: {
          // The ring waited for by hand.
          auto& ring = output.pipeline;
          ring.wait_producer();
          arch::tcgen05_fence_after();
          const uint32_t index = ring.consumer_stage();
          const auto stage = OutputStage<opc>::from_raw(ring, index, TmemStage<opc>{side.tmem.addr, index}.offset());
          look(stage.tmem.offset(), tile);
          output.release_from_epilogue();
          break;
        }
      }
    }
  }

  /// Every element of the accumulator, seen by the lane that holds it.
  void look(uint32_t offset, int tile, int added = 0) noexcept {
    const Accumulator accumulator{offset};
    Part part;
    accumulator.template load_fragments<columns>(part);
    part.wait_load();
    compare(part.upper, 0, tile, added);
    if constexpr (Accumulator::is_lower_required) compare(part.lower, 16, tile, added);
  }
  template <class Half>
  void compare(const Half& half, int first_row, int tile, int added) noexcept {
    constexpr int warp_rows = Accumulator::is_lower_required ? 32 : 16;
    const auto warp = static_cast<int>(arch::warp_index()), lane = static_cast<int>(arch::lane_index());
    const int m = (static_cast<int>(Shape::rank_m(rank)) + tile * Shape::m) * rows + warp * warp_rows + first_row;
    const int n = (static_cast<int>(Shape::rank_n(rank)) + tile * Shape::n) * columns;
    for (int i = 0; i < columns / 2; ++i) {
      const int row = m + lane / 4 + 8 * (i / 2 % 2), column = n + 8 * (i / 4) + 2 * (lane % 4) + i % 2;
      int sum = added;
      for (int k = 0; k < blocks; ++k) sum += product(*params.a, *params.b, row, column, k);
      const uint32_t want = arch::as_bits(static_cast<float>(sum));
      if (half[i] != want) params.tally->differs(half[i], want, __LINE__);
    }
    params.tally->counted(columns / 2);
  }
  /// Adds one in tensor memory, and reads it back.
  void change(uint32_t offset, int tile) noexcept {
    const Accumulator accumulator{offset};
    uint32_t upper[columns / 2], lower[columns / 2];
    {
      Part part;
      accumulator.template load_fragments<columns>(part);
      part.wait_load();
      for (int i = 0; i < columns / 2; ++i) {
        upper[i] = arch::as_bits(arch::as_float(part.upper[i]) + 1.0f);
        if constexpr (Accumulator::is_lower_required) lower[i] = arch::as_bits(arch::as_float(part.lower[i]) + 1.0f);
      }
    }
    accumulator.store_fragments(upper, lower);
    Part::wait_store();
    look(offset, tile, 1);
  }

  TileSchedules(const TileParams& p, Storage& storage) noexcept : params(p), input(storage.input) {}
  const TileParams& params;
  Input input;
  uint32_t rank = arch::cluster_rank();

  static void run_schedules(uint32_t count) {
    const Operand<bf16> a(rows * Shape::m * tiles, blocks, 1), b(columns * Shape::n * tiles, blocks, 4);
    Tally tally;
    const TileParams params{&tally, a.map(Payload::a_slice_rows), b.map(Payload::b_slice_rows), &a, &b};
    const loom::TensorRef tensors[] = {a.ref("A"), b.ref("B")};
    const loom::LaunchConfig config{.kernel = "tiles",
                                    .cluster = {Shape::m, Shape::n, 1},
                                    .threads = threads_of<Epilogue, Load, Mma>,
                                    .shared_bytes = sizeof(Storage)};
    run_under(count, config, &entry, params, tensors, uint64_t{Shape::size} * tiles * rows * columns);
  }
};

using C1x1 = ClusterShape<1, 1, 1>;
using C2x1 = ClusterShape<1, 2, 1>;
using C1x2 = ClusterShape<1, 1, 2>;
using C2x2 = ClusterShape<1, 2, 2>;
using Pair = ClusterShape<2, 2, 1>;

UNDER_SCHEDULES(TileContexts, HalfAccumulator, TileSchedules<C1x1, 64, false>)
UNDER_SCHEDULES(TileContexts, WholeAccumulatorReleased, TileSchedules<C1x1, 128, true>)
UNDER_SCHEDULES(TileContexts, Pair, TileSchedules<Pair, 128, false>)
UNDER_SOME_SCHEDULES(TileContexts, PairReleased, TileSchedules<Pair, 128, true>)
UNDER_SOME_SCHEDULES(TileContexts, HalfAccumulatorReleased2x1, TileSchedules<C2x1, 64, true>)
UNDER_SOME_SCHEDULES(TileContexts, HalfAccumulator1x2, TileSchedules<C1x2, 64, false>)
UNDER_SOME_SCHEDULES(TileContexts, HalfAccumulator2x2, TileSchedules<C2x2, 64, false>)

}  // namespace
}  // namespace warploom::test
