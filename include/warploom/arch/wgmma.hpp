// wgmma: the Hopper tensor core (hardware.md §5). The four warps of an aligned warpgroup issue it together; it reads A
// and B through descriptors of shared memory (A from registers, too), and leaves D = A*B (+ D) in the registers of the
// 128 threads, later.
//
//   Fragment<float, 64> acc;                                   // 64 x 128 over the warpgroup
//   wgmma_fence(acc);                                          // ordinary accesses to acc come first
//   wgmma<128, bf16, bf16>(acc, a, b, false);                  // K = 16: one instruction
//   wgmma<128, bf16, bf16>(acc, a.advance(32), b.advance(32), true);
//   wgmma_commit_group();
//   wgmma_wait_group<0>(acc);                                  // acc may be read
//
// Register i of thread t = 32*w + l holds row 16*w + l/4 + 8*((i/2)%2), column 8*(i/4) + 2*(l%4) + i%2 of D.
#pragma once

#include "warploom/arch/fragment.hpp"
#include "warploom/arch/shared.hpp"
#include "warploom/arch/warp.hpp"
#include "warploom/types/descriptor.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

constexpr int wgmma_m = 64;
constexpr uint32_t warpgroup_threads = 128;

namespace detail {

template <class T>
inline constexpr bool wgmma_type = false;
template <>
inline constexpr bool wgmma_type<bf16> = true;
template <>
inline constexpr bool wgmma_type<f16> = true;
template <>
inline constexpr bool wgmma_type<e4m3> = true;
template <>
inline constexpr bool wgmma_type<e5m2> = true;

template <class A, class B>
struct WgmmaSameType {
  static constexpr bool value = false;
};
template <class A>
struct WgmmaSameType<A, A> {
  static constexpr bool value = true;
};

/// The instructions that exist.
template <int n, class A, class B, Major a_major, Major b_major>
struct WgmmaForm {
  static_assert(n >= 8 && n <= 256 && n % 8 == 0, "warploom: wgmma has N = 8, 16, 24, ... 256");
  static_assert(wgmma_type<A> && wgmma_type<B>, "warploom: wgmma multiplies bf16, f16, e4m3 and e5m2 here");
  static_assert(WgmmaSameType<A, B>::value || (sizeof(A) == 1 && sizeof(B) == 1),
                "warploom: A and B of a wgmma have one type; only e4m3 and e5m2 may be mixed");
  static_assert(sizeof(A) == 2 || (a_major == Major::k && b_major == Major::k),
                "warploom: wgmma reads 8-bit operands K-major only");
};

}  // namespace detail

/// wgmma.fence.sync.aligned: orders this warp's ordinary accesses to the registers of `fragments` before the wgmmas
/// that follow. Needed before the first wgmma and whenever ordinary code touched an accumulator or an A fragment.
/// Naming the fragments also holds the compiler to that order.
template <class... Fragments>
WARPLOOM_FN void wgmma_fence(Fragments&... fragments) noexcept;

/// wgmma.commit_group.sync.aligned: this warp's wgmmas since the last commit are one group (it may be empty).
WARPLOOM_FN void wgmma_commit_group() noexcept;

/// wgmma.wait_group.sync.aligned: at most the `pending` latest groups are still in flight. `fragments` are the
/// accumulators that code after the wait reads: unnamed, the compiler might read them earlier.
template <int pending, class... Fragments>
WARPLOOM_FN void wgmma_wait_group(Fragments&... fragments) noexcept;
/// The same before a signal that gives back what the tensor core has read (syncwarp_before_signal comes next).
template <int pending>
WARPLOOM_FN void wgmma_wait_group_before_signal() noexcept;

/// wgmma.mma_async.sync.aligned.m64nNkK.f32.A.B d, a-desc, b-desc, accumulate, 1, 1{, trans-a, trans-b}: K is 32 bytes.
template <int n, class A, class B, Major a_major = Major::k, Major b_major = Major::k>
WARPLOOM_FN void wgmma(Fragment<float, n / 2>& d, SmemDescriptor a, SmemDescriptor b, bool accumulate) noexcept;

/// The form with A in registers: register r of thread t = 32*w + l holds the 4 bytes at 4*(l%4) + 16*(r/2) of row
/// 16*w + l/4 + 8*(r%2).
template <int n, class A, class B, Major b_major = Major::k>
WARPLOOM_FN void wgmma_from_registers(Fragment<float, n / 2>& d, const Fragment<uint32_t, 4>& a, SmemDescriptor b,
                                      bool accumulate) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/wgmma.hpp"
#else
#include "warploom/arch/loom/wgmma.hpp"
#endif
