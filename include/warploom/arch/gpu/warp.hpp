// The GPU side of arch/warp.hpp. The shuffles are the compiler's own intrinsics, so that it may still move and merge
// them (`cuda::ptx`'s are volatile).
#pragma once

namespace warploom::inline WARPLOOM_MACHINE::arch {

// elect.sync _|p, mask
WARPLOOM_FN bool elect_one(uint32_t mask) noexcept {
  uint32_t elected;
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "elect.sync _|p, %1;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t"
      "}"
      : "=r"(elected)
      : "r"(mask));
  return elected != 0;
}
WARPLOOM_FN void syncwarp(uint32_t mask) noexcept { __syncwarp(mask); }
WARPLOOM_FN void syncwarp_before_signal() noexcept { __syncwarp(); }
WARPLOOM_FN uint32_t uniform(uint32_t value) noexcept { return __reduce_or_sync(full_mask, value); }
WARPLOOM_FN uint32_t shuffle(uint32_t value, uint32_t source_lane, uint32_t mask) noexcept {
  return __shfl_sync(mask, value, static_cast<int>(source_lane));
}
WARPLOOM_FN uint32_t shuffle_xor(uint32_t value, uint32_t lane_mask, uint32_t mask) noexcept {
  return __shfl_xor_sync(mask, value, static_cast<int>(lane_mask));
}
WARPLOOM_FN uint32_t shuffle_up(uint32_t value, uint32_t delta, uint32_t mask) noexcept {
  return __shfl_up_sync(mask, value, delta);
}
WARPLOOM_FN uint32_t shuffle_down(uint32_t value, uint32_t delta, uint32_t mask) noexcept {
  return __shfl_down_sync(mask, value, delta);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
