// Warp-collective operations: every lane named in the mask must take part.
#pragma once

#include <concepts>

#include "warploom/arch/identity.hpp"
#include "warploom/arch/math.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

/// elect.sync: true in exactly one lane of the mask, the lowest (hardware.md §6.5).
WARPLOOM_FN bool elect_one(uint32_t mask = full_mask) noexcept;
/// bar.warp.sync
WARPLOOM_FN void syncwarp(uint32_t mask = full_mask) noexcept;
/// The same for all lanes, before one of them signals on behalf of the warp. It orders that signal behind what the
/// lanes did, and promises the others nothing: the loom lets them go on.
WARPLOOM_FN void syncwarp_before_signal() noexcept;
/// shfl.sync.{idx,bfly,up,down}.b32 over the whole warp
WARPLOOM_FN uint32_t shuffle(uint32_t value, uint32_t source_lane, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN uint32_t shuffle_xor(uint32_t value, uint32_t lane_mask, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN uint32_t shuffle_up(uint32_t value, uint32_t delta, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN uint32_t shuffle_down(uint32_t value, uint32_t delta, uint32_t mask = full_mask) noexcept;
/// redux.sync.or.b32: a value that all lanes of the warp have in common, in a uniform register from here on.
WARPLOOM_FN uint32_t uniform(uint32_t value) noexcept;
/// The same of the bits of a float. Only a float will do: an int remains a uint32_t.
template <std::same_as<float> F>
WARPLOOM_FN F shuffle(F value, uint32_t source_lane, uint32_t mask = full_mask) noexcept {
  return as_float(shuffle(as_bits(value), source_lane, mask));
}
template <std::same_as<float> F>
WARPLOOM_FN F shuffle_xor(F value, uint32_t lane_mask, uint32_t mask = full_mask) noexcept {
  return as_float(shuffle_xor(as_bits(value), lane_mask, mask));
}
template <std::same_as<float> F>
WARPLOOM_FN F shuffle_up(F value, uint32_t delta, uint32_t mask = full_mask) noexcept {
  return as_float(shuffle_up(as_bits(value), delta, mask));
}
template <std::same_as<float> F>
WARPLOOM_FN F shuffle_down(F value, uint32_t delta, uint32_t mask = full_mask) noexcept {
  return as_float(shuffle_down(as_bits(value), delta, mask));
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/warp.hpp"
#else
#include "warploom/arch/loom/warp.hpp"
#endif
