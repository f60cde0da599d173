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
template <class A>
inline constexpr bool in_tmem = false;
template <>
inline constexpr bool in_tmem<TmemAddress> = true;
}  // namespace detail

template <MmaKind kind, int cta_group>
WARPLOOM_FN void umma(TmemAddress d, SmemDescriptor a, SmemDescriptor b, InstructionDescriptor idesc,
                      bool accumulate) noexcept {
  detail::ptx::tcgen05_mma(detail::kind_tag<kind>, detail::cta_group_tag<cta_group>, d.value, a.bits, b.bits,
                           idesc.bits, accumulate);
}
// tcgen05.mma.cta_group::G.kind::K [d], [a], b, idesc, accumulate
template <MmaKind kind, int cta_group>
WARPLOOM_FN void umma(TmemAddress d, TmemAddress a, SmemDescriptor b, InstructionDescriptor idesc,
                      bool accumulate) noexcept {
  detail::ptx::tcgen05_mma_tmem_a(detail::kind_tag<kind>, detail::cta_group_tag<cta_group>, d.value, a.value, b.bits,
                                  idesc.bits, accumulate);
}
// tcgen05.mma.cta_group::G.kind::K [d], A, b, idesc, {disabled...}, accumulate
template <MmaKind kind, int cta_group, class A>
WARPLOOM_FN void umma_masked(TmemAddress d, A a, SmemDescriptor b, InstructionDescriptor idesc, bool accumulate,
                             const uint32_t (&disabled)[4 * cta_group]) noexcept {
  if constexpr (detail::in_tmem<A>)
    detail::ptx::tcgen05_mma_tmem_a(detail::kind_tag<kind>, detail::cta_group_tag<cta_group>, d.value, a.value, b.bits,
                                    idesc.bits, disabled, accumulate);
  else
    detail::ptx::tcgen05_mma(detail::kind_tag<kind>, detail::cta_group_tag<cta_group>, d.value, a.bits, b.bits,
                             idesc.bits, disabled, accumulate);
}
// tcgen05.mma.cta_group::G.kind::K [d], A, b, idesc, accumulate, s
template <MmaKind kind, int cta_group, int s, class A>
WARPLOOM_FN void umma_scaled_input(TmemAddress d, A a, SmemDescriptor b, InstructionDescriptor idesc,
                                   bool accumulate) noexcept {
  static_assert(kind == MmaKind::f16 || kind == MmaKind::tf32,
                "warploom: only kinds f16 and tf32 scale D as it comes in");
  static_assert(s >= 0 && s <= 15, "warploom: D comes in times 2^0 to 2^-15");
  if constexpr (detail::in_tmem<A>)
    detail::ptx::tcgen05_mma_tmem_a(detail::kind_tag<kind>, detail::cta_group_tag<cta_group>, d.value, a.value, b.bits,
                                    idesc.bits, accumulate, detail::ptx::n32_t<s>{});
  else
    detail::ptx::tcgen05_mma(detail::kind_tag<kind>, detail::cta_group_tag<cta_group>, d.value, a.bits, b.bits,
                             idesc.bits, accumulate, detail::ptx::n32_t<s>{});
}

// libcu++ 13.0 writes the address of A in tensor memory without its brackets, so these forms are written out here.
#define WARPLOOM_BLOCK_SCALED(group, kind, vector, a_text, a_value)                                                \
  asm volatile("{\n\t.reg .pred onto;\n\tsetp.ne.b32 onto, %6, 0;\n\ttcgen05.mma.cta_group::" group ".kind::" kind \
               ".block_scale.scale_vec::" vector " [%0], " a_text ", %2, %3, [%4], [%5], onto;\n}"                 \
               :                                                                                                   \
               : "r"(d.value), a_value, "l"(b.bits), "r"(idesc.bits), "r"(sfa.value), "r"(sfb.value),              \
                 "r"(static_cast<uint32_t>(accumulate))                                                            \
               : "memory")
#define WARPLOOM_BLOCK_SCALED_A(group, kind, vector)                  \
  if constexpr (detail::in_tmem<A>)                                   \
    WARPLOOM_BLOCK_SCALED(group, kind, vector, "[%1]", "r"(a.value)); \
  else                                                                \
    WARPLOOM_BLOCK_SCALED(group, kind, vector, "%1", "l"(a.bits))
#define WARPLOOM_BLOCK_SCALED_GROUP(kind, vector) \
  if constexpr (cta_group == 1) {                 \
    WARPLOOM_BLOCK_SCALED_A("1", kind, vector);   \
  } else {                                        \
    WARPLOOM_BLOCK_SCALED_A("2", kind, vector);   \
  }
template <MmaKind kind, ScaleVector vector, int cta_group, class A>
WARPLOOM_FN void umma_block_scaled(TmemAddress d, A a, SmemDescriptor b, InstructionDescriptor idesc, TmemAddress sfa,
                                   TmemAddress sfb, bool accumulate) noexcept {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
  constexpr bool x1 = vector == ScaleVector::x1, x2 = vector == ScaleVector::x2;
  if constexpr (kind == MmaKind::mxf8f6f4) {
    static_assert(x1, "warploom: kind mxf8f6f4 takes one scale factor per row, .scale_vec::1X");
    WARPLOOM_BLOCK_SCALED_GROUP("mxf8f6f4", "1X")
  } else if constexpr (kind == MmaKind::mxf4) {
    static_assert(x2, "warploom: kind mxf4 takes two scale factors per row, .scale_vec::2X");
    WARPLOOM_BLOCK_SCALED_GROUP("mxf4", "2X")
  } else {
    static_assert(kind == MmaKind::mxf4nvf4, "warploom: kinds mxf8f6f4, mxf4 and mxf4nvf4 have scale factors");
    static_assert(!x1, "warploom: kind mxf4nvf4 takes two or four scale factors per row");
    if constexpr (x2) {
      WARPLOOM_BLOCK_SCALED_GROUP("mxf4nvf4", "2X")
    } else {
      WARPLOOM_BLOCK_SCALED_GROUP("mxf4nvf4", "4X")
    }
  }
}
#undef WARPLOOM_BLOCK_SCALED_GROUP
#undef WARPLOOM_BLOCK_SCALED_A
#undef WARPLOOM_BLOCK_SCALED

// tcgen05.mma.ws.cta_group::1.kind::K.collector::b0::discard [d], a, b, idesc, accumulate
template <MmaKind kind>
WARPLOOM_FN void umma_ws(TmemAddress d, SmemDescriptor a, SmemDescriptor b, InstructionDescriptor idesc,
                         bool accumulate) noexcept {
  detail::ptx::tcgen05_mma_ws_collector_b0_discard(detail::ptx::cta_group_1, detail::kind_tag<kind>, d.value, a.bits,
                                                   b.bits, idesc.bits, accumulate);
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
