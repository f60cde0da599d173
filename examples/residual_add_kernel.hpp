// D = alpha * X + beta * C for sm_90 and later: a table X of 128 rows is added to every 128 rows of C (a positional
// encoding, say). C and D are [M, N], X is [128, N], all bf16 with padded rows; any M and N.
//
// The smallest kernel that uses the whole structure layer without a tensor core. The two CTAs of a cluster work on
// different rows of C but need the same strip of X: each loads half of it, for both. A slot of X may therefore be
// filled again only when the epilogue warps of both CTAs have let go of it, and each of them tells both.
#pragma once

#include "warploom/arch/cluster.hpp"
#include "warploom/arch/pdl.hpp"
#include "warploom/epilogue/writer.hpp"
#include "warploom/pipeline/epi_load.hpp"
#include "warploom/schedule/static_persistent.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

struct ResidualAddParams {
  TensorMap x, c, d;
  bf16* d_data;
  int64_t d_stride;
  int m, n;
  float alpha, beta;
};

struct ResidualAdd {
  static constexpr char name[] = "residual-add";
  using Cluster = ClusterShape<1, 2, 1>;
  using Params = ResidualAddParams;
  static constexpr int tile_m = 128, tile_n = 64, stages = 3;
  static constexpr int share_rows = tile_m / Cluster::size;  ///< of a strip of X that one CTA loads
  // Warp 5 is the tensor core's in other kernels; here it waits at the end.
  static constexpr int threads = threads_of<Epilogue, Load, Mma, EpilogueLoad>;
  static constexpr bool waits_for_earlier_grids = true;

  using StripTile = SmemTile<bf16, tile_m, tile_n, Swizzle::b128>;
  using Residual = EpiLoadPipeline<2, StripTile>;
  using Writer = TileWriter<StripTile>;
  struct Table {
    static constexpr char name[] = "table";
    using cluster = Cluster;
    using filled = filled_by<tma_bytes<Load>>;
    using freed = freed_by<lane_per_warp<Epilogue, to_cluster>>;
    static constexpr uint32_t bytes = StripTile::bytes;  ///< both halves
  };
  using TableRing = ProducerConsumerPipeline<stages, Table>;

  struct Storage {
    StripTile::Storage table[stages];
    Residual::Storage residual;
    Writer::Storage writer;
    TableRing::BarrierArray table_barriers;
  };

  // ---- the roles

  WARPLOOM_FN void load(Tile tile) noexcept {  // one lane
    auto slot = table.produce();               // free in both CTAs; armed for both halves
    const uint32_t rank = arch::cluster_rank();
    const int share = static_cast<int>(rank) * share_rows;
    arch::tma_load_multicast<1>(table_tile(slot.index()).address() + share * StripTile::row_bytes, params.x,
                                arch::shared_address(slot.mbar()), {tile.n * tile_n, share}, Cluster::b_mask(rank));
  }

  WARPLOOM_FN void epilogue_load(Tile tile) noexcept {  // one lane
    if (params.beta == 0.0f) return;
    auto slot = residual.produce();  // a free slot, armed
    residual.load(slot, c[tile.m], tile.n * tile_n);
  }

  WARPLOOM_FN void epilogue(Tile tile) noexcept {  // four warps
    const uint32_t row = arch::thread_index();
    Strip<tile_n> sum(Nothing{}, 0, 1.0f);
    {
      auto slot = table.consume();  // leaving tells both CTAs
      sum.add(params.alpha, table_tile(slot.index()), row);
    }
    if (params.beta != 0.0f) {
      auto slot = residual.consume();  // leaving frees it
      sum.add(params.beta, residual.tile(slot.index()), row);
    }
    writer.write(sum, tile.m * tile_m, tile.n * tile_n);
  }

  // ---- around them

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t warp = arch::warp_index();
    if (warp == 0 && arch::elect_one()) {
      TableRing::init_mbars(storage.table_barriers.ptr());
      Residual::init_barriers(storage.residual);
      arch::fence_mbarrier_init();
    }
    arch::syncwarp();
    arch::cluster_sync();
    arch::grid_dependency_wait();

    ResidualAdd kernel(params, storage);
    if (warp < Epilogue::first_warp + Epilogue::warps) {
      arch::name_role<Epilogue>();
      for (Tile tile : kernel.tiles()) kernel.epilogue(tile);
      kernel.writer.finish();
    } else if (warp == Load::first_warp) {
      arch::name_role<Load>();
      if (arch::elect_one()) {
        for (Tile tile : kernel.tiles()) kernel.load(tile);
        kernel.table.drain();
      }
    } else if (warp == EpilogueLoad::first_warp) {
      arch::name_role<EpilogueLoad>();
      if (arch::elect_one())
        for (Tile tile : kernel.tiles()) kernel.epilogue_load(tile);
    }
    arch::syncwarp();
    arch::grid_launch_dependents();
    arch::cluster_sync();  // no CTA leaves while its peer may still signal its barriers
  }

  WARPLOOM_FN ResidualAdd(const Params& p, Storage& storage) noexcept
      : params(p),
        table(storage.table_barriers.ptr()),
        residual(storage.residual),
        writer({&p.d, p.d_data, p.d_stride, p.m, p.n}, storage.writer),
        c{&p.c, tile_m},
        storage_(&storage) {}

  WARPLOOM_FN StaticPersistent<Cluster> tiles() const noexcept {
    return {(params.m + tile_m - 1) / tile_m, (params.n + tile_n - 1) / tile_n, 1};
  }
  WARPLOOM_FN StripTile table_tile(uint32_t stage) const noexcept { return StripTile(storage_->table[stage]); }

  const Params& params;
  TableRing table;
  Residual residual;
  Writer writer;
  TileLoader c;

 private:
  /// The sum before anything is added.
  struct Nothing {
    WARPLOOM_FN float operator[](int) const noexcept { return 0.0f; }
  };
  Storage* storage_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
