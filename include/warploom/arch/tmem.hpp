// Tensor memory: 128 lanes x 512 columns x 32 bits per SM, address = lane << 16 | column (hardware.md §4.1, 4.2, 4.14).
#pragma once

#include "warploom/arch/fragment.hpp"
#include "warploom/arch/shared.hpp"
#include "warploom/arch/warp.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

constexpr uint32_t tmem_columns = 512;
constexpr uint32_t tmem_lanes = 128;

struct TmemAddress {
  uint32_t value = 0;
  WARPLOOM_CONST_FN TmemAddress column(uint32_t n) const { return {value + n}; }
  WARPLOOM_CONST_FN TmemAddress lane(uint32_t n) const { return {value + (n << 16)}; }
};

/// tcgen05.alloc: warp-collective; with cta_group 2 one warp of each CTA of the pair. The base lands in `slot`.
template <int cta_group>
WARPLOOM_FN void tmem_alloc(SharedAddress slot, uint32_t columns) noexcept;
template <int cta_group>
WARPLOOM_FN void tmem_relinquish() noexcept;  ///< tcgen05.relinquish_alloc_permit
template <int cta_group>
WARPLOOM_FN void tmem_dealloc(TmemAddress base, uint32_t columns) noexcept;

// tcgen05.ld.sync.aligned.SHAPE.xN{.pack::16b}.b32 {r...}, [source]: warp-collective, the same address in all lanes.
// Warp w reads lanes 32*(w%4) to 32*(w%4)+31 and names the first of them, or for the shapes of 16 lanes also the 17th.
// `count` is the number of registers. `packed`: a register holds the low halves of two neighbouring columns, which are
// read as columns 2c and 2c+1 where column c stands below.

/// .32x32b.x(count): register i of lane t = (lane t, column i)
template <int count, bool packed = false>
WARPLOOM_FN void tmem_load_32x32b(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept;
/// .16x64b.x(count): register i of lane t = (t/4 + 8*(t%2), 2*i + (t/2)%2)
template <int count, bool packed = false>
WARPLOOM_FN void tmem_load_16x64b(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept;
/// .16x128b.x(count/2): register i of lane t = (t/4 + 8*(i%2), 4*(i/2) + t%4)
template <int count, bool packed = false>
WARPLOOM_FN void tmem_load_16x128b(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept;
/// .16x256b.x(count/4): register i of lane t = (t/4 + 8*((i/2)%2), 8*(i/4) + 2*(t%4) + i%2)
template <int count, bool packed = false>
WARPLOOM_FN void tmem_load_16x256b(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept;
/// .16x32bx2.x(count) with `offset`: register i of lane t = (t%16, i + (t/16)*offset); packed: columns 2*i and 2*i+1,
/// the offset as it is
template <int offset, int count, bool packed = false>
WARPLOOM_FN void tmem_load_16x32bx2(Fragment<uint32_t, count>& registers, TmemAddress source) noexcept;

// tcgen05.st.sync.aligned.SHAPE.xN{.unpack::16b}.b32 [destination], {r...}: the same maps, the other way.
template <int count, bool packed = false>
WARPLOOM_FN void tmem_store_32x32b(TmemAddress destination, const uint32_t (&registers)[count]) noexcept;
template <int count, bool packed = false>
WARPLOOM_FN void tmem_store_16x64b(TmemAddress destination, const uint32_t (&registers)[count]) noexcept;
template <int count, bool packed = false>
WARPLOOM_FN void tmem_store_16x128b(TmemAddress destination, const uint32_t (&registers)[count]) noexcept;
template <int count, bool packed = false>
WARPLOOM_FN void tmem_store_16x256b(TmemAddress destination, const uint32_t (&registers)[count]) noexcept;
template <int offset, int count, bool packed = false>
WARPLOOM_FN void tmem_store_16x32bx2(TmemAddress destination, const uint32_t (&registers)[count]) noexcept;

WARPLOOM_FN void tmem_wait_load() noexcept;   ///< tcgen05.wait::ld, before any use of a loaded fragment
WARPLOOM_FN void tmem_wait_store() noexcept;  ///< tcgen05.wait::st

/// tcgen05.fence::before_thread_sync / ::after_thread_sync, around every hand-over to or from tcgen05 work of others
WARPLOOM_FN void tcgen05_fence_before() noexcept;
WARPLOOM_FN void tcgen05_fence_after() noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/tmem.hpp"
#else
#include "warploom/arch/loom/tmem.hpp"
#endif
