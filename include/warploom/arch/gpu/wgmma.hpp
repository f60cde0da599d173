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

template <int count>
WARPLOOM_FN void pin(Fragment<int32_t, count>& fragment) noexcept {
  WARPLOOM_UNROLL
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(fragment.registers[i])::"memory");
}

/// The words of the instruction that follow from its types, for the "C" constraint.
template <class A, class B, WgmmaResult result, WgmmaOverflow overflow = WgmmaOverflow::wrap>
struct WgmmaTypes;
#define WARPLOOM_WGMMA_TYPES(A, B, a, b, k, d)                  \
  template <>                                                   \
  struct WgmmaTypes<A, B, WgmmaResult::d> {                     \
    static constexpr char text[] = "k" #k "." #d "." #a "." #b; \
  };
#define WARPLOOM_WGMMA_INTEGERS(A, B, a, b)                           \
  WARPLOOM_WGMMA_TYPES(A, B, a, b, 32, s32)                           \
  template <>                                                         \
  struct WgmmaTypes<A, B, WgmmaResult::s32, WgmmaOverflow::clamp> {   \
    static constexpr char text[] = "k32.s32." #a "." #b ".satfinite"; \
  };
WARPLOOM_WGMMA_TYPES(bf16, bf16, bf16, bf16, 16, f32)
WARPLOOM_WGMMA_TYPES(tf32, tf32, tf32, tf32, 8, f32)
WARPLOOM_WGMMA_TYPES(f16, f16, f16, f16, 16, f32)
WARPLOOM_WGMMA_TYPES(f16, f16, f16, f16, 16, f16)
WARPLOOM_WGMMA_TYPES(e4m3, e4m3, e4m3, e4m3, 32, f32)
WARPLOOM_WGMMA_TYPES(e4m3, e5m2, e4m3, e5m2, 32, f32)
WARPLOOM_WGMMA_TYPES(e5m2, e4m3, e5m2, e4m3, 32, f32)
WARPLOOM_WGMMA_TYPES(e5m2, e5m2, e5m2, e5m2, 32, f32)
WARPLOOM_WGMMA_TYPES(e4m3, e4m3, e4m3, e4m3, 32, f16)
WARPLOOM_WGMMA_TYPES(e4m3, e5m2, e4m3, e5m2, 32, f16)
WARPLOOM_WGMMA_TYPES(e5m2, e4m3, e5m2, e4m3, 32, f16)
WARPLOOM_WGMMA_TYPES(e5m2, e5m2, e5m2, e5m2, 32, f16)
WARPLOOM_WGMMA_INTEGERS(int8_t, int8_t, s8, s8)
WARPLOOM_WGMMA_INTEGERS(int8_t, uint8_t, s8, u8)
WARPLOOM_WGMMA_INTEGERS(uint8_t, int8_t, u8, s8)
WARPLOOM_WGMMA_INTEGERS(uint8_t, uint8_t, u8, u8)
#undef WARPLOOM_WGMMA_INTEGERS
#undef WARPLOOM_WGMMA_TYPES

/// What follows the predicate: imm-scale-a, imm-scale-b; then of 16-bit types imm-trans-a, imm-trans-b, the second
/// alone where A is in registers. Integers have none.
template <WgmmaNegate negate>
inline constexpr char wgmma_sign_a = negate == WgmmaNegate::a || negate == WgmmaNegate::both ? '-' : ' ';
template <WgmmaNegate negate>
inline constexpr char wgmma_sign_b = negate == WgmmaNegate::b || negate == WgmmaNegate::both ? '-' : ' ';
template <int majors, Major a_major, Major b_major, WgmmaNegate negate>
struct WgmmaImmediates {
  static constexpr char text[] = {',',
                                  wgmma_sign_a<negate>,
                                  '1',
                                  ',',
                                  wgmma_sign_b<negate>,
                                  '1',
                                  ',',
                                  a_major == Major::mn ? '1' : '0',
                                  ',',
                                  b_major == Major::mn ? '1' : '0',
                                  '\0'};
};
template <Major a_major, Major b_major, WgmmaNegate negate>
struct WgmmaImmediates<1, a_major, b_major, negate> {
  static constexpr char text[] = {
      ',', wgmma_sign_a<negate>, '1', ',', wgmma_sign_b<negate>, '1', ',', b_major == Major::mn ? '1' : '0', '\0'};
};
template <Major a_major, Major b_major, WgmmaNegate negate>
struct WgmmaImmediates<0, a_major, b_major, negate> {
  static constexpr char text[] = {',', wgmma_sign_a<negate>, '1', ',', wgmma_sign_b<negate>, '1', '\0'};
};
struct NoWgmmaImmediates {
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

template <int n, class A, class B, Major a_major, Major b_major, WgmmaNegate negate>
WARPLOOM_FN void wgmma(Fragment<float, n / 2>& d, SmemDescriptor a, SmemDescriptor b, bool accumulate) noexcept {
  (void)detail::WgmmaForm<n, A, B, a_major, b_major, WgmmaResult::f32, negate>{};
  using Types = detail::WgmmaTypes<A, B, WgmmaResult::f32>;
  using Immediates = detail::WgmmaImmediates<sizeof(A) == 2 ? 2 : 0, a_major, b_major, negate>;
  detail::WgmmaInstruction<n>::template shared<Types, Immediates>(d.registers, a.bits, b.bits, accumulate);
}
template <int n, class A, class B, Major b_major, WgmmaNegate negate>
WARPLOOM_FN void wgmma_from_registers(Fragment<float, n / 2>& d, const Fragment<uint32_t, 4>& a, SmemDescriptor b,
                                      bool accumulate) noexcept {
  (void)detail::WgmmaForm<n, A, B, Major::k, b_major, WgmmaResult::f32, negate>{};
  using Types = detail::WgmmaTypes<A, B, WgmmaResult::f32>;
  using Immediates = detail::WgmmaImmediates<sizeof(A) == 2 ? 1 : 0, Major::k, b_major, negate>;
  detail::WgmmaInstruction<n>::template registers<Types, Immediates>(d.registers, a.registers, b.bits, accumulate);
}
template <int n, class A, class B, Major a_major, Major b_major, WgmmaNegate negate>
WARPLOOM_FN void wgmma(Fragment<uint32_t, n / 4>& d, SmemDescriptor a, SmemDescriptor b, bool accumulate) noexcept {
  (void)detail::WgmmaForm<n, A, B, a_major, b_major, WgmmaResult::f16, negate>{};
  using Types = detail::WgmmaTypes<A, B, WgmmaResult::f16>;
  using Immediates = detail::WgmmaImmediates<sizeof(A) == 2 ? 2 : 0, a_major, b_major, negate>;
  detail::WgmmaHalfInstruction<n>::template shared<Types, Immediates>(d.registers, a.bits, b.bits, accumulate);
}
template <int n, class A, class B, Major b_major, WgmmaNegate negate>
WARPLOOM_FN void wgmma_from_registers(Fragment<uint32_t, n / 4>& d, const Fragment<uint32_t, 4>& a, SmemDescriptor b,
                                      bool accumulate) noexcept {
  (void)detail::WgmmaForm<n, A, B, Major::k, b_major, WgmmaResult::f16, negate>{};
  using Types = detail::WgmmaTypes<A, B, WgmmaResult::f16>;
  using Immediates = detail::WgmmaImmediates<sizeof(A) == 2 ? 1 : 0, Major::k, b_major, negate>;
  detail::WgmmaHalfInstruction<n>::template registers<Types, Immediates>(d.registers, a.registers, b.bits, accumulate);
}
template <int n, class A, class B, WgmmaOverflow overflow>
WARPLOOM_FN void wgmma(Fragment<int32_t, n / 2>& d, SmemDescriptor a, SmemDescriptor b, bool accumulate) noexcept {
  (void)detail::WgmmaForm<n, A, B, Major::k, Major::k, WgmmaResult::s32, WgmmaNegate::none>{};
  using Types = detail::WgmmaTypes<A, B, WgmmaResult::s32, overflow>;
  detail::WgmmaInstruction<n>::template shared<Types, detail::NoWgmmaImmediates>(d.registers, a.bits, b.bits,
                                                                                 accumulate);
}
template <int n, class A, class B, WgmmaOverflow overflow>
WARPLOOM_FN void wgmma_from_registers(Fragment<int32_t, n / 2>& d, const Fragment<uint32_t, 4>& a, SmemDescriptor b,
                                      bool accumulate) noexcept {
  (void)detail::WgmmaForm<n, A, B, Major::k, Major::k, WgmmaResult::s32, WgmmaNegate::none>{};
  using Types = detail::WgmmaTypes<A, B, WgmmaResult::s32, overflow>;
  detail::WgmmaInstruction<n>::template registers<Types, detail::NoWgmmaImmediates>(d.registers, a.registers, b.bits,
                                                                                    accumulate);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
