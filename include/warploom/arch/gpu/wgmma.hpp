// The GPU side of arch/wgmma.hpp. sm_90a only: elsewhere ptxas refuses a use of these functions.
#pragma once

#include "warploom/arch/gpu/wgmma_instruction.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace detail {

/// No instruction: the compiler may not move an access to these registers across it.
template <int count>
WARPLOOM_FN void pin(Fragment<float, count>& fragment) noexcept {
  WARPLOOM_UNROLL
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(fragment.registers[i])::"memory");
}
template <int count>
WARPLOOM_FN void pin(Fragment<uint32_t, count>& fragment) noexcept {
  WARPLOOM_UNROLL
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(fragment.registers[i])::"memory");
}

/// The words of the instruction that follow from its types, for the "C" constraint.
template <class A, class B>
struct WgmmaTypes;
#define WARPLOOM_WGMMA_TYPES(a, b, k)                        \
  template <>                                                \
  struct WgmmaTypes<a, b> {                                  \
    static constexpr char text[] = "k" #k ".f32." #a "." #b; \
  };
WARPLOOM_WGMMA_TYPES(bf16, bf16, 16)
WARPLOOM_WGMMA_TYPES(f16, f16, 16)
WARPLOOM_WGMMA_TYPES(e4m3, e4m3, 32)
WARPLOOM_WGMMA_TYPES(e4m3, e5m2, 32)
WARPLOOM_WGMMA_TYPES(e5m2, e4m3, 32)
WARPLOOM_WGMMA_TYPES(e5m2, e5m2, 32)
#undef WARPLOOM_WGMMA_TYPES

/// imm-trans-a, imm-trans-b: both; the second alone where A is in registers; neither for 8-bit types.
template <int immediates, Major a_major, Major b_major>
struct WgmmaMajors {
  static constexpr char text[] = {
      ',', ' ', a_major == Major::mn ? '1' : '0', ',', ' ', b_major == Major::mn ? '1' : '0', '\0'};
};
template <Major a_major, Major b_major>
struct WgmmaMajors<1, a_major, b_major> {
  static constexpr char text[] = {',', ' ', b_major == Major::mn ? '1' : '0', '\0'};
};
template <Major a_major, Major b_major>
struct WgmmaMajors<0, a_major, b_major> {
  static constexpr char text[] = "";
};

}  // namespace detail

template <class... Fragments>
WARPLOOM_FN void wgmma_fence(Fragments&... fragments) noexcept {
  (detail::pin(fragments), ...);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
WARPLOOM_FN void wgmma_commit_group() noexcept { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending, class... Fragments>
WARPLOOM_FN void wgmma_wait_group(Fragments&... fragments) noexcept {
  static_assert(pending >= 0 && pending <= 7, "warploom: wgmma.wait_group leaves 0 to 7 groups pending");
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
  (detail::pin(fragments), ...);
}
template <int pending>
WARPLOOM_FN void wgmma_wait_group_before_signal() noexcept {
  wgmma_wait_group<pending>();
}

template <int n, class A, class B, Major a_major, Major b_major>
WARPLOOM_FN void wgmma(Fragment<float, n / 2>& d, SmemDescriptor a, SmemDescriptor b, bool accumulate) noexcept {
  (void)detail::WgmmaForm<n, A, B, a_major, b_major>{};
  using Majors = detail::WgmmaMajors<sizeof(A) == 1 ? 0 : 2, a_major, b_major>;
  detail::WgmmaInstruction<n>::template shared<detail::WgmmaTypes<A, B>, Majors>(d.registers, a.bits, b.bits,
                                                                                 accumulate);
}
template <int n, class A, class B, Major b_major>
WARPLOOM_FN void wgmma_from_registers(Fragment<float, n / 2>& d, const Fragment<uint32_t, 4>& a, SmemDescriptor b,
                                      bool accumulate) noexcept {
  (void)detail::WgmmaForm<n, A, B, Major::k, b_major>{};
  using Majors = detail::WgmmaMajors<sizeof(A) == 1 ? 0 : 1, Major::k, b_major>;
  detail::WgmmaInstruction<n>::template registers<detail::WgmmaTypes<A, B>, Majors>(d.registers, a.registers, b.bits,
                                                                                    accumulate);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
