// Votes, matches and reductions over the lanes of a warp that a mask names, and shuffles within segments of it. Every
// lane of the mask must take part; lanes that it leaves out must not.
//
//   if (vote_any(row < rows)) ...
//   const uint32_t most = reduce_max(count);
#pragma once

#include "warploom/arch/warp.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN bool vote_all(bool predicate, uint32_t mask = full_mask) noexcept;         ///< vote.sync.all
WARPLOOM_FN bool vote_any(bool predicate, uint32_t mask = full_mask) noexcept;         ///< vote.sync.any
WARPLOOM_FN bool vote_uniform(bool predicate, uint32_t mask = full_mask) noexcept;     ///< vote.sync.uni: all or none
WARPLOOM_FN uint32_t vote_ballot(bool predicate, uint32_t mask = full_mask) noexcept;  ///< vote.sync.ballot

/// match.any.sync.b32, .b64: the lanes that have this value
WARPLOOM_FN uint32_t match_any(uint32_t value, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN uint32_t match_any(uint64_t value, uint32_t mask = full_mask) noexcept;
/// match.all.sync.b32, .b64: do all have the same?
WARPLOOM_FN bool match_all(uint32_t value, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN bool match_all(uint64_t value, uint32_t mask = full_mask) noexcept;

// redux.sync.{add,min,max}.{u32,s32}, .{and,or,xor}.b32
WARPLOOM_FN uint32_t reduce_add(uint32_t value, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN uint32_t reduce_min(uint32_t value, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN uint32_t reduce_max(uint32_t value, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN int32_t reduce_min(int32_t value, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN int32_t reduce_max(int32_t value, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN uint32_t reduce_and(uint32_t value, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN uint32_t reduce_or(uint32_t value, uint32_t mask = full_mask) noexcept;
WARPLOOM_FN uint32_t reduce_xor(uint32_t value, uint32_t mask = full_mask) noexcept;
/// redux.sync.{min,max}{.abs}{.NaN}.f32, sm_100a: of numbers and NaNs the numbers count, unless with `nan`; -0 lies
/// below +0
template <bool absolute = false, bool nan = false>
WARPLOOM_FN float reduce_min(float value, uint32_t mask = full_mask) noexcept;
template <bool absolute = false, bool nan = false>
WARPLOOM_FN float reduce_max(float value, uint32_t mask = full_mask) noexcept;

/// A value, and whether the lane that it comes from lies in this one's segment; if not it is the lane's own.
struct Shuffled {
  uint32_t value;
  bool valid;
};
/// shfl.sync.{idx,bfly,up,down}.b32 with a predicate, within segments of `width` lanes (a power of two). Of bfly, a
/// lane may read from segments before its own.
template <uint32_t width>
WARPLOOM_FN Shuffled shuffle_within(uint32_t value, uint32_t source_lane, uint32_t mask = full_mask) noexcept;
template <uint32_t width>
WARPLOOM_FN Shuffled shuffle_xor_within(uint32_t value, uint32_t lane_mask, uint32_t mask = full_mask) noexcept;
template <uint32_t width>
WARPLOOM_FN Shuffled shuffle_up_within(uint32_t value, uint32_t delta, uint32_t mask = full_mask) noexcept;
template <uint32_t width>
WARPLOOM_FN Shuffled shuffle_down_within(uint32_t value, uint32_t delta, uint32_t mask = full_mask) noexcept;

namespace detail {
/// The third operand of shfl: the segments in bits 12:8, and the clamp, which is the last lane of one; 0 of shfl.up.
template <uint32_t width, bool up = false>
constexpr uint32_t shuffle_control() {
  static_assert(width != 0 && width <= 32 && (width & (width - 1)) == 0,
                "warploom: a shuffle's segments have 1, 2, 4, 8, 16 or 32 lanes");
  return (32 - width) << 8 | (up ? 0 : 31);
}
}  // namespace detail

}  // namespace warploom::inline WARPLOOM_MACHINE::arch

#if WARPLOOM_GPU
#include "warploom/arch/gpu/vote.hpp"
#else
#include "warploom/arch/loom/vote.hpp"
#endif
