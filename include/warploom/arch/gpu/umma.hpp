// The GPU side of arch/umma.hpp. sm_100a only: on another target a use of these functions fails at link time, by name.
#pragma once

#include "warploom/arch/gpu/ptx.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace detail {
template <MmaKind kind>
inline constexpr auto kind_tag = [] {
  if constexpr (kind == MmaKind::f16) {
    return ptx::kind_f16;
  } else if constexpr (kind == MmaKind::tf32) {
    return ptx::kind_tf32;
  } else if constexpr (kind == MmaKind::f8f6f4) {
    return ptx::kind_f8f6f4;
  } else {
    static_assert(kind == MmaKind::i8, "warploom: tcgen05.mma without block scaling has no such kind");
    return ptx::kind_i8;
  }
}();
}  // namespace detail

template <MmaKind kind, int cta_group>
WARPLOOM_FN void umma(TmemAddress d, SmemDescriptor a, SmemDescriptor b, InstructionDescriptor idesc,
                      bool accumulate) noexcept {
  detail::ptx::tcgen05_mma(detail::kind_tag<kind>, detail::cta_group_tag<cta_group>, d.value, a.bits, b.bits,
                           idesc.bits, accumulate);
}
// tcgen05.commit.cta_group::G.mbarrier::arrive::one.shared::cluster.b64 [barrier]
template <int cta_group>
WARPLOOM_FN void umma_commit(SharedAddress barrier) noexcept {
  detail::ptx::tcgen05_commit(detail::cta_group_tag<cta_group>, detail::generic_pointer<uint64_t>(barrier));
}
// tcgen05.commit.cta_group::G.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [barrier], mask
template <int cta_group>
WARPLOOM_FN void umma_commit_multicast(SharedAddress barrier, uint16_t cta_mask) noexcept {
  detail::ptx::tcgen05_commit_multicast(detail::cta_group_tag<cta_group>, detail::generic_pointer<uint64_t>(barrier),
                                        cta_mask);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
