// Votes, matches, reductions and shuffles within segments, over the lanes of a warp that a mask names; reductions over
// the threads of a named barrier; activemask. Part of the native front end (native.hpp).
//
//   const uint32_t who = native::vote(native::Vote::ballot, whole, x > 0);   // one bit per lane
//
// The lanes wait for each other once, and the last to come works the result out for all. Lanes that disagree on the
// operation or on the mask are reported as those of a shuffle are.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::loom::native {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

enum class Vote : uint8_t { all, any, uniform, ballot };
/// vote.sync: 0 or 1, of a ballot one bit per lane.
uint32_t vote(Vote mode, uint32_t mask, bool predicate) noexcept;

/// match.any.sync: the lanes of the mask that have the same value.
uint32_t match_any(uint32_t mask, uint64_t value) noexcept;
/// match.all.sync: the mask if all its lanes have the same value, 0 otherwise (which is the predicate, too).
uint32_t match_all(uint32_t mask, uint64_t value) noexcept;

enum class Redux : uint8_t { add, min_u32, max_u32, min_s32, max_s32, bit_and, bit_or, bit_xor, min_f32, max_f32 };
/// redux.sync; floats as their bits. `absolute`, `nan`: .abs, .NaN of min_f32 and max_f32.
uint32_t redux(Redux operation, uint32_t mask, uint32_t value, bool absolute = false, bool nan = false) noexcept;

/// shfl.sync with all operands of the instruction: `control` has the clamp in bits 4:0 and the segment mask in bits
/// 12:8. `valid`: whether the source lay within the segment; where not, a lane has its own value.
uint32_t shuffle_segment(Shuffle mode, uint32_t mask, uint32_t value, uint32_t lane, uint32_t control,
                         bool* valid) noexcept;

/// activemask: the lanes of the warp that come to this place together. Those that come are asked once no other thread
/// of the cluster can go on; under seeded schedules they may be told that they are two groups. Always a point.
uint32_t active_mask() noexcept;

/// bar.sync of all threads of the CTA that have not exited, at any of the sixteen barriers.
void bar_sync_all(uint32_t id) noexcept;

enum class BarReduction : uint8_t { none, popc, bit_and, bit_or };
/// bar.red: of how many threads the predicate is true, or whether that is all, or any. `threads` 0: all threads of the
/// CTA that have not exited.
uint32_t bar_reduce(BarReduction operation, uint32_t id, uint32_t threads, bool predicate) noexcept;

#pragma GCC visibility pop
}  // namespace warploom::loom::native
