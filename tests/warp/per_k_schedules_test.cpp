// The accumulator ring once per K block together with the scales in the input ring, under many schedules: the per-K
// contexts, what they give back early, and the drain.
#include "warp/gemm_schedules_kernel.hpp"

namespace warploom::test {
namespace {

struct PerKParams {
  Tally* tally;
  TensorMap a_map, b_map, scales_map;
  const Operand<e4m3>*a, *b;
  const float* scales;  // [K block][row]
  int scale_rows;
};

template <class Shape_, bool twins>
struct PerKSchedules {
  using Shape = Shape_;
  static constexpr int g = Shape::cta_group, rows = 128, columns = 16 * g, blocks = 7, drained = 32;
  static constexpr OutputPipelineConfig opc{.num_stages = 2, .stage_stride_cols = 32, .cta_group = g};
  using Payload = BlockwiseFP8TilePayload<e4m3, e4m3, rows, columns, Shape>;
  using Input = InputTilePipeline<Payload, 3, filled_by<tma_bytes<Load>>,
                                  freed_by<mma_commit<Mma, to_operand_sources>, lane_per_warp<Epilogue>>>;
  struct Storage {
    typename Input::Storage input;
    OutputStorage<opc> output;
  };

  static void entry(const void* block) noexcept {
    Storage& storage = arch::shared<Storage>();
    PerKSchedules kernel(*static_cast<const PerKParams*>(block), storage);
    run_roles<PerKSchedules, twins>(kernel, storage);
  }

  void load() noexcept {
    const TileLoader a{&params.a_map, rows}, b{&params.b_map, columns}, scales{&params.scales_map, rows};
    const auto m = static_cast<int>(Shape::rank_m(rank)), n = static_cast<int>(Shape::rank_n(rank));
    for (auto slot : input.produce(blocks)) slot.load(a[m], b[n], scales[m]);
    input.drain();
  }

  template <class Side>
  void mma(Side& side) noexcept {
    for (auto accumulator : side.per_k_stages(blocks - 1)) multiply(accumulator.tmem());
    auto last = side.acquire_k_stage_linear();
    multiply(last.tmem());
    last.release();
  }
  void multiply(const TmemStage<opc>& accumulator) noexcept {
    auto in = input.consume();
    umma(accumulator, in.a(), in.b(), Accumulate::fresh);
  }

  template <class Side>
  void epilogue(Side& side) noexcept {
    for (auto part : side.per_k_stages(input, 2)) {  // nothing given back early
      look(part.tmem(), part.k());
      look_at_scale(part.input_stage_index, part.k());
    }
    {
      auto part = side.per_k_stage(input);
      scale_is(part.take_scales(), 2);
      look(part.tmem(), 2);
    }
    {
      auto part = side.output_pipeline.per_k_epilogue(input);
      look(part.tmem(), 3);
      part.free_accumulator();
      look_at_scale(part.input_stage_index, 3);
      part.arrive_input();
      part.arrive_input();
    }
    for (auto part : side.per_k_stages(input, KBlocks(4, 2))) {
      scale_is(part.take_scales(), part.k());
      part.template drain<drained>([&](const auto& fragment, int first) {
        if (first != 0) return;
        for (int i = 0; i < columns; ++i) compare(fragment[i], i, part.k());
        params.tally->counted(columns);
      });
    }
    {
      // The accumulator as a handle of its own, the input ring by hand.
      auto stage = side.acquire_k_stage_linear();
      look(stage.tmem(), 6);
      stage.release();
      input.wait_scales();
      look_at_scale(input.consumer_stage(), 6);
      input.pipeline.template signal_free<Epilogue>();
      input.pipeline.consumer_step();
    }
  }

  int row() const noexcept {
    return static_cast<int>(Shape::rank_m(rank)) * rows + static_cast<int>(arch::thread_index());
  }
  WARPLOOM_FN void look(const TmemStage<opc>& accumulator, int k) noexcept {
    arch::Fragment<uint32_t, columns> fragment;
    arch::tmem_load_32x32b(fragment, accumulator.address().lane(32 * arch::warp_index()));
    arch::tmem_wait_load();
    for (int i = 0; i < columns; ++i) compare(fragment[i], i, k);
    params.tally->counted(columns);
  }
  void compare(uint32_t bits, int i, int k) noexcept {
    const int column = static_cast<int>(Shape::rank_n(rank)) * columns + i;
    const auto sum = static_cast<float>(product(*params.a, *params.b, row(), column, k));
    if (bits != arch::as_bits(sum)) params.tally->differs(bits, arch::as_bits(sum), __LINE__);
  }
  void look_at_scale(uint32_t stage, int k) noexcept {
    scale_is(arch::load_shared(input.a_scales(stage).data + arch::thread_index()), k);
  }
  void scale_is(float scale, int k) noexcept {
    params.tally->equal(arch::as_bits(scale), arch::as_bits(params.scales[k * params.scale_rows + row()]), __LINE__);
  }

  PerKSchedules(const PerKParams& p, Storage& storage) noexcept : params(p), input(storage.input) {}
  const PerKParams& params;
  Input input;
  uint32_t rank = arch::cluster_rank();

  static void run_schedules(uint32_t count) {
    constexpr int all_rows = rows * Shape::m;
    const Operand<e4m3> a(all_rows, blocks, 1), b(columns * Shape::n, blocks, 4);
    std::vector<float> scales;
    for (int i = 0; i < blocks * all_rows; ++i) scales.push_back(static_cast<float>(i + 1));
    TensorMapArgs args;
    args.type = TmaType::f32;
    args.address = scales.data();
    args.dims = {static_cast<uint64_t>(all_rows), blocks, 1, 1, 1};
    args.strides[0] = all_rows * 4;
    args.box = {rows, 1, 1, 1, 1};
    const Result<TensorMap> map = loom::encode_tensor_map(args, loom::Chip::sm100);
    ASSERT_TRUE(map) << map.error();
    Tally tally;
    const PerKParams params{
        &tally, a.map(Payload::a_slice_rows), b.map(Payload::b_slice_rows), *map, &a, &b, scales.data(), all_rows};
    const loom::TensorRef tensors[] = {
        a.ref("A"), b.ref("B"), {scales.data(), scales.size() * 4, loom::Access::read, "scales"}};
    const loom::LaunchConfig config{.kernel = "per-k",
                                    .cluster = {Shape::m, Shape::n, 1},
                                    .threads = threads_of<Epilogue, Load, Mma>,
                                    .shared_bytes = sizeof(Storage)};
    run_under(count, config, &entry, params, tensors, uint64_t{Shape::size} * blocks * rows * (columns + 1));
  }
};

UNDER_SCHEDULES(PerKContexts, OneSm, PerKSchedules<ClusterShape<1, 1, 1>, false>)
UNDER_SOME_SCHEDULES(PerKContexts, OneSmReleased, PerKSchedules<ClusterShape<1, 1, 1>, true>)
UNDER_SOME_SCHEDULES(PerKContexts, Pair, PerKSchedules<ClusterShape<2, 2, 1>, false>)
UNDER_SCHEDULES(PerKContexts, PairReleased, PerKSchedules<ClusterShape<2, 2, 1>, true>)
UNDER_SOME_SCHEDULES(PerKContexts, Shared1x2, PerKSchedules<ClusterShape<1, 1, 2>, false>)

}  // namespace
}  // namespace warploom::test
