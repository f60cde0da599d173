// Tensor memory's owner types: the allocation, a stage of it, and the barrier that says everyone is done with it. The
// warp contexts use them; a kernel rarely does.
//
//   auto tmem = TmemAllocation<1>::allocate(slot);            // the MMA warp; the others: from_shared(slot)
//   TmemStage<opc> stage{tmem.addr, 1};                       // accumulator 1 of the ring
//   TmemDeallocBarrier<1>{barrier}.complete_dealloc(tmem);    // once every epilogue thread has signalled
#pragma once

#include "warploom/arch/annotate.hpp"
#include "warploom/arch/claims.hpp"
#include "warploom/pipeline/policy.hpp"
#include "warploom/pipeline/storage.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// How the accumulator ring divides tensor memory; a parameter of every type that touches it, so that they agree.
struct OutputPipelineConfig {
  int num_stages = 2;
  int stage_stride_cols = 256;
  int cta_group = 1;
};

/// `max_cols` columns of tensor memory. Warp-collective; with cta_group 2 in both CTAs of the pair.
template <int cta_group, int max_cols = 512>
struct TmemAllocation {
  arch::TmemAddress addr;

  static WARPLOOM_FN TmemAllocation allocate(SMemArray<uint32_t, 1>& slot) noexcept {
    arch::tmem_alloc<cta_group>(arch::shared_address(slot.ptr()), max_cols);
    arch::syncwarp();
    return from_shared(slot);
  }
  /// In any other warp, once the address has been published (WarpGroupBarrier).
  static WARPLOOM_FN TmemAllocation from_shared(SMemArray<uint32_t, 1>& slot) noexcept {
    return {{arch::load_shared(slot.ptr())}};
  }
  WARPLOOM_FN void release_lock() const noexcept { arch::tmem_relinquish<cta_group>(); }
  WARPLOOM_FN void deallocate() const noexcept { arch::tmem_dealloc<cta_group>(addr, max_cols); }
};

/// Stage `index` of an accumulator ring.
template <OutputPipelineConfig opc>
struct TmemStage {
  arch::TmemAddress base;
  uint32_t index = 0;

  /// The stage whose accumulator is at `offset`.
  static WARPLOOM_FN TmemStage from_offset(uint32_t offset, uint32_t index) noexcept {
    return {{offset - index * opc.stage_stride_cols}, index};
  }
  WARPLOOM_FN uint32_t offset() const noexcept { return address().value; }
  WARPLOOM_FN arch::TmemAddress address() const noexcept { return base.column(index * opc.stage_stride_cols); }
};

/// Used once: every epilogue thread of the pair has finished with tensor memory.
template <int cta_group, class Role = Epilogue>
struct TmemDeallocBarrier {
  using Policy = every_thread<Role, to_pair>;
  using Cluster = ClusterShape<cta_group, cta_group, 1>;
  static constexpr uint32_t count = Policy::template arrivals<Cluster>;
  static constexpr char name[] = "tmem dealloc";

  SharedMemBarrier* barrier;

  static WARPLOOM_FN void init(SharedMemBarrier* barrier) noexcept {
    arch::mbarrier_init(arch::shared_address(barrier), count);
    arch::name_barriers<TmemDeallocBarrier, Policy>(barrier, 1, arch::RingSide::once);
  }
  /// Epilogue threads: the peer first, then this CTA, whose MMA warp may exit as soon as it has heard.
  WARPLOOM_FN void signal_complete() const noexcept {
    arch::tcgen05_fence_before();
    Policy::template signal<Cluster>(arch::shared_address(barrier));
  }
  WARPLOOM_FN void wait() const noexcept { arch::mbarrier_wait(arch::shared_address(barrier), 1); }
  /// MMA warp: lets another CTA allocate, waits for the epilogues, frees.
  WARPLOOM_FN void complete_dealloc(const TmemAllocation<cta_group>& tmem) const noexcept {
    tmem.release_lock();
    wait();
    arch::tcgen05_fence_after();
    arch::syncwarp();
    tmem.deallocate();
  }
};

}  // namespace warploom::inline WARPLOOM_MACHINE
