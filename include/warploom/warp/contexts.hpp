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

/// Where the hand-off lies in shared memory, and the mask of the original's interface.
struct HandOff {
  SMemArray<uint32_t, 1>& tmem_addr_storage;
  SharedMemBarrier* accum_barriers;
  SMemArray<SharedMemBarrier, 1>& dealloc_mbar;
  uint16_t mma_complete_mask;
};

/// What both sides have.
template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
struct WarpSide : WarpContextTypes<opc, mma_threads, epilogue_threads> {
  using Types = WarpContextTypes<opc, mma_threads, epilogue_threads>;
  using typename Types::Dealloc, typename Types::Pipeline, typename Types::Tmem;
  static constexpr char name[] = "tensor memory";  ///< what is held, in reports

  WARPLOOM_FN WarpSide(Tmem allocation, Pipeline ring, Dealloc dealloc) noexcept
      : tmem(allocation), output_pipeline(ring), dealloc_barrier(dealloc) {}
  WARPLOOM_FN WarpSide(Tmem allocation, const HandOff& at) noexcept
      : WarpSide(allocation, Pipeline(at.accum_barriers, allocation, at.mma_complete_mask), {at.dealloc_mbar.ptr()}) {}

  Tmem tmem;
  Pipeline output_pipeline;
  Dealloc dealloc_barrier;

 protected:
  WARPLOOM_FN Pipeline& ring() noexcept {
    arch::claim_held<WarpSide>(!finished_, Misuse::used_after_release);
    return output_pipeline;
  }
  bool finished_ = false;
};

template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
struct MmaSide : WarpSide<opc, mma_threads, epilogue_threads> {
  using Base = WarpSide<opc, mma_threads, epilogue_threads>;
  using typename Base::Pipeline;

  /// Tells the epilogue that tensor memory is there.
  WARPLOOM_FN MmaSide(typename Base::Tmem allocation, Pipeline ring, typename Base::Dealloc dealloc) noexcept
      : Base(allocation, ring, dealloc) {
    publish();
  }
  /// Allocates tensor memory first.
  WARPLOOM_FN explicit MmaSide(const HandOff& at) noexcept : Base(Base::Tmem::allocate(at.tmem_addr_storage), at) {
    publish();
  }

  /// A free accumulator for one K block; leaving it commits.
  WARPLOOM_FN MmaKStage<opc> per_k_stage() noexcept { return MmaKStage<opc>(&this->ring()); }
  WARPLOOM_FN StageRange<MmaKStage<opc>, Pipeline*> per_k_stages(KBlocks k_blocks) noexcept {
    return {&this->ring(), k_blocks};
  }
  /// The same as a handle that must be released.
  WARPLOOM_FN MmaStage<opc> acquire_k_stage_linear() noexcept { return this->ring().acquire_mma_linear(); }

 protected:
  /// Waits until every epilogue thread of the pair is done, and deallocates.
  WARPLOOM_FN void finish() noexcept {
    arch::syncwarp();
    this->dealloc_barrier.complete_dealloc(this->tmem);
    this->finished_ = true;
  }

 private:
  static WARPLOOM_FN void publish() noexcept {
    arch::tcgen05_fence_before();
    Base::Sync::arrive();
  }
};

template <OutputPipelineConfig opc, int mma_threads, int epilogue_threads>
struct EpilogueSide : WarpSide<opc, mma_threads, epilogue_threads> {
  using Base = WarpSide<opc, mma_threads, epilogue_threads>;
  using typename Base::Tmem;
  template <class Input>
  using KContext = EpilogueKContext<opc, Input>;

  WARPLOOM_FN EpilogueSide(Tmem allocation, typename Base::Pipeline ring, typename Base::Dealloc dealloc) noexcept
      : Base(allocation, ring, dealloc) {}
  /// Reads the tensor-memory address, which must have been published: Sync::wait() comes first.
  WARPLOOM_FN explicit EpilogueSide(const HandOff& at) noexcept : Base(published(at.tmem_addr_storage), at) {}

  /// The next K block: its accumulator and the scales in its input slot. Leaving signals both rings.
  template <class Input>
  WARPLOOM_FN KContext<Input> per_k_stage(Input& input) noexcept {
    return KContext<Input>(this->ring(), input);
  }
  template <class Input>
  WARPLOOM_FN StageRange<KContext<Input>, typename KContext<Input>::Rings> per_k_stages(Input& input,
                                                                                        KBlocks k_blocks) noexcept {
    return {{&this->ring(), &input}, k_blocks};
  }
  /// A finished K block as a handle that must be released; the input ring is the caller's.
  WARPLOOM_FN EpilogueStage<opc> acquire_k_stage_linear() noexcept { return this->ring().acquire_epilogue_linear(); }

 protected:
  /// Says that this thread has finished with tensor memory.
  WARPLOOM_FN void finish() noexcept {
    this->dealloc_barrier.signal_complete();
    this->finished_ = true;
  }

 private:
  static WARPLOOM_FN Tmem published(SMemArray<uint32_t, 1>& slot) noexcept {
    arch::claim_published(Base::Sync::id);
    return Tmem::from_shared(slot);
  }
};

}  // namespace detail

/// A side for one scope: leaving finishes it.
template <class Side>
class [[nodiscard]] WarpScope : public Side, Scope {
 public:
  WARPLOOM_FN WarpScope(typename Side::Tmem allocation, typename Side::Pipeline ring,
                        typename Side::Dealloc dealloc) noexcept
      : Side(allocation, ring, dealloc) {}
  WARPLOOM_FN ~WarpScope() noexcept { this->finish(); }

  static WARPLOOM_FN WarpScope create(SMemArray<uint32_t, 1>& tmem_addr_storage, SharedMemBarrier* accum_barriers,
                                      SMemArray<SharedMemBarrier, 1>& dealloc_mbar,
                                      uint16_t mma_complete_mask = Side::Pipeline::complete_mask()) noexcept {
    return WarpScope({tmem_addr_storage, accum_barriers, dealloc_mbar, mma_complete_mask});
  }

 private:
  WARPLOOM_FN explicit WarpScope(const detail::HandOff& at) noexcept : Side(at) {}
};

/// A side as a handle: release() finishes it.
template <class Side>
class [[nodiscard]] WarpHandle : public Side, MustRelease<typename Side::Base> {
  using Handle = MustRelease<typename Side::Base>;

 public:
  WARPLOOM_FN WarpHandle(typename Side::Tmem allocation, typename Side::Pipeline ring,
                         typename Side::Dealloc dealloc) noexcept
      : Side(allocation, ring, dealloc) {}
  WARPLOOM_FN WarpHandle(WarpHandle&& other) noexcept : Side(other), Handle(static_cast<Handle&&>(other)) {
    other.finished_ = true;
  }
  WARPLOOM_DEFAULTED ~WarpHandle() noexcept = default;

  static WARPLOOM_FN WarpHandle create(SMemArray<uint32_t, 1>& tmem_addr_storage, SharedMemBarrier* accum_barriers,
                                       SMemArray<SharedMemBarrier, 1>& dealloc_mbar,
                                       uint16_t mma_complete_mask = Side::Pipeline::complete_mask()) noexcept {
    return WarpHandle({tmem_addr_storage, accum_barriers, dealloc_mbar, mma_complete_mask});
  }
  WARPLOOM_FN void release() noexcept {
    Handle::settle([&]() WARPLOOM_LAMBDA { this->finish(); });
  }

 private:
  WARPLOOM_FN explicit WarpHandle(const detail::HandOff& at) noexcept : Side(at) {}
};

// `auto`, because g++ 12 does not survive the configuration's type in an alias.
/// Owns tensor memory and the MMA side of the accumulator ring. MmaWarp is the same as a handle.
template <auto opc, int mma_threads = Mma::threads, int epilogue_threads = Epilogue::threads>
using MmaWarpContext = WarpScope<detail::MmaSide<opc, mma_threads, epilogue_threads>>;
template <auto opc, int mma_threads = Mma::threads, int epilogue_threads = Epilogue::threads>
using MmaWarp = WarpHandle<detail::MmaSide<opc, mma_threads, epilogue_threads>>;

/// The epilogue side; Sync::wait() comes first. EpilogueWarp is the same as a handle.
template <auto opc, int mma_threads = Mma::threads, int epilogue_threads = Epilogue::threads>
using EpilogueWarpContext = WarpScope<detail::EpilogueSide<opc, mma_threads, epilogue_threads>>;
template <auto opc, int mma_threads = Mma::threads, int epilogue_threads = Epilogue::threads>
using EpilogueWarp = WarpHandle<detail::EpilogueSide<opc, mma_threads, epilogue_threads>>;

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
