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
#include "warploom/types/wgmma_types.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

constexpr int wgmma_m = 64;
constexpr uint32_t warpgroup_threads = 128;

namespace detail {

/// The instructions that exist.
template <int n, class A, class B, Major a_major, Major b_major, WgmmaResult result, WgmmaNegate negate>
struct WgmmaForm {
  static constexpr WgmmaType a = wgmma_type_of<A>, b = wgmma_type_of<B>;
  static_assert(wgmma_types_exist(a, b),
                "warploom: A and B of a wgmma have one type; only e4m3 with e5m2 and int8_t with uint8_t may be mixed");
  static_assert(wgmma_n_exists(a, n),
                "warploom: wgmma has N = 8, 16, 24, ... 256, and of integers above 32 multiples of 16 only");
  static_assert(wgmma_result_exists(a, result),
                "warploom: wgmma adds integers to s32, f16, e4m3 and e5m2 to f32 or f16, bf16 and tf32 to f32");
  static_assert(sizeof(A) == 2 || (a_major == Major::k && b_major == Major::k),
                "warploom: wgmma reads operands of 8 and 32 bits K-major only");
  static_assert(!is_integer(a) || negate == WgmmaNegate::none, "warploom: a wgmma of integers negates no operand");
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

/// wgmma.mma_async.sync.aligned.m64nNkK.f32.A.B d, a-desc, b-desc, accumulate, +-1, +-1{, trans-a, trans-b}: K is 32
/// bytes. `negate` says whose elements count times -1.
template <int n, class A, class B, Major a_major = Major::k, Major b_major = Major::k,
          WgmmaNegate negate = WgmmaNegate::none>
WARPLOOM_FN void wgmma(Fragment<float, n / 2>& d, SmemDescriptor a, SmemDescriptor b, bool accumulate) noexcept;

/// The form with A in registers: register r of thread t = 32*w + l holds the 4 bytes at 4*(l%4) + 16*(r/2) of row
/// 16*w + l/4 + 8*(r%2).
template <int n, class A, class B, Major b_major = Major::k, WgmmaNegate negate = WgmmaNegate::none>
WARPLOOM_FN void wgmma_from_registers(Fragment<float, n / 2>& d, const Fragment<uint32_t, 4>& a, SmemDescriptor b,
                                      bool accumulate) noexcept;

/// ...m64nNkK.f16.A.B for f16, e4m3 and e5m2: a register holds two values of the numbering above, the first in its low
/// half.
template <int n, class A, class B, Major a_major = Major::k, Major b_major = Major::k,
          WgmmaNegate negate = WgmmaNegate::none>
WARPLOOM_FN void wgmma(Fragment<uint32_t, n / 4>& d, SmemDescriptor a, SmemDescriptor b, bool accumulate) noexcept;
template <int n, class A, class B, Major b_major = Major::k, WgmmaNegate negate = WgmmaNegate::none>
WARPLOOM_FN void wgmma_from_registers(Fragment<uint32_t, n / 4>& d, const Fragment<uint32_t, 4>& a, SmemDescriptor b,
                                      bool accumulate) noexcept;

/// ...m64nNk32.s32.A.B{.satfinite} d, a-desc, b-desc, accumulate for int8_t and uint8_t.
template <int n, class A, class B, WgmmaOverflow overflow = WgmmaOverflow::wrap>
WARPLOOM_FN void wgmma(Fragment<int32_t, n / 2>& d, SmemDescriptor a, SmemDescriptor b, bool accumulate) noexcept;
template <int n, class A, class B, WgmmaOverflow overflow = WgmmaOverflow::wrap>
WARPLOOM_FN void wgmma_from_registers(Fragment<int32_t, n / 2>& d, const Fragment<uint32_t, 4>& a, SmemDescriptor b,
                                      bool accumulate) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/wgmma.hpp"
#else
#include "warploom/arch/loom/wgmma.hpp"
#endif
