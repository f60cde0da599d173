// The kernels whose runs become scripts: the library's pipelines with as few stages, K blocks and tiles as show a ring
// going round. Their results are of no interest here, only that the checker finds nothing.
#include <memory>

#include "recorded.hpp"
#include "warploom/arch/cluster.hpp"
#include "warploom/arch/global.hpp"
#include "warploom/epilogue/warpgroup_writer.hpp"
#include "warploom/epilogue/writer.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/loom/tensor_map.hpp"
#include "warploom/schedule/static_persistent.hpp"
#include "warploom/warp/hopper_skeleton.hpp"
#include "warploom/warp/skeleton.hpp"
#include "warploom/warp/wgmma.hpp"

namespace warploom::loom::check {
namespace {

// ---- the host's part

struct Maps {
  TensorMap a, b, d;
  int tiles, k_blocks;
};

class Host {
 public:
  explicit Host(Chip chip) : chip_(chip), in_(in_words), out_(out_words) {
    // Alignment that TMA asks for.
    in_data_ = aligned(in_.data());
    out_data_ = aligned(out_.data());
  }
  /// Rows of 64 bf16, as many as anybody here needs.
  TensorMap map(bool output, int rows, int columns, int box_rows) {
    TensorMapArgs args;
    args.type = TmaType::bf16;
    args.address = output ? out_data_ : in_data_;
    args.dims = {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), 1, 1, 1};
    args.strides = {static_cast<uint64_t>(columns) * 2, 16, 16, 16};
    args.box = {64, static_cast<uint32_t>(box_rows), 1, 1, 1};
    args.swizzle = Swizzle::b128;
    Result<TensorMap> map = encode_tensor_map(args, chip_);
    if (!map && trouble_.empty()) trouble_ = map.error();
    return map ? *map : TensorMap{};
  }
  template <class Kernel>
  std::string launch(const typename Kernel::Params& params, uint32_t ctas, uint64_t seed) {
    if (!trouble_.empty()) return trouble_;
    const LaunchConfig config{.kernel = Kernel::name,
                              .grid = {ctas},
                              .cluster = {ctas},
                              .threads = Kernel::threads,
                              .shared_bytes = sizeof(typename Kernel::Storage)};
    const TensorRef tensors[] = {{in_.data(), in_words * 4, Access::read, "in"},
                                 {out_.data(), out_words * 4, Access::write, "out"}};
    Options options;
    options.check = true;
    options.workers = 1;
    options.schedule = {Policy::random, seed, -1};
    const auto outcome = loom::launch(
        config, [](const void* p) { Kernel::run(*static_cast<const typename Kernel::Params*>(p)); }, &params, tensors,
        options);
    return outcome.ok() ? std::string() : to_text(outcome.report);
  }
  uint32_t* words() { return out_data_; }

 private:
  static constexpr size_t in_words = 1 << 18, out_words = 1 << 18;
  static uint32_t* aligned(uint32_t* data) {
    return reinterpret_cast<uint32_t*>((reinterpret_cast<uintptr_t>(data) + 127) / 128 * 128);
  }
  Chip chip_;
  std::vector<uint32_t> in_, out_;
  uint32_t *in_data_, *out_data_;
  std::string trouble_;
};

// ---- Blackwell: TMA, tcgen05 and an epilogue that stores by TMA, or one that only reads the accumulator

struct GemmParams {
  Maps maps;
  uint32_t* out;
};

/// An epilogue that keeps what it has read.
struct NoWriter {
  struct Storage {};
  WARPLOOM_FN void finish() const noexcept {}
};

template <class Cluster_, int stages, int sums, bool stores>
struct SmallGemm {
  static constexpr char name[] = "small-gemm";
  static constexpr bool waits_for_earlier_grids = false;
  using Cluster = Cluster_;
  using Params = GemmParams;
  static constexpr int tile_m = 128, tile_n = 64;
  static constexpr int threads = threads_of<Epilogue, Load, Mma, EpilogueLoad>;
  static constexpr OutputPipelineConfig opc{
      .num_stages = sums, .stage_stride_cols = tile_n, .cta_group = Cluster::cta_group};
  using Payload = StandardTilePayload<bf16, bf16, tile_m, tile_n, Cluster>;
  using Input =
      InputTilePipeline<Payload, stages, filled_by<tma_bytes<Load>>, freed_by<mma_commit<Mma, to_operand_sources>>>;
  using Writer = std::conditional_t<stores, TileWriter<SmemTile<bf16, tile_m, tile_n, Swizzle::b128>>, NoWriter>;

  struct Storage {
    typename Input::Storage input;
    typename Writer::Storage writer;
    OutputStorage<opc> output;
  };
  static void init_barriers(Storage& storage) noexcept { Input::init_barriers(storage.input); }

  void load(Tile tile) noexcept {
    for (auto slot : input.produce(tile.k_blocks())) slot.load(a[tile.m], b[tile.n]);
  }
  template <class Context>
  void mma(Context& context, Tile tile) noexcept {
    auto acc = context.output_pipeline.producer();
    for (int k = 0; k < tile.k_blocks(); ++k) {
      auto in = input.consume();
      umma(acc.tmem(), in.a(), in.b(), k == 0 ? Accumulate::fresh : Accumulate::onto);
    }
  }
  template <class Context>
  void epilogue(Context& context, Tile tile) noexcept {
    Row row;
    {
      auto acc = context.output_pipeline.consumer();
      arch::tmem_load_32x32b(row.values, acc.tmem().address().lane(32 * (arch::warp_index() % 4)));
      arch::tmem_wait_load();
    }
    if constexpr (stores)
      writer.write(Strip<tile_n>(row, 0, 1.0f), tile.m * tile_m, tile.n * tile_n);
    else
      arch::store_global(params.out + 256 * arch::cluster_rank() + arch::thread_index(), row.values[0]);
  }

  struct Row {
    arch::Fragment<uint32_t, tile_n> values;
    float operator[](int column) const noexcept { return arch::as_float(values[column]); }
  };

  SmallGemm(const Params& p, Storage& storage) noexcept
      : params(p), input(storage.input), writer(make_writer(p, storage)), a{&p.maps.a, tile_m}, b{&p.maps.b, tile_n} {}
  static Writer make_writer(const Params& p, Storage& storage) noexcept {
    if constexpr (stores) {
      return Writer({&p.maps.d, reinterpret_cast<bf16*>(p.out), tile_n, p.maps.tiles * tile_m, tile_n}, storage.writer);
    } else {
      (void)p, (void)storage;
      return {};
    }
  }
  StaticPersistent<Cluster> tiles() const noexcept { return {params.maps.tiles, 1, params.maps.k_blocks}; }
  static void run(const Params& params) noexcept { Skeleton<SmallGemm>::run(params); }

  const Params& params;
  Input input;
  Writer writer;
  TileLoader a, b;
};

template <class Cluster, int stages, int sums, bool stores, int tiles, int k_blocks>
std::string run_gemm(uint64_t seed) {
  using Kernel = SmallGemm<Cluster, stages, sums, stores>;
  Host host(Chip::sm100);
  const GemmParams params{{host.map(false, 128 * tiles, 64 * k_blocks, Kernel::Payload::a_slice_rows),
                           host.map(false, 64, 64 * k_blocks, Kernel::Payload::b_slice_rows),
                           host.map(true, 128 * tiles, 64, 128), tiles, k_blocks},
                          host.words()};
  return host.launch<Kernel>(params, Cluster::size, seed);
}

// ---- Hopper: TMA, wgmma and the writer of a warpgroup

template <int stages>
struct SmallHopper {
  static constexpr char name[] = "small-hopper";
  using Cluster = ClusterShape<1, 1, 1>;
  using Params = GemmParams;
  using Roles = HopperRoles<1>;
  static constexpr bool ping_pong = false, waits_for_earlier_grids = false;
  static constexpr int tile_m = 64, tile_n = 64, threads = Roles::threads;
  using Payload = StandardTilePayload<bf16, bf16, tile_m, tile_n, Cluster>;
  using Input = InputTilePipeline<Payload, stages, filled_by<tma_bytes<typename Roles::Load>>,
                                  freed_by<wgmma_warps<typename Roles::Math, to_operand_sources>>>;
  using Accumulator = WarpgroupAccumulator<tile_m, tile_n>;
  using Writer = WarpgroupWriter<tile_m, 1>;
  struct Storage {
    typename Input::Storage input;
    typename Writer::Storage writer;
  };
  static void init_barriers(Storage& storage) noexcept { Input::init_barriers(storage.input); }

  void load(Tile tile) noexcept {
    for (auto slot : input.produce(tile.k_blocks())) slot.load(a[tile.m], b[tile.n]);
  }
  void math(Tile tile) noexcept {
    Accumulator sum;
    for (auto in : sum.template over<typename Roles::Math>(input, tile.k_blocks())) sum.mma(in.a(), in.b());
    writer.write(sum, tile.m * tile_m, tile.n * tile_n);
  }

  SmallHopper(const Params& p, Storage& storage, uint32_t group) noexcept
      : params(p),
        input(storage.input),
        writer(&p.maps.d, storage.writer, group),
        a{&p.maps.a, tile_m},
        b{&p.maps.b, tile_n} {}
  StaticPersistent<Cluster> tiles() const noexcept { return {params.maps.tiles, 1, params.maps.k_blocks}; }
  static void run(const Params& params) noexcept { HopperSkeleton<SmallHopper>::run(params); }

  const Params& params;
  Input input;
  Writer writer;
  TileLoader a, b;
};

template <int stages, int tiles, int k_blocks>
std::string run_hopper(uint64_t seed) {
  Host host(Chip::sm90);
  const GemmParams params{{host.map(false, 64 * tiles, 64 * k_blocks, 64), host.map(false, 64, 64 * k_blocks, 64),
                           host.map(true, 64 * tiles, 64, 64), tiles, k_blocks},
                          host.words()};
  return host.launch<SmallHopper<stages>>(params, 1, seed);
}

// ---- a table that the CTAs of a cluster share: each loads its part for all, warps copy it out by TMA

template <int ctas, int stages, int readers, int rounds>
struct SharedTable {
  static constexpr char name[] = "shared-table";
  using Params = GemmParams;
  using Cluster = ClusterShape<1, ctas, 1>;
  struct Fetch : WarpRole<0, 1> {
    static constexpr char name[] = "fetch";
  };
  struct Copy : WarpRole<1, readers> {
    static constexpr char name[] = "copy";
  };
  static constexpr int threads = threads_of<Fetch, Copy>;
  using Part = SmemTile<bf16, 8, 64, Swizzle::b128>;
  struct Table {
    static constexpr char name[] = "table";
    using cluster = Cluster;
    using filled = filled_by<tma_bytes<Fetch>>;
    using freed = freed_by<lane_per_warp<Copy, to_cluster>>;
    static constexpr uint32_t bytes = ctas * Part::bytes;
  };
  using Ring = ProducerConsumerPipeline<stages, Table>;
  struct Storage {
    typename Part::Storage table[stages][ctas];
    typename Part::Storage out[readers];
    typename Ring::BarrierArray barriers;
  };

  static void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t warp = arch::warp_index(), rank = arch::cluster_rank();
    if (warp == 0 && arch::elect_one()) {
      Ring::init_mbars(storage.barriers.ptr());
      arch::fence_mbarrier_init();
    }
    arch::syncwarp();
    meet<Cluster>();
    Ring ring(storage.barriers.ptr());
    if (warp == 0) {
      arch::name_role<Fetch>();
      if (arch::elect_one()) {
        for (int round = 0; round < rounds; ++round) {
          auto slot = ring.produce();
          const arch::SharedAddress to = Part(storage.table[slot.index()][rank]).address();
          const arch::Coord2 at{0, 8 * (round * ctas + static_cast<int>(rank))};
          if constexpr (ctas == 1)
            arch::tma_load<1>(to, params.maps.a, arch::shared_address(slot.mbar()), at);
          else
            arch::tma_load_multicast<1>(to, params.maps.a, arch::shared_address(slot.mbar()), at,
                                        static_cast<uint16_t>((1u << ctas) - 1));
        }
        ring.drain();
      }
    } else {
      arch::name_role<Copy>();
      const uint32_t lane = arch::lane_index();
      const Part out(storage.out[warp - 1]);
      for (int round = 0; round < rounds; ++round) {
        Unit sum[2] = {};
        {
          auto slot = ring.consume();
          for (uint32_t i = 0; i < 2; ++i)
            for (int part = 0; part < ctas; ++part)
              sum[i].words[0] +=
                  arch::load_shared(reinterpret_cast<const Unit*>(
                                        Part(storage.table[slot.index()][part]).unit(lane % 8, lane / 8 + 4 * i)))
                      .words[0];
        }
        if (lane == 0) arch::bulk_wait_group_read<0>();
        arch::syncwarp();
        for (uint32_t i = 0; i < 2; ++i)
          arch::store_shared(reinterpret_cast<Unit*>(out.unit(lane % 8, lane / 8 + 4 * i)), sum[i]);
        arch::fence_proxy_async_shared();
        arch::syncwarp();
        if (lane == 0) {
          arch::tma_store(params.maps.d, out.address(), {0, 8 * static_cast<int>(rank * readers + warp - 1)});
          arch::bulk_commit_group();
        }
      }
      if (lane == 0) arch::bulk_wait_group_read<0>();
    }
    arch::syncwarp();
    if constexpr (ctas > 1) meet<Cluster>();
  }
};

template <int ctas, int stages, int readers, int rounds>
std::string run_table(uint64_t seed) {
  Host host(Chip::sm90);
  const GemmParams params{
      {host.map(false, 8 * rounds * ctas, 64, 8), {}, host.map(true, 8 * ctas * readers, 64, 8), 1, 1}, host.words()};
  return host.launch<SharedTable<ctas, stages, readers, rounds>>(params, ctas, seed);
}

// ---- two rings in a row, the second filled by threads

template <int stages, int rounds>
struct Relay {
  static constexpr char name[] = "relay";
  using Params = GemmParams;
  using Cluster = ClusterShape<1, 1, 1>;
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
  using Part = SmemTile<bf16, 8, 64, Swizzle::b128>;
  struct Input {
    static constexpr char name[] = "input";
    using cluster = Cluster;
    using filled = filled_by<tma_bytes<Fetch>>;
    using freed = freed_by<lane_per_warp<Square>>;
    static constexpr uint32_t bytes = Part::bytes;
  };
  struct Output {
    static constexpr char name[] = "output";
    using cluster = Cluster;
    using filled = filled_by<every_thread<Square>>;
    using freed = freed_by<every_thread<Total>>;
    static constexpr uint32_t bytes = 0;
  };
  using InputRing = ProducerConsumerPipeline<stages, Input>;
  using OutputRing = ProducerConsumerPipeline<2, Output>;
  struct Storage {
    typename Part::Storage input[stages];
    uint32_t output[2][64];
    typename InputRing::BarrierArray input_barriers;
    typename OutputRing::BarrierArray output_barriers;
  };

  static void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t warp = arch::warp_index(), lane = arch::lane_index();
    if (warp == 0 && arch::elect_one()) {
      InputRing::init_mbars(storage.input_barriers.ptr());
      OutputRing::init_mbars(storage.output_barriers.ptr());
      arch::fence_mbarrier_init();
    }
    arch::syncwarp();
    arch::syncthreads();
    InputRing input(storage.input_barriers.ptr());
    OutputRing output(storage.output_barriers.ptr());
    if (warp == 0) {
      arch::name_role<Fetch>();
      if (!arch::elect_one()) return;
      for (int round = 0; round < rounds; ++round) {
        auto slot = input.produce();
        arch::tma_load<1>(Part(storage.input[slot.index()]).address(), params.maps.a, arch::shared_address(slot.mbar()),
                          {0, 8 * round});
      }
      input.drain();
    } else if (warp < 3) {
      arch::name_role<Square>();
      const uint32_t column = 32 * (warp - 1) + lane;
      for (int round = 0; round < rounds; ++round) {
        auto in = input.consume();
        auto out = output.produce();
        const uint32_t value = arch::load_shared(
            reinterpret_cast<const uint32_t*>(Part(storage.input[in.index()]).unit(column % 8, column / 8)));
        arch::store_shared(&storage.output[out.index()][column], value * value);
      }
    } else {
      arch::name_role<Total>();
      uint32_t sum = 0;
      for (int round = 0; round < rounds; ++round) {
        auto slot = output.consume();
        for (uint32_t column = lane; column < 64; column += 32)
          sum += arch::load_shared(&storage.output[slot.index()][column]);
      }
      arch::store_global(params.out + lane, sum);
    }
  }
};

template <int stages, int rounds>
std::string run_relay(uint64_t seed) {
  Host host(Chip::sm90);
  const GemmParams params{{host.map(false, 8 * rounds, 64, 8), {}, {}, 1, 1}, host.words()};
  return host.launch<Relay<stages, rounds>>(params, 1, seed);
}

using One = ClusterShape<1, 1, 1>;
using Pair = ClusterShape<2, 2, 1>;

}  // namespace

std::vector<RecordedKernel> recorded_kernels() {
  return {
      {"gemm, 2 stages, 1 accumulator, 1 tile of 3 blocks", run_gemm<One, 2, 1, false, 1, 3>},
      {"gemm, 2 stages, 1 accumulator, 2 tiles of 2 blocks", run_gemm<One, 2, 1, false, 2, 2>},
      {"gemm, 3 stages, 1 accumulator, 2 tiles of 4 blocks", run_gemm<One, 3, 1, false, 2, 4>},
      {"gemm, 2 stages, 2 accumulators, 3 tiles of 2 blocks", run_gemm<One, 2, 2, false, 3, 2>},
      {"gemm with TMA stores, 2 stages, 1 accumulator, 2 tiles of 2 blocks", run_gemm<One, 2, 1, true, 2, 2>},
      {"gemm with TMA stores, 2 stages, 2 accumulators, 3 tiles of 2 blocks", run_gemm<One, 2, 2, true, 3, 2>},
      {"gemm on a CTA pair, 1 stage, 1 accumulator, 1 tile of 2 blocks", run_gemm<Pair, 1, 1, false, 2, 2>, true},
      {"wgmma gemm, 2 stages, 1 tile of 4 blocks", run_hopper<2, 1, 4>},
      {"wgmma gemm, 3 stages, 2 tiles of 3 blocks", run_hopper<3, 2, 3>},
      {"wgmma gemm, 2 stages, 3 tiles of 2 blocks", run_hopper<2, 3, 2>},
      {"table, 1 CTA, 2 stages, 2 readers, 4 rounds", run_table<1, 2, 2, 4>},
      {"table shared by 2 CTAs, 2 stages, 1 reader each, 4 rounds", run_table<2, 2, 1, 4>},
      {"table shared by 2 CTAs, 2 stages, 2 readers each, 3 rounds", run_table<2, 2, 2, 3>},
      {"relay, 2 stages, 4 rounds", run_relay<2, 4>},
      {"relay, 3 stages, 5 rounds", run_relay<3, 5>},
  };
}

}  // namespace warploom::loom::check
