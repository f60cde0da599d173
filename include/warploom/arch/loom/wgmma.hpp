// The loom side of arch/wgmma.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <class... Fragments>
WARPLOOM_FN void wgmma_fence(Fragments&... fragments) noexcept {
  if (native::wgmma_fence()) (fragments.wgmma_state().fence(), ...);
}
WARPLOOM_FN void wgmma_commit_group() noexcept { native::wgmma_commit_group(); }
template <int pending, class... Fragments>
WARPLOOM_FN void wgmma_wait_group(Fragments&... fragments) noexcept {
  static_assert(pending >= 0 && pending <= 7, "warploom: wgmma.wait_group leaves 0 to 7 groups pending");
  native::wgmma_wait_group(pending);
  (fragments.wgmma_state().name(), ...);
}
template <int pending>
WARPLOOM_FN void wgmma_wait_group_before_signal() noexcept {
  static_assert(pending >= 0 && pending <= 7, "warploom: wgmma.wait_group leaves 0 to 7 groups pending");
  native::wgmma_wait_group_before_signal(pending);
}

namespace detail {
template <int n, class A, class B, Major a_major, Major b_major, WgmmaResult result, WgmmaNegate negate,
          WgmmaOverflow overflow = WgmmaOverflow::wrap>
inline constexpr native::WgmmaForm wgmma_form = [] {
  (void)WgmmaForm<n, A, B, a_major, b_major, result, negate>{};
  return native::WgmmaForm{n, wgmma_type_of<A>, wgmma_type_of<B>, a_major, b_major, result, negate, overflow};
}();

template <class D>
WARPLOOM_FN native::WgmmaLane wgmma_lane(D& d, SmemDescriptor a, SmemDescriptor b, bool accumulate) noexcept {
  return {d.registers(), &d.wgmma_state(), nullptr, nullptr, a.bits, b.bits, accumulate};
}
template <class D>
WARPLOOM_FN native::WgmmaLane wgmma_lane(D& d, const Fragment<uint32_t, 4>& a, SmemDescriptor b,
                                         bool accumulate) noexcept {
  return {d.registers(), &d.wgmma_state(), a.registers(), &a.wgmma_state(), 0, b.bits, accumulate};
}
}  // namespace detail

template <int n, class A, class B, Major a_major, Major b_major, WgmmaNegate negate>
WARPLOOM_FN void wgmma(Fragment<float, n / 2>& d, SmemDescriptor a, SmemDescriptor b, bool accumulate) noexcept {
  native::wgmma(detail::wgmma_form<n, A, B, a_major, b_major, WgmmaResult::f32, negate>,
                detail::wgmma_lane(d, a, b, accumulate));
}
template <int n, class A, class B, Major b_major, WgmmaNegate negate>
WARPLOOM_FN void wgmma_from_registers(Fragment<float, n / 2>& d, const Fragment<uint32_t, 4>& a, SmemDescriptor b,
                                      bool accumulate) noexcept {
  native::wgmma(detail::wgmma_form<n, A, B, Major::k, b_major, WgmmaResult::f32, negate>,
                detail::wgmma_lane(d, a, b, accumulate));
}
template <int n, class A, class B, Major a_major, Major b_major, WgmmaNegate negate>
WARPLOOM_FN void wgmma(Fragment<uint32_t, n / 4>& d, SmemDescriptor a, SmemDescriptor b, bool accumulate) noexcept {
  native::wgmma(detail::wgmma_form<n, A, B, a_major, b_major, WgmmaResult::f16, negate>,
                detail::wgmma_lane(d, a, b, accumulate));
}
template <int n, class A, class B, Major b_major, WgmmaNegate negate>
WARPLOOM_FN void wgmma_from_registers(Fragment<uint32_t, n / 4>& d, const Fragment<uint32_t, 4>& a, SmemDescriptor b,
                                      bool accumulate) noexcept {
  native::wgmma(detail::wgmma_form<n, A, B, Major::k, b_major, WgmmaResult::f16, negate>,
                detail::wgmma_lane(d, a, b, accumulate));
}
template <int n, class A, class B, WgmmaOverflow overflow>
WARPLOOM_FN void wgmma(Fragment<int32_t, n / 2>& d, SmemDescriptor a, SmemDescriptor b, bool accumulate) noexcept {
  native::wgmma(detail::wgmma_form<n, A, B, Major::k, Major::k, WgmmaResult::s32, WgmmaNegate::none, overflow>,
                detail::wgmma_lane(d, a, b, accumulate));
}
template <int n, class A, class B, WgmmaOverflow overflow>
WARPLOOM_FN void wgmma_from_registers(Fragment<int32_t, n / 2>& d, const Fragment<uint32_t, 4>& a, SmemDescriptor b,
                                      bool accumulate) noexcept {
  native::wgmma(detail::wgmma_form<n, A, B, Major::k, Major::k, WgmmaResult::s32, WgmmaNegate::none, overflow>,
                detail::wgmma_lane(d, a, b, accumulate));
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
