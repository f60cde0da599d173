// How addresses of shared and tensor memory are made up. A kernel's 32-bit address of shared memory holds the CTA's
// rank in the cluster and the offset in its window; the first bytes of a window belong to nobody.
//
//   Cta* cta = cluster.owner(address);
//   std::byte* place = cta->window + (address & offset_mask);
#pragma once

#include <cstdint>

namespace warploom::loom {

using Pc = const void*;  ///< a return address in the kernel: becomes a source line in reports

inline constexpr uint32_t window_start = 0x400;
inline constexpr uint32_t rank_shift = 24;
inline constexpr uint32_t offset_mask = (1u << rank_shift) - 1;
inline constexpr uint32_t tmem_column_count = 512;
inline constexpr uint32_t tmem_lane_count = 128;

}  // namespace warploom::loom
