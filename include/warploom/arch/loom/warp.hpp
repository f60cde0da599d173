// The loom side of arch/warp.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN bool elect_one(uint32_t mask) noexcept { return native::elect(mask); }
WARPLOOM_FN void syncwarp(uint32_t mask) noexcept { native::syncwarp(mask); }
WARPLOOM_FN void syncwarp_before_signal() noexcept { native::syncwarp_before_signal(); }
WARPLOOM_FN uint32_t uniform(uint32_t value) noexcept { return native::uniform(value); }
WARPLOOM_FN uint32_t shuffle(uint32_t value, uint32_t source_lane, uint32_t mask) noexcept {
  return native::shuffle(native::Shuffle::index, mask, value, source_lane);
}
WARPLOOM_FN uint32_t shuffle_xor(uint32_t value, uint32_t lane_mask, uint32_t mask) noexcept {
  return native::shuffle(native::Shuffle::exclusive_or, mask, value, lane_mask);
}
WARPLOOM_FN uint32_t shuffle_up(uint32_t value, uint32_t delta, uint32_t mask) noexcept {
  return native::shuffle(native::Shuffle::up, mask, value, delta);
}
WARPLOOM_FN uint32_t shuffle_down(uint32_t value, uint32_t delta, uint32_t mask) noexcept {
  return native::shuffle(native::Shuffle::down, mask, value, delta);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
