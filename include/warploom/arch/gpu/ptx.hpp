// What the GPU units share: libcu++'s instruction wrappers, and the words of a plain memory access.
#pragma once

// What `cuda/ptx` includes, one header per instruction, less those that no unit uses: they are half of its text, and
// with them every file takes 0.6 s longer to compile. A libcu++ that is laid out otherwise is included as a whole.
#if __has_include(<cuda/__ptx/instructions/tensormap_replace.h>) && \
    __has_include(<cuda/__ptx/instructions/tcgen05_mma_ws.h>)
#include <cuda/__ptx/instructions/barrier_cluster.h>
#include <cuda/__ptx/instructions/clusterlaunchcontrol.h>
#include <cuda/__ptx/instructions/cp_async_bulk.h>
#include <cuda/__ptx/instructions/cp_async_bulk_commit_group.h>
#include <cuda/__ptx/instructions/cp_async_bulk_tensor.h>
#include <cuda/__ptx/instructions/cp_async_bulk_wait_group.h>
#include <cuda/__ptx/instructions/cp_reduce_async_bulk.h>
#include <cuda/__ptx/instructions/cp_reduce_async_bulk_tensor.h>
#include <cuda/__ptx/instructions/fence.h>
#include <cuda/__ptx/instructions/get_sreg.h>
#include <cuda/__ptx/instructions/mbarrier_arrive.h>
#include <cuda/__ptx/instructions/mbarrier_expect_tx.h>
#include <cuda/__ptx/instructions/mbarrier_init.h>
#include <cuda/__ptx/instructions/mbarrier_wait.h>
#include <cuda/__ptx/instructions/tcgen05_alloc.h>
#include <cuda/__ptx/instructions/tcgen05_commit.h>
#include <cuda/__ptx/instructions/tcgen05_cp.h>
#include <cuda/__ptx/instructions/tcgen05_fence.h>
#include <cuda/__ptx/instructions/tcgen05_ld.h>
#include <cuda/__ptx/instructions/tcgen05_mma.h>
#include <cuda/__ptx/instructions/tcgen05_mma_ws.h>
#include <cuda/__ptx/instructions/tcgen05_shift.h>
#include <cuda/__ptx/instructions/tcgen05_st.h>
#include <cuda/__ptx/instructions/tcgen05_wait.h>
#include <cuda/__ptx/instructions/tensormap_cp_fenceproxy.h>
#include <cuda/__ptx/instructions/tensormap_replace.h>
#else
#include <cuda/ptx>
#endif

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch::detail {

namespace ptx = ::cuda::ptx;

template <int cta_group>
inline constexpr auto cta_group_tag = [] {
  static_assert(cta_group == 1 || cta_group == 2, "warploom: a CTA group has one or two CTAs");
  if constexpr (cta_group == 1) {
    return ptx::cta_group_1;
  } else {
    return ptx::cta_group_2;
  }
}();

/// The machine word that moves an object of `bytes` bytes in one access. Objects are cast to it: nvcc assumes nothing
/// from types about aliasing, and memcpy would lose the alignment (nvcc 13.0 for sm_90a then stores byte by byte).
template <size_t bytes>
struct AccessWord {
  static_assert(bytes == 0, "warploom: one memory access moves 1, 2, 4, 8 or 16 bytes");
};
template <>
struct AccessWord<1> {
  using type = unsigned char;
};
template <>
struct AccessWord<2> {
  using type = unsigned short;
};
template <>
struct AccessWord<4> {
  using type = unsigned int;
};
template <>
struct AccessWord<8> {
  using type = uint2;
};
template <>
struct AccessWord<16> {
  using type = uint4;
};

template <class T>
using access_word = typename AccessWord<sizeof(T)>::type;

/// std::bit_cast. <cuda/std/bit> would bring std::string along, and a second and more to each file.
template <class To, class From>
WARPLOOM_FN To as_bits_of(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch::detail
