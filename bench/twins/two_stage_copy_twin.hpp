// The twin of examples/two_stage_copy_kernel.hpp, written by hand on `arch`: stage and lap are plain integers, barriers
// are indexed and counted here. Same tiles, waits, fences, signals, addresses and stores.
#pragma once

#include "warploom/arch/global.hpp"
#include "warploom/arch/named_barrier.hpp"
#include "warploom/arch/pdl.hpp"
#include "warploom/arch/proxy.hpp"
#include "warploom/arch/tma.hpp"
#include "warploom/schedule/static_persistent.hpp"

namespace warploom::inline WARPLOOM_MACHINE::twins {

template <class Params_>
struct TwoStageCopyTwin {
  static constexpr char name[] = "two-stage-copy-twin";
  using Params = Params_;
  static constexpr int stages = 2, store_warps = 4, threads = 32 * (store_warps + 1);
  static constexpr bool waits_for_earlier_grids = true;
  struct Box {
    static constexpr int rows = 64, columns = 64;
  };
  static constexpr uint32_t box_bytes = Box::rows * Box::columns * sizeof(float);

  struct alignas(16) FourFloats {
    uint32_t words[4];
  };
  struct alignas(128) Storage {
    float boxes[stages][Box::rows * Box::columns];
    arch::Mbarrier full[stages], empty[stages];
  };

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t warp = arch::warp_index();
    if (warp == 0 && arch::elect_one()) {
      for (int i = 0; i < stages; ++i) {
        arch::mbarrier_init(arch::shared_address(&storage.full[i]), 1);
        arch::mbarrier_init(arch::shared_address(&storage.empty[i]), store_warps);
      }
      arch::fence_mbarrier_init();
    }
    arch::syncthreads();
    arch::grid_dependency_wait();

    const StaticPersistent<ClusterShape<1, 1, 1>> tiles((params.rows + Box::rows - 1) / Box::rows,
                                                        (params.columns + Box::columns - 1) / Box::columns, 1);
    uint32_t stage = 0, lap = 0;

    if (warp < store_warps) {
      const int thread = static_cast<int>(arch::thread_index());
      for (Tile tile : tiles) {
        arch::mbarrier_wait(arch::shared_address(&storage.full[stage]), lap + 1);
        const int column = tile.n * Box::columns + 4 * (thread % 16);
        WARPLOOM_UNROLL
        for (int i = 0; i < Box::rows; i += 8) {
          const int box_row = i + thread / 16, row = tile.m * Box::rows + box_row;
          const float* from = &storage.boxes[stage][box_row * Box::columns + 4 * (thread % 16)];
          if (row < params.rows && column < params.columns)
            arch::store_global(reinterpret_cast<FourFloats*>(params.to + row * params.stride + column),
                               arch::load_shared(reinterpret_cast<const FourFloats*>(from)));
        }
        arch::fence_proxy_async_shared();  // TMA writes here next
        arch::syncwarp();
        if (arch::lane_index() == 0) arch::mbarrier_arrive(arch::shared_address(&storage.empty[stage]));
        if (++stage == stages) stage = 0, ++lap;
      }
    } else if (arch::elect_one()) {
      for (Tile tile : tiles) {
        const arch::SharedAddress full = arch::shared_address(&storage.full[stage]);
        arch::mbarrier_wait(arch::shared_address(&storage.empty[stage]), lap);
        arch::mbarrier_arrive_expect_tx(full, box_bytes);
        arch::tma_load<1>(arch::shared_address(storage.boxes[stage]), params.from, full,
                          {tile.n * Box::columns, tile.m * Box::rows});
        if (++stage == stages) stage = 0, ++lap;
      }
    }
    arch::grid_launch_dependents();
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE::twins
