// The warp contexts: what a role owns while it runs. Both are made and destroyed by whole warps; the MMA body between
// runs on one elected lane, and the warp rejoins before the context ends.
//
//   auto ctx = MmaWarpContext<opc>::create(tmem_slot, accum_barriers, dealloc_mbar);   // allocates, publishes
//   if (elect) for (auto acc : ctx.per_k_stages(k_blocks)) { ... }
//   syncwarp();                                                                        // leaving waits and deallocates
#pragma once

#include "warploom/pipeline/per_k.hpp"
#include "warploom/warp/mma.hpp"
#include "warploom/warp/named.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

namespace detail {
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
struct WarpContextTypes {
  static_assert(mma_threads == Mma::threads && epilogue_threads == Epilogue::threads,
                "warploom: thread counts follow from the roles Mma and Epilogue (warp/roles.hpp)");
  using Tmem = TmemAllocation<opc.cta_group>;
  using Pipeline = OutputTilePipeline<opc>;
  using Dealloc = TmemDeallocBarrier<opc.cta_group>;
  /// Publishes the tensor-memory address: the MMA warp arrives, the epilogue waits.
  using Sync = WarpGroupBarrier<mma_threads + epilogue_threads, 1>;
};
}  // namespace detail

/// Owns tensor memory and the MMA side of the accumulator ring.
template <OutputPipelineConfig opc, int mma_threads = Mma::threads, int epilogue_threads = Epilogue::threads>
class [[nodiscard]] MmaWarpContext {
  using Types = detail::WarpContextTypes<opc, mma_threads, epilogue_threads>;

 public:
  using Tmem = typename Types::Tmem;
  using Pipeline = typename Types::Pipeline;
  using Dealloc = typename Types::Dealloc;
  using Sync = typename Types::Sync;

  /// Entering tells the epilogue that tensor memory is there.
  WARPLOOM_FN MmaWarpContext(Tmem allocation, Pipeline ring, Dealloc dealloc) noexcept
      : tmem(allocation), output_pipeline(ring), dealloc_barrier(dealloc) {
    arch::tcgen05_fence_before();
    Sync::arrive();
  }
  /// Leaving waits until every epilogue thread of the pair is done, and deallocates.
  WARPLOOM_FN ~MmaWarpContext() noexcept {
    arch::syncwarp();
    dealloc_barrier.complete_dealloc(tmem);
  }
  MmaWarpContext(const MmaWarpContext&) = delete;
  MmaWarpContext& operator=(const MmaWarpContext&) = delete;

  /// Allocates tensor memory and makes the accumulator ring.
  static WARPLOOM_FN MmaWarpContext create(SMemArray<uint32_t, 1>& tmem_addr_storage, SharedMemBarrier* accum_barriers,
                                           SMemArray<SharedMemBarrier, 1>& dealloc_mbar,
                                           uint16_t mma_complete_mask = Pipeline::complete_mask()) noexcept {
    const Tmem allocation = Tmem::allocate(tmem_addr_storage);
    return MmaWarpContext(allocation, Pipeline(accum_barriers, allocation, mma_complete_mask),
                          Dealloc{dealloc_mbar.ptr()});
  }

  /// A free accumulator for one K block; leaving it commits.
  WARPLOOM_FN MmaKStage<opc> per_k_stage() noexcept { return MmaKStage<opc>(&output_pipeline); }
  WARPLOOM_FN StageRange<MmaKStage<opc>, Pipeline*> per_k_stages(KBlocks k_blocks) noexcept {
    return {&output_pipeline, k_blocks};
  }

  Tmem tmem;
  Pipeline output_pipeline;
  Dealloc dealloc_barrier;
};

/// The epilogue side. The tensor-memory address must have been published: call Sync::wait() first.
template <OutputPipelineConfig opc, int mma_threads = Mma::threads, int epilogue_threads = Epilogue::threads>
class [[nodiscard]] EpilogueWarpContext {
  using Types = detail::WarpContextTypes<opc, mma_threads, epilogue_threads>;

 public:
  using Tmem = typename Types::Tmem;
  using Pipeline = typename Types::Pipeline;
  using Dealloc = typename Types::Dealloc;
  using Sync = typename Types::Sync;
  template <class Input>
  using KContext = EpilogueKContext<opc, Input>;

  WARPLOOM_FN EpilogueWarpContext(Tmem allocation, Pipeline ring, Dealloc dealloc) noexcept
      : tmem(allocation), output_pipeline(ring), dealloc_barrier(dealloc) {}
  /// Leaving says that this thread has finished with tensor memory.
  WARPLOOM_FN ~EpilogueWarpContext() noexcept { dealloc_barrier.signal_complete(); }
  EpilogueWarpContext(const EpilogueWarpContext&) = delete;
  EpilogueWarpContext& operator=(const EpilogueWarpContext&) = delete;

  static WARPLOOM_FN EpilogueWarpContext create(SMemArray<uint32_t, 1>& tmem_addr_storage,
                                                SharedMemBarrier* accum_barriers,
                                                SMemArray<SharedMemBarrier, 1>& dealloc_mbar,
                                                uint16_t mma_complete_mask = Pipeline::complete_mask()) noexcept {
    const Tmem allocation = Tmem::from_shared(tmem_addr_storage);
    return EpilogueWarpContext(allocation, Pipeline(accum_barriers, allocation, mma_complete_mask),
                               Dealloc{dealloc_mbar.ptr()});
  }

  /// The next K block: its accumulator and the scales in its input slot. Leaving signals both rings.
  template <class Input>
  WARPLOOM_FN KContext<Input> per_k_stage(Input& input) noexcept {
    return KContext<Input>(output_pipeline, input);
  }
  template <class Input>
  WARPLOOM_FN StageRange<KContext<Input>, typename KContext<Input>::Rings> per_k_stages(Input& input,
                                                                                        KBlocks k_blocks) noexcept {
    return {{&output_pipeline, &input}, k_blocks};
  }

  Tmem tmem;
  Pipeline output_pipeline;
  Dealloc dealloc_barrier;
};

/// D (+)= A * B^T into the accumulator of a stage.
template <OutputPipelineConfig opc, class A, class B>
WARPLOOM_FN void umma(const TmemStage<opc>& d, const A& a, const B& b, Accumulate accumulate) noexcept {
  static_assert(B::rows * opc.cta_group <= opc.stage_stride_cols,
                "warploom: the accumulator is wider than a stage of the ring");
  umma_tile<opc.cta_group>(d.address(), a, b, accumulate);
}
template <OutputPipelineConfig opc, class A, class B>
WARPLOOM_FN void umma(const MmaKStage<opc>& stage, const A& a, const B& b, Accumulate accumulate) noexcept {
  umma(stage.tmem(), a, b, accumulate);
}

}  // namespace warploom::inline WARPLOOM_MACHINE
