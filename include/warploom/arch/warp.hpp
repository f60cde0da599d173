// Warp-collective operations: every lane named in the mask must take part.
#pragma once

#include "warploom/arch/identity.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// elect.sync: true in exactly one lane of the mask, the lowest (hardware.md §6.5).
WARPLOOM_FN bool elect_one(uint32_t mask = full_mask) noexcept;
/// bar.warp.sync
WARPLOOM_FN void syncwarp(uint32_t mask = full_mask) noexcept;
/// shfl.sync.{idx,bfly,up,down}.b32 over the whole warp
WARPLOOM_FN uint32_t shuffle(uint32_t value, uint32_t source_lane, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN uint32_t shuffle_xor(uint32_t value, uint32_t lane_mask, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN uint32_t shuffle_up(uint32_t value, uint32_t delta, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN uint32_t shuffle_down(uint32_t value, uint32_t delta, uint32_t mask = full_mask) noexcept;

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/warp.hpp"
#else
#include "warploom/arch/loom/warp.hpp"
#endif
