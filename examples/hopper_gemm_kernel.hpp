// D = A * B^T in bf16 for sm_90: A [M, K], B [N, K], D [M, N], rows of D a multiple of 8 elements.
//
// Ping-pong: two math warpgroups take the tiles in turn, and one multiplies while the other stores. Cooperative: both
// work on every tile, half of its rows each. CTAs of a cluster share their operands by multicast.
#pragma once

#include "warploom/epilogue/warpgroup_writer.hpp"
#include "warploom/warp/hopper_skeleton.hpp"
#include "warploom/warp/turns.hpp"
#include "warploom/warp/wgmma.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

struct HopperGemmParams {
  TensorMap a, b, d;
  int m, n, k;
};

enum class Hopper { cooperative, ping_pong };

template <class Cluster_, Hopper how, int tile_m_ = 128, int tile_n_ = 128, int stages_ = 4>
struct HopperGemm {
  static constexpr char name[] = "hopper-gemm";
  using Cluster = Cluster_;
  using Params = HopperGemmParams;
  using Roles = HopperRoles<2>;
  static constexpr bool ping_pong = how == Hopper::ping_pong;
  static constexpr int tile_m = tile_m_, tile_n = tile_n_, stages = stages_;
  static constexpr int group_rows = ping_pong ? tile_m : tile_m / Roles::groups;
  static constexpr int threads = Roles::threads;
  static constexpr bool waits_for_earlier_grids = true;

  using Payload = StandardTilePayload<bf16, bf16, tile_m, tile_n, Cluster>;
  using Reader = std::conditional_t<ping_pong, Roles::Group, Roles::Math>;
  using Input = InputTilePipeline<Payload, stages, filled_by<tma_bytes<Roles::Load>>,
                                  freed_by<wgmma_warps<Reader, to_operand_sources>>>;
  using Accumulator = WarpgroupAccumulator<group_rows, tile_n>;
  using Writer = WarpgroupWriter<group_rows, Roles::groups>;

  struct Storage {
    typename Input::Storage input;
    typename Writer::Storage writer;
    Turns<Roles::groups>::Storage turns;
  };
  static WARPLOOM_FN void init_barriers(Storage& storage) noexcept {
    Input::init_barriers(storage.input);
    if constexpr (ping_pong) Turns<Roles::groups>::init_barriers(storage.turns);
  }

  // ---- the roles

  WARPLOOM_FN void load(Tile tile) noexcept {                                          // one lane
    for (auto slot : input.produce(tile.k_blocks())) slot.load(a[tile.m], b[tile.n]);  // a free slot, armed
  }

  WARPLOOM_FN void math(Tile tile) noexcept {  // a warpgroup
    Accumulator sum;
    if constexpr (ping_pong) {
      auto turn = turns.take();  // the other group has waited for all its slots; leaving lets it begin
      multiply(sum, tile);
    } else {
      multiply(sum, tile);
    }
    writer.write(sum, tile.m * tile_m + rows_before, tile.n * tile_n);
  }
  WARPLOOM_FN void pass_over(Tile tile) noexcept {  // another group's tile
    input.pipeline.consumer_skip(Input::slots_of(tile.k_blocks()));
  }

  WARPLOOM_FN void multiply(Accumulator& sum, Tile tile) noexcept {
    for (auto in : sum.template over<Reader>(input, tile.k_blocks()))  // a filled slot; the one before is freed
      sum.mma(in.a().template part<group_rows>(rows_before), in.b());
  }

  // ---- what they work on

  static WARPLOOM_FN void run(const Params& params) noexcept { HopperSkeleton<HopperGemm>::run(params); }

  WARPLOOM_FN HopperGemm(const Params& p, Storage& storage, uint32_t group) noexcept
      : params(p),
        input(storage.input),
        turns(storage.turns, group),
        writer(&p.d, storage.writer, group),
        a{&p.a, tile_m},
        b{&p.b, tile_n},
        rows_before(ping_pong ? 0 : static_cast<int>(group) * group_rows) {}

  WARPLOOM_FN StaticPersistent<Cluster> tiles() const noexcept {
    return {ceil_div(params.m, tile_m), ceil_div(params.n, tile_n), ceil_div(params.k, Payload::tile_k)};
  }

  const Params& params;
  Input input;
  Turns<Roles::groups> turns;
  Writer writer;
  TileLoader a, b;
  int rows_before;  ///< of a tile, that belong to the groups before this one
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
