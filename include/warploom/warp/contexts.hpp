// The warp contexts: what a role owns while it runs. They are made and destroyed by whole warps; the MMA body between
// runs on one elected lane, and the warp rejoins before the context ends. MmaWarp and EpilogueWarp are the same as
// handles that must be released.
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

/// What both forms of a side have.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
struct WarpSide : WarpContextTypes<opc, mma_threads, epilogue_threads> {
  using Types = WarpContextTypes<opc, mma_threads, epilogue_threads>;
  using typename Types::Dealloc;
  using typename Types::Pipeline;
  using typename Types::Tmem;

  WARPLOOM_FN WarpSide(Tmem allocation, Pipeline ring, Dealloc dealloc) noexcept
      : tmem(allocation), output_pipeline(ring), dealloc_barrier(dealloc) {}

  Tmem tmem;
  Pipeline output_pipeline;
  Dealloc dealloc_barrier;
};

template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
struct MmaSide : WarpSide<opc, mma_threads, epilogue_threads> {
  using Base = WarpSide<opc, mma_threads, epilogue_threads>;
  using typename Base::Pipeline;
  using typename Base::Sync;

  /// Tells the epilogue that tensor memory is there.
  WARPLOOM_FN MmaSide(typename Base::Tmem allocation, Pipeline ring, typename Base::Dealloc dealloc) noexcept
      : Base(allocation, ring, dealloc) {
    arch::tcgen05_fence_before();
    Sync::arrive();
  }
  /// Allocates tensor memory, and makes the accumulator ring.
  WARPLOOM_FN MmaSide(SMemArray<uint32_t, 1>& tmem_addr_storage, SharedMemBarrier* accum_barriers,
                      SMemArray<SharedMemBarrier, 1>& dealloc_mbar, uint16_t mma_complete_mask) noexcept
      : MmaSide(Base::Tmem::allocate(tmem_addr_storage), accum_barriers, dealloc_mbar, mma_complete_mask) {}

  /// A free accumulator for one K block; leaving it commits.
  WARPLOOM_FN MmaKStage<opc> per_k_stage() noexcept { return MmaKStage<opc>(&this->output_pipeline); }
  WARPLOOM_FN StageRange<MmaKStage<opc>, Pipeline*> per_k_stages(int k_blocks, int first = 0) noexcept {
    return {&this->output_pipeline, k_blocks, first};
  }
  /// The same as a handle that must be released.
  WARPLOOM_FN MmaStage<opc> acquire_k_stage_linear() noexcept { return this->output_pipeline.acquire_mma_linear(); }

 protected:
  /// Waits until every epilogue thread of the pair is done, and deallocates.
  WARPLOOM_FN void finish() noexcept {
    arch::syncwarp();
    this->dealloc_barrier.complete_dealloc(this->tmem);
  }

 private:
  WARPLOOM_FN MmaSide(typename Base::Tmem allocation, SharedMemBarrier* accum_barriers,
                      SMemArray<SharedMemBarrier, 1>& dealloc_mbar, uint16_t mma_complete_mask) noexcept
      : MmaSide(allocation, Pipeline(accum_barriers, allocation, mma_complete_mask), {dealloc_mbar.ptr()}) {}
};

template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
struct EpilogueSide : WarpSide<opc, mma_threads, epilogue_threads> {
  using Base = WarpSide<opc, mma_threads, epilogue_threads>;
  using typename Base::Pipeline;
  using typename Base::Sync;
  using typename Base::Tmem;
  template <class Input>
  using KContext = EpilogueKContext<opc, Input>;

  WARPLOOM_FN EpilogueSide(Tmem allocation, Pipeline ring, typename Base::Dealloc dealloc) noexcept
      : Base(allocation, ring, dealloc) {}
  /// Reads the tensor-memory address, which must have been published: Sync::wait() comes first.
  WARPLOOM_FN EpilogueSide(SMemArray<uint32_t, 1>& tmem_addr_storage, SharedMemBarrier* accum_barriers,
                           SMemArray<SharedMemBarrier, 1>& dealloc_mbar, uint16_t mma_complete_mask) noexcept
      : EpilogueSide(published(tmem_addr_storage), accum_barriers, dealloc_mbar, mma_complete_mask) {}

  /// The next K block: its accumulator and the scales in its input slot. Leaving signals both rings.
  template <class Input>
  WARPLOOM_FN KContext<Input> per_k_stage(Input& input) noexcept {
    return KContext<Input>(this->output_pipeline, input);
  }
  template <class Input>
  WARPLOOM_FN StageRange<KContext<Input>, typename KContext<Input>::Rings> per_k_stages(Input& input, int k_blocks,
                                                                                        int first = 0) noexcept {
    return {{&this->output_pipeline, &input}, k_blocks, first};
  }
  /// A finished K block as a handle that must be released; the input ring is the caller's.
  WARPLOOM_FN EpilogueStage<opc> acquire_k_stage_linear() noexcept {
    return this->output_pipeline.acquire_epilogue_linear();
  }

 private:
  WARPLOOM_FN EpilogueSide(Tmem allocation, SharedMemBarrier* accum_barriers,
                           SMemArray<SharedMemBarrier, 1>& dealloc_mbar, uint16_t mma_complete_mask) noexcept
      : Base(allocation, Pipeline(accum_barriers, allocation, mma_complete_mask), {dealloc_mbar.ptr()}) {}
  static WARPLOOM_FN Tmem published(SMemArray<uint32_t, 1>& slot) noexcept {
    arch::claim_published(Sync::id);
    return Tmem::from_shared(slot);
  }
};

/// What a warp handle holds, in reports.
struct TensorMemoryLabel {
  static constexpr char name[] = "tensor memory";
};

}  // namespace detail

/// Owns tensor memory and the MMA side of the accumulator ring. Entering publishes the address; leaving waits until
/// every epilogue thread of the pair is done, and deallocates.
template <OutputPipelineConfig opc, int mma_threads = Mma::threads, int epilogue_threads = Epilogue::threads>
class [[nodiscard]] MmaWarpContext : public detail::MmaSide<opc, mma_threads, epilogue_threads> {
  using Base = detail::MmaSide<opc, mma_threads, epilogue_threads>;

 public:
  WARPLOOM_FN MmaWarpContext(typename Base::Tmem allocation, typename Base::Pipeline ring,
                             typename Base::Dealloc dealloc) noexcept
      : Base(allocation, ring, dealloc) {}
  WARPLOOM_FN ~MmaWarpContext() noexcept { this->finish(); }
  MmaWarpContext(const MmaWarpContext&) = delete;
  MmaWarpContext& operator=(const MmaWarpContext&) = delete;

  static WARPLOOM_FN MmaWarpContext create(SMemArray<uint32_t, 1>& tmem_addr_storage, SharedMemBarrier* accum_barriers,
                                           SMemArray<SharedMemBarrier, 1>& dealloc_mbar,
                                           uint16_t mma_complete_mask = Base::Pipeline::complete_mask()) noexcept {
    return MmaWarpContext(tmem_addr_storage, accum_barriers, dealloc_mbar, mma_complete_mask);
  }

 private:
  WARPLOOM_FN MmaWarpContext(SMemArray<uint32_t, 1>& tmem_addr_storage, SharedMemBarrier* accum_barriers,
                             SMemArray<SharedMemBarrier, 1>& dealloc_mbar, uint16_t mma_complete_mask) noexcept
      : Base(tmem_addr_storage, accum_barriers, dealloc_mbar, mma_complete_mask) {}
};

/// The same as a handle: release() waits and deallocates.
template <OutputPipelineConfig opc, int mma_threads = Mma::threads, int epilogue_threads = Epilogue::threads>
class [[nodiscard]] MmaWarp : public detail::MmaSide<opc, mma_threads, epilogue_threads>,
                              MustRelease<detail::TensorMemoryLabel> {
  using Base = detail::MmaSide<opc, mma_threads, epilogue_threads>;

 public:
  WARPLOOM_FN MmaWarp(typename Base::Tmem allocation, typename Base::Pipeline ring,
                      typename Base::Dealloc dealloc) noexcept
      : Base(allocation, ring, dealloc) {}
  WARPLOOM_DEFAULTED MmaWarp(MmaWarp&&) noexcept = default;
  WARPLOOM_DEFAULTED ~MmaWarp() noexcept = default;

  static WARPLOOM_FN MmaWarp create(SMemArray<uint32_t, 1>& tmem_addr_storage, SharedMemBarrier* accum_barriers,
                                    SMemArray<SharedMemBarrier, 1>& dealloc_mbar,
                                    uint16_t mma_complete_mask = Base::Pipeline::complete_mask()) noexcept {
    return MmaWarp(tmem_addr_storage, accum_barriers, dealloc_mbar, mma_complete_mask);
  }
  WARPLOOM_FN MmaKStage<opc> per_k_stage() noexcept {
    claim_held();
    return Base::per_k_stage();
  }
  WARPLOOM_FN auto per_k_stages(int k_blocks, int first = 0) noexcept {
    claim_held();
    return Base::per_k_stages(k_blocks, first);
  }
  WARPLOOM_FN MmaStage<opc> acquire_k_stage_linear() noexcept {
    claim_held();
    return Base::acquire_k_stage_linear();
  }
  WARPLOOM_FN void release() noexcept {
    settle([&]() WARPLOOM_LAMBDA { this->finish(); });
  }

 private:
  WARPLOOM_FN MmaWarp(SMemArray<uint32_t, 1>& tmem_addr_storage, SharedMemBarrier* accum_barriers,
                      SMemArray<SharedMemBarrier, 1>& dealloc_mbar, uint16_t mma_complete_mask) noexcept
      : Base(tmem_addr_storage, accum_barriers, dealloc_mbar, mma_complete_mask) {}
};

/// The epilogue side. The tensor-memory address must have been published: call Sync::wait() first. Leaving says that
/// this thread has finished with tensor memory.
template <OutputPipelineConfig opc, int mma_threads = Mma::threads, int epilogue_threads = Epilogue::threads>
class [[nodiscard]] EpilogueWarpContext : public detail::EpilogueSide<opc, mma_threads, epilogue_threads> {
  using Base = detail::EpilogueSide<opc, mma_threads, epilogue_threads>;

 public:
  WARPLOOM_FN EpilogueWarpContext(typename Base::Tmem allocation, typename Base::Pipeline ring,
                                  typename Base::Dealloc dealloc) noexcept
      : Base(allocation, ring, dealloc) {}
  WARPLOOM_FN ~EpilogueWarpContext() noexcept { this->dealloc_barrier.signal_complete(); }
  EpilogueWarpContext(const EpilogueWarpContext&) = delete;
  EpilogueWarpContext& operator=(const EpilogueWarpContext&) = delete;

  static WARPLOOM_FN EpilogueWarpContext create(SMemArray<uint32_t, 1>& tmem_addr_storage,
                                                SharedMemBarrier* accum_barriers,
                                                SMemArray<SharedMemBarrier, 1>& dealloc_mbar,
                                                uint16_t mma_complete_mask = Base::Pipeline::complete_mask()) noexcept {
    return EpilogueWarpContext(tmem_addr_storage, accum_barriers, dealloc_mbar, mma_complete_mask);
  }

 private:
  WARPLOOM_FN EpilogueWarpContext(SMemArray<uint32_t, 1>& tmem_addr_storage, SharedMemBarrier* accum_barriers,
                                  SMemArray<SharedMemBarrier, 1>& dealloc_mbar, uint16_t mma_complete_mask) noexcept
      : Base(tmem_addr_storage, accum_barriers, dealloc_mbar, mma_complete_mask) {}
};

/// The same as a handle: release() says that this thread has finished.
template <OutputPipelineConfig opc, int mma_threads = Mma::threads, int epilogue_threads = Epilogue::threads>
class [[nodiscard]] EpilogueWarp : public detail::EpilogueSide<opc, mma_threads, epilogue_threads>,
                                   MustRelease<detail::TensorMemoryLabel> {
  using Base = detail::EpilogueSide<opc, mma_threads, epilogue_threads>;

 public:
  WARPLOOM_FN EpilogueWarp(typename Base::Tmem allocation, typename Base::Pipeline ring,
                           typename Base::Dealloc dealloc) noexcept
      : Base(allocation, ring, dealloc) {}
  WARPLOOM_DEFAULTED EpilogueWarp(EpilogueWarp&&) noexcept = default;
  WARPLOOM_DEFAULTED ~EpilogueWarp() noexcept = default;

  static WARPLOOM_FN EpilogueWarp create(SMemArray<uint32_t, 1>& tmem_addr_storage, SharedMemBarrier* accum_barriers,
                                         SMemArray<SharedMemBarrier, 1>& dealloc_mbar,
                                         uint16_t mma_complete_mask = Base::Pipeline::complete_mask()) noexcept {
    return EpilogueWarp(tmem_addr_storage, accum_barriers, dealloc_mbar, mma_complete_mask);
  }
  template <class Input>
  WARPLOOM_FN auto per_k_stage(Input& input) noexcept {
    claim_held();
    return Base::per_k_stage(input);
  }
  template <class Input>
  WARPLOOM_FN auto per_k_stages(Input& input, int k_blocks, int first = 0) noexcept {
    claim_held();
    return Base::per_k_stages(input, k_blocks, first);
  }
  WARPLOOM_FN EpilogueStage<opc> acquire_k_stage_linear() noexcept {
    claim_held();
    return Base::acquire_k_stage_linear();
  }
  WARPLOOM_FN void release() noexcept {
    settle([&]() WARPLOOM_LAMBDA { this->dealloc_barrier.signal_complete(); });
  }

 private:
  WARPLOOM_FN EpilogueWarp(SMemArray<uint32_t, 1>& tmem_addr_storage, SharedMemBarrier* accum_barriers,
                           SMemArray<SharedMemBarrier, 1>& dealloc_mbar, uint16_t mma_complete_mask) noexcept
      : Base(tmem_addr_storage, accum_barriers, dealloc_mbar, mma_complete_mask) {}
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
