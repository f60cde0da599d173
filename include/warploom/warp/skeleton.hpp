// What every tensor-memory GEMM does around its role bodies: barrier initialisation, cluster hand-shake, role dispatch,
// the tensor-memory hand-off, drains and the final cluster barrier. A kernel is its storage and its bodies; a `return`
// in a body is safe.
//
// Who runs a body is fixed here: load, mma and epilogue-load on one elected lane (`whole_warp_loads`: the latter on
// all), mma only in the pair's leader, epilogue on every thread of its warps. A schedule may have a warp
// (schedule/clc.hpp).
//
//   struct Kernel { Storage, Params, Cluster, opc; init_barriers, tiles, load, mma, epilogue_load, epilogue; };
//   void entry(const void* params) { Skeleton<Kernel>::run(*static_cast<const Kernel::Params*>(params)); }
#pragma once

#include "warploom/arch/pdl.hpp"
#include "warploom/schedule/static_persistent.hpp"
#include "warploom/warp/contexts.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// Shared memory of the tensor-memory hand-off.
template <OutputPipelineConfig opc>
struct OutputStorage {
  typename OutputTilePipeline<opc>::BarrierArray barriers;
  SMemArray<SharedMemBarrier, 1> dealloc;
  SMemArray<uint32_t, 1> tmem_address;
};

template <class Kernel>
class Skeleton {
 public:
  using Params = typename Kernel::Params;
  using Storage = typename Kernel::Storage;
  using Cluster = typename Kernel::Cluster;
  using MmaContext = MmaWarpContext<Kernel::opc>;
  using EpilogueContext = EpilogueWarpContext<Kernel::opc>;
  static constexpr bool has_scheduler = requires(Kernel& kernel) { kernel.schedule.run(); };
  static constexpr int threads =
      threads_of<Epilogue, Load, Mma, EpilogueLoad> + (has_scheduler ? Scheduler::threads : 0);

  static WARPLOOM_FN void run(const Params& params) noexcept {
    Storage& storage = arch::shared<Storage>();
    const uint32_t warp = arch::warp_index();
    if constexpr (requires { Kernel::prefetch(params); })
      if (warp == Load::first_warp && arch::elect_one()) Kernel::prefetch(params);
    if (warp == 0 && arch::elect_one()) {
      Kernel::init_barriers(storage);
      OutputTilePipeline<Kernel::opc>::init_barriers(storage.output.barriers.ptr());
      TmemDeallocBarrier<Kernel::opc.cta_group>::init(storage.output.dealloc.ptr());
      MmaContext::Sync::template name<TmemHandOff>();
      arch::fence_mbarrier_init();
    }
    arch::syncwarp();
    meet<Cluster>();
    // Every role reads global memory, so every role waits for the grids before this one.
    arch::grid_dependency_wait();

    Kernel kernel(params, storage);
    if (warp < Epilogue::first_warp + Epilogue::warps) {
      epilogue(kernel, storage);
    } else if (warp == Load::first_warp) {
      load(kernel);
    } else if (warp == Mma::first_warp) {
      mma(kernel, storage);
    } else if (warp == EpilogueLoad::first_warp) {
      epilogue_load(kernel);
    } else if constexpr (has_scheduler) {
      arch::name_role<Scheduler>();
      kernel.schedule.run();
    }
    arch::syncwarp();
    arch::grid_launch_dependents();
    // No CTA leaves while a peer may still signal its barriers.
    if constexpr (Cluster::size > 1) meet<Cluster>();
  }

 private:
  struct TmemHandOff {
    static constexpr char name[] = "tmem hand-off";
  };

  /// A dynamic schedule must know who asks; a static one gives everybody the same tiles.
  template <class Role>
  static WARPLOOM_FN decltype(auto) tiles(Kernel& kernel) noexcept {
    if constexpr (requires { kernel.template tiles<Role>(); })
      return kernel.template tiles<Role>();
    else
      return kernel.tiles();
  }

  static WARPLOOM_FN void load(Kernel& kernel) noexcept {
    arch::name_role<Load>();
    if (!arch::elect_one()) return;
    for (Tile tile : tiles<Load>(kernel)) kernel.load(tile);
    kernel.input.drain();
  }

  static WARPLOOM_FN void mma(Kernel& kernel, Storage& storage) noexcept {
    arch::name_role<Mma>();
    auto context =
        MmaContext::create(storage.output.tmem_address, storage.output.barriers.ptr(), storage.output.dealloc);
    if (arch::elect_one() && Cluster::leads(arch::cluster_rank()))
      for (Tile tile : tiles<Mma>(kernel)) kernel.mma(context, tile);
  }

  static WARPLOOM_FN void epilogue_load(Kernel& kernel) noexcept {
    if constexpr (requires(Tile tile) { kernel.epilogue_load(tile); }) {
      arch::name_role<EpilogueLoad>();
      if (!requires { requires Kernel::whole_warp_loads; } && !arch::elect_one()) return;
      for (Tile tile : tiles<EpilogueLoad>(kernel)) kernel.epilogue_load(tile);
    }
  }

  static WARPLOOM_FN void epilogue(Kernel& kernel, Storage& storage) noexcept {
    arch::name_role<Epilogue>();
    EpilogueContext::Sync::wait();
    auto context =
        EpilogueContext::create(storage.output.tmem_address, storage.output.barriers.ptr(), storage.output.dealloc);
    for (Tile tile : tiles<Epilogue>(kernel)) kernel.epilogue(context, tile);
    kernel.writer.finish();
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
