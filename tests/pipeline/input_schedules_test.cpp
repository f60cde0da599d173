// The input ring under many schedules: every payload, K blocks in groups, clusters that share tiles, and both typed
// ends. What lands in a slot is read back with ordinary loads and compared byte for byte; K blocks of a group that lie
// beyond the tensor bring zeros.
#include <vector>

#include "loom/units/tma.hpp"
#include "support/many_schedules.hpp"
#include "warploom/arch/cluster.hpp"
#include "warploom/pipeline/input.hpp"

namespace warploom::test {
namespace {

struct Loader : WarpRole<0, 1> {
  static constexpr char name[] = "loader";
};
struct Multiplier : WarpRole<1, 1> {
  static constexpr char name[] = "multiplier";
};
struct Scaler : WarpRole<2, 1> {
  static constexpr char name[] = "scaler";
};

/// Bytes whose value follows from where they are: byte c of row r of a tensor.
struct Bytes {
  int rows, columns, salt;
  std::vector<uint8_t> data = {};

  Bytes(int r, int c, int s) : rows(r), columns(c), salt(s) {
    data.resize(static_cast<size_t>(rows) * static_cast<size_t>(columns));
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        data[static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column)] = at(row, column);
  }
  /// What a tile shows at a place, also beyond the tensor.
  uint8_t at(int row, int column) const noexcept {
    if (row >= rows || column >= columns) return 0;
    return static_cast<uint8_t>(row * 29 + column * 7 + column / 128 * 61 + salt);
  }
  uint32_t word(int row, int column) const noexcept {
    uint32_t bits = 0;
    for (int i = 3; i >= 0; --i) bits = bits << 8 | at(row, column + i);
    return bits;
  }
  TensorMap map(TmaType type, int element, int box_columns, int box_rows, Swizzle swizzle) const {
    TensorMapArgs args;
    args.type = type;
    args.address = data.data();
    args.dims = {static_cast<uint64_t>(columns / element), static_cast<uint64_t>(rows), 1, 1, 1};
    args.strides[0] = static_cast<uint64_t>(columns);
    args.box = {static_cast<uint32_t>(box_columns), static_cast<uint32_t>(box_rows), 1, 1, 1};
    args.swizzle = swizzle;
    const Result<TensorMap> made = loom::encode_tensor_map(args, loom::Chip::sm100);
    EXPECT_TRUE(made) << made.error();
    return *made;
  }
  loom::TensorRef ref(const char* name) const { return {data.data(), data.size(), loom::Access::read, name}; }
};

struct InputParams {
  Tally* tally;
  TensorMap a, b, first, second;  // operands, and what else the payload brings
  const Bytes *a_bytes, *b_bytes, *first_bytes, *second_bytes;
};

enum class Extra { none, row_scales, factors };

/// Two output tiles, one after the other; on the first both sides use the ring itself, on the second their ends of it.
/// With `pairs` the leader alone consumes, and its peer looks at its own slots when all is over.
template <class Payload, Extra extra, int stages, int k_group, int blocks, class Freed>
struct InputSchedules {
  using Shape = typename Payload::Cluster;
  using Input = InputTilePipeline<Payload, stages, filled_by<tma_bytes<Loader>>, Freed, k_group>;
  static constexpr bool pairs = Shape::cta_group == 2;
  static constexpr int tiles = 2, slots = Input::slots_of(blocks), sampling = Payload::tile_m > 16 ? 8 : 2;
  static constexpr int row_bytes = 128;
  static constexpr uint32_t threads = 32 * (extra == Extra::row_scales ? 3 : 2);
  struct Storage {
    typename Input::Storage input;
  };

  static void entry(const void* block) noexcept {
    Storage& storage = arch::shared<Storage>();
    if (arch::thread_index() == 0) {
      Input::init_barriers(storage.input);
      arch::fence_mbarrier_init();
    }
    arch::cluster_sync();
    InputSchedules kernel(*static_cast<const InputParams*>(block), storage);
    const uint32_t warp = arch::warp_index();
    if (warp == 0) {
      arch::name_role<Loader>();
      if (arch::elect_one()) kernel.load();
    } else if (warp == 1) {
      arch::name_role<Multiplier>();
      if (!pairs || (Shape::leads(kernel.rank) && arch::elect_one())) kernel.multiply();
    } else if constexpr (extra == Extra::row_scales) {
      arch::name_role<Scaler>();
      kernel.scale();
    }
    arch::syncwarp();
    arch::cluster_sync();
    // The last of the slots that the pair filled is still there.
    if (pairs && warp == 1 && !Shape::leads(kernel.rank)) kernel.look(kernel.last_stage(), tiles - 1, slots - 1);
  }

  // ---- load

  void load() noexcept {
    const TileLoader a{&params.a, Payload::tile_m}, b{&params.b, Payload::tile_n};
    const auto m = static_cast<int>(Shape::rank_m(rank)), n = static_cast<int>(Shape::rank_n(rank));
    for (auto slot : input.produce(blocks)) fill(slot, a[m], b[n], 0);
    auto loads = input.producer();
    const TileLoader::Row a_row = a[m + Shape::m], b_row = b[n + Shape::n];
    for (int s = 0; s < slots; ++s) {
      const int k = s * k_group;
      switch (s % 4) {
        case 0: {
          const arch::Ready ready = loads.try_acquire();
          auto slot = loads.acquire_if_needed(ready, k);
          fill(slot, a_row, b_row, 1);
          break;
        }
        case 1: {
          auto slot = loads.acquire_stage(k);
          fill(slot, a_row, b_row, 1);
          slot.release();
          break;
        }
        case 2: {
          auto slot = loads.acquire(k);
          fill(slot, a_row, b_row, 1);
          break;
        }
        case 3: {
          auto acquired = input.acquire_producer(k);
          auto slot = static_cast<decltype(acquired)&&>(acquired);
          fill(slot, a_row, b_row, 1);
          slot.release();
          break;
        }
      }
    }
    loads.drain();
  }
  template <class Slot>
  void fill(Slot& slot, TileLoader::Row a, TileLoader::Row b, int tile) noexcept {
    params.tally->equal(slot.stage(), input.producer_stage(), __LINE__);
    if constexpr (extra == Extra::none) {
      slot.load(a, b);
    } else if constexpr (extra == Extra::row_scales) {
      const TileLoader scales{&params.first, Payload::tile_m};
      slot.load(a, b, scales[static_cast<int>(Shape::rank_m(rank)) + tile * Shape::m]);
    } else {
      const TileLoader sfa{&params.first, Payload::tile_m / 128}, sfb{&params.second, Payload::tile_n / 128};
      slot.load(a, b, sfa[static_cast<int>(Shape::rank_m(rank)) + tile * Shape::m],
                sfb[static_cast<int>(Shape::rank_n(rank)) + tile * Shape::n]);
    }
  }

  // ---- multiply: reads the operands

  void multiply() noexcept {
    for (int s = 0; s < slots; ++s) {
      if (s % 2 == 0) {
        auto in = input.consume();
        look(in.stage(), 0, s);
      } else {
        auto acquired = input.acquire_consumer();
        auto in = static_cast<decltype(acquired)&&>(acquired);
        look(in.stage(), 0, s);
        in.release();
      }
    }
    auto filled = input.consumer();
    for (int s = 0; s < slots; ++s) {
      switch (s % 3) {
        case 0: {
          const arch::Ready ready = filled.try_acquire();
          auto in = filled.acquire_if_needed(ready);
          look(in.stage(), 1, s);
          break;
        }
        case 1: {
          auto in = filled.acquire_stage();
          look(in.stage(), 1, s);
          in.release();
          break;
        }
        case 2: {
          auto in = filled.acquire();
          look(in.stage(), 1, s);
          break;
        }
      }
    }
  }

  /// A sample of the 16-byte units of a slot, another one in each cluster.
  void look(uint32_t stage, int tile, int s) noexcept {
    const auto m = static_cast<int>(Shape::rank_m(rank)), n = static_cast<int>(Shape::rank_n(rank));
    const int a_row = (m + tile * Shape::m) * Payload::tile_m;
    const int b_row = (n + tile * Shape::n) * Payload::tile_n + m % Shape::cta_group * Payload::b_rows;
    for (int i = 0; i < k_group; ++i) {
      const int k = s * k_group + i;
      const int column = k * row_bytes;
      compare<Payload::tile_m>(input.a(stage, i), *params.a_bytes, a_row, column);
      compare<Payload::b_rows>(input.b(stage, i), *params.b_bytes, b_row, column);
      if constexpr (extra == Extra::factors) {
        const int atom = Payload::atoms_k * 512 * k;
        compare_flat(input.sfa(stage, i), *params.first_bytes, a_row / 128, atom);
        compare_flat(input.sfb(stage, i), *params.second_bytes, b_row / 128, atom);
      }
    }
  }
  template <int rows, class Tile>
  void compare(const Tile& tile, const Bytes& bytes, int row, int column) noexcept {
    const auto lane = static_cast<int>(arch::lane_index());
    const auto salt = static_cast<int>(arch::cluster_index().x);
    constexpr int units = rows * row_bytes / 16;
    for (int j = 0; j < units / 32 / sampling; ++j) {
      const int unit = ((j * sampling + salt % sampling) * 32 + lane) % units;
      const int r = unit / 8, c = unit % 8;
      const auto* data = reinterpret_cast<const Unit*>(tile.unit(static_cast<uint32_t>(r), static_cast<uint32_t>(c)));
      const Unit seen = arch::load_shared(data);
      for (int w = 0; w < 4; ++w) {
        const uint32_t want = bytes.word(row + r, column + 16 * c + 4 * w);
        if (seen.words[w] != want) params.tally->differs(seen.words[w], want, __LINE__);
      }
      params.tally->counted(4);
    }
  }
  template <class Tile>
  void compare_flat(const Tile& tile, const Bytes& bytes, int row, int column) noexcept {
    const auto lane = static_cast<int>(arch::lane_index());
    for (int r = 0; r < Tile::rows; ++r)
      params.tally->equal(arch::load_shared(tile.data + r * Tile::columns + lane * 4),
                          bytes.word(row + r, column + 16 * lane), __LINE__);
  }
  uint32_t last_stage() const noexcept { return (tiles * slots - 1) % stages; }

  // ---- scale: reads the row scales, which complete on a barrier of their own

  void scale() noexcept {
    const auto lane = static_cast<int>(arch::lane_index());
    for (int s = 0; s < tiles * slots; ++s) {
      input.wait_scales();
      const int row = (static_cast<int>(Shape::rank_m(rank)) + s / slots * Shape::m) * Payload::tile_m;
      const auto scales = input.a_scales(input.consumer_stage());
      const auto* words = reinterpret_cast<const uint32_t*>(scales.data);
      params.tally->equal(arch::load_shared(words + lane % Payload::tile_m),
                          params.first_bytes->word(s % slots, 4 * (row + lane % Payload::tile_m)), __LINE__);
      input.pipeline.template signal_free<Scaler>();
      input.pipeline.consumer_step();
    }
  }

  InputSchedules(const InputParams& p, Storage& storage) noexcept : params(p), input(storage.input) {}
  const InputParams& params;
  Input input;
  uint32_t rank = arch::cluster_rank();

  // ---- the launch

  static constexpr uint64_t checks_per_cluster() {
    const auto units = static_cast<uint64_t>((Payload::tile_m + Payload::b_rows) * row_bytes / 16);
    uint64_t per_look = units / static_cast<uint64_t>(sampling) * 4;
    if (extra == Extra::factors) per_look += 32 * (Payload::tile_m / 128 + Payload::b_rows / 128);
    per_look *= k_group;
    const uint64_t loads = tiles * slots;
    uint64_t checks = 0;
    for (uint32_t cta = 0; cta < Shape::size; ++cta) {
      checks += loads;
      if (!pairs)
        checks += loads * per_look;
      else
        checks += Shape::leads(cta) ? loads * per_look / 32 : per_look;
      if (extra == Extra::row_scales) checks += 32 * loads;
    }
    return checks;
  }

  static void run_schedules(uint32_t count) {
    constexpr int a_rows = Payload::tile_m * Shape::m * tiles, b_rows = Payload::tile_n * Shape::n * tiles;
    const Bytes a(a_rows, blocks * row_bytes, 1), b(b_rows, blocks * row_bytes, 100);
    constexpr int element = row_bytes / Payload::tile_k;
    constexpr TmaType type = element == 2 ? TmaType::bf16 : TmaType::u8;
    Tally tally;
    InputParams params{};
    params.tally = &tally;
    params.a = a.map(type, element, Payload::tile_k, Payload::a_slice_rows, Swizzle::b128);
    params.b = b.map(type, element, Payload::tile_k, Payload::b_slice_rows, Swizzle::b128);
    params.a_bytes = &a;
    params.b_bytes = &b;
    // Row scales: [K block][row of A]. Factors: [128 rows][atoms along K].
    const bool scales = extra == Extra::row_scales;
    const Bytes first(scales ? blocks : a_rows / 128 + 1, scales ? 4 * a_rows : 512 * blocks, 7);
    const Bytes second(b_rows / 128 + 1, 512 * blocks, 50);
    if constexpr (extra == Extra::row_scales) {
      params.first = first.map(TmaType::f32, 4, Payload::tile_m, 1, Swizzle::none);
    } else if constexpr (extra == Extra::factors) {
      params.first = first.map(TmaType::u32, 4, Payload::SFA::columns, Payload::SFA::rows, Swizzle::none);
      params.second = second.map(TmaType::u32, 4, Payload::SFB::columns, Payload::SFB::rows, Swizzle::none);
    }
    params.first_bytes = &first;
    params.second_bytes = &second;
    const loom::TensorRef tensors[] = {a.ref("A"), b.ref("B"), first.ref("first"), second.ref("second")};
    const loom::LaunchConfig config{
        .kernel = "input", .cluster = {Shape::m, Shape::n, 1}, .threads = threads, .shared_bytes = sizeof(Storage)};
    run_under(count, config, &entry, params, tensors, checks_per_cluster());
  }
};

using C1x1 = ClusterShape<1, 1, 1>;
using C2x1 = ClusterShape<1, 2, 1>;
using C1x2 = ClusterShape<1, 1, 2>;
using C2x2 = ClusterShape<1, 2, 2>;
using Pair = ClusterShape<2, 2, 1>;
using ByWarp = freed_by<lane_per_warp<Multiplier, to_operand_sources>>;
using ByCommit = freed_by<mma_commit<Multiplier, to_operand_sources>>;
using ByBoth = freed_by<lane_per_warp<Multiplier, to_operand_sources>, lane_per_warp<Scaler>>;

template <class Shape, int stages, int k_group, int blocks, class Freed = ByWarp>
using Standard = InputSchedules<StandardTilePayload<bf16, bf16, 16, 16 * Shape::cta_group, Shape>, Extra::none, stages,
                                k_group, blocks, Freed>;
template <class Shape, int stages>
using Blockwise =
    InputSchedules<BlockwiseFP8TilePayload<e4m3, e4m3, 16, 16, Shape>, Extra::row_scales, stages, 1, 4, ByBoth>;
template <class Shape, int k_group, class Freed = ByWarp>
using BlockScaled =
    InputSchedules<BlockScaledTilePayload<e4m3, e4m3, uint8_t, uint8_t, 128, 128 * Shape::cta_group, 32, Shape>,
                   Extra::factors, 2, k_group, 3, Freed>;

UNDER_SCHEDULES(InputRing, OneBlockPerSlot, Standard<C1x1, 3, 1, 5>)
UNDER_SCHEDULES(InputRing, TwoBlocksPerSlot, Standard<C1x1, 2, 2, 5>)
UNDER_SCHEDULES(InputRing, FourBlocksPerSlot, Standard<C1x1, 1, 4, 7>)
UNDER_SCHEDULES(InputRing, FourBlocksPerSlot2x1, Standard<C2x1, 2, 4, 5>)
UNDER_SCHEDULES(InputRing, OneBlockPerSlot1x2, Standard<C1x2, 2, 1, 4>)
UNDER_SCHEDULES(InputRing, TwoBlocksPerSlot2x2, Standard<C2x2, 2, 2, 3>)
UNDER_SCHEDULES(InputRing, PairOneBlock, Standard<Pair, 2, 1, 5, ByCommit>)
UNDER_SCHEDULES(InputRing, PairTwoBlocks, Standard<Pair, 2, 2, 5, ByCommit>)
UNDER_SCHEDULES(InputRing, RowScales, Blockwise<C1x1, 2>)
UNDER_SOME_SCHEDULES(InputRing, RowScales2x2, Blockwise<C2x2, 3>)
UNDER_SCHEDULES(InputRing, ScaleFactors, BlockScaled<C1x1, 1>)
UNDER_SCHEDULES(InputRing, ScaleFactorsTwoBlocks, BlockScaled<C1x1, 2>)
UNDER_SCHEDULES(InputRing, ScaleFactorsPair, BlockScaled<Pair, 1, ByCommit>)

}  // namespace
}  // namespace warploom::test
