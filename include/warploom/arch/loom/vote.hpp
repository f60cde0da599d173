// The loom side of arch/vote.hpp.
#pragma once

#include "warploom/loom/collective.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

WARPLOOM_FN bool vote_all(bool predicate, uint32_t mask) noexcept {
  return native::vote(native::Vote::all, mask, predicate) != 0;
}
WARPLOOM_FN bool vote_any(bool predicate, uint32_t mask) noexcept {
  return native::vote(native::Vote::any, mask, predicate) != 0;
}
WARPLOOM_FN bool vote_uniform(bool predicate, uint32_t mask) noexcept {
  return native::vote(native::Vote::uniform, mask, predicate) != 0;
}
WARPLOOM_FN uint32_t vote_ballot(bool predicate, uint32_t mask) noexcept {
  return native::vote(native::Vote::ballot, mask, predicate);
}

WARPLOOM_FN uint32_t match_any(uint32_t value, uint32_t mask) noexcept { return native::match_any(mask, value); }
WARPLOOM_FN uint32_t match_any(uint64_t value, uint32_t mask) noexcept { return native::match_any(mask, value); }
WARPLOOM_FN bool match_all(uint32_t value, uint32_t mask) noexcept { return native::match_all(mask, value) != 0; }
WARPLOOM_FN bool match_all(uint64_t value, uint32_t mask) noexcept { return native::match_all(mask, value) != 0; }

WARPLOOM_FN uint32_t reduce_add(uint32_t value, uint32_t mask) noexcept {
  return native::redux(native::Redux::add, mask, value);
}
WARPLOOM_FN uint32_t reduce_min(uint32_t value, uint32_t mask) noexcept {
  return native::redux(native::Redux::min_u32, mask, value);
}
WARPLOOM_FN uint32_t reduce_max(uint32_t value, uint32_t mask) noexcept {
  return native::redux(native::Redux::max_u32, mask, value);
}
WARPLOOM_FN int32_t reduce_min(int32_t value, uint32_t mask) noexcept {
  return static_cast<int32_t>(native::redux(native::Redux::min_s32, mask, static_cast<uint32_t>(value)));
}
WARPLOOM_FN int32_t reduce_max(int32_t value, uint32_t mask) noexcept {
  return static_cast<int32_t>(native::redux(native::Redux::max_s32, mask, static_cast<uint32_t>(value)));
}
WARPLOOM_FN uint32_t reduce_and(uint32_t value, uint32_t mask) noexcept {
  return native::redux(native::Redux::bit_and, mask, value);
}
WARPLOOM_FN uint32_t reduce_or(uint32_t value, uint32_t mask) noexcept {
  return native::redux(native::Redux::bit_or, mask, value);
}
WARPLOOM_FN uint32_t reduce_xor(uint32_t value, uint32_t mask) noexcept {
  return native::redux(native::Redux::bit_xor, mask, value);
}
template <bool absolute, bool nan>
WARPLOOM_FN float reduce_min(float value, uint32_t mask) noexcept {
  return as_float(native::redux(native::Redux::min_f32, mask, as_bits(value), absolute, nan));
}
template <bool absolute, bool nan>
WARPLOOM_FN float reduce_max(float value, uint32_t mask) noexcept {
  return as_float(native::redux(native::Redux::max_f32, mask, as_bits(value), absolute, nan));
}

template <uint32_t width>
WARPLOOM_FN Shuffled shuffle_within(uint32_t value, uint32_t source_lane, uint32_t mask) noexcept {
  Shuffled to{};
  to.value = native::shuffle_segment(native::Shuffle::index, mask, value, source_lane, detail::shuffle_control<width>(),
                                     &to.valid);
  return to;
}
template <uint32_t width>
WARPLOOM_FN Shuffled shuffle_xor_within(uint32_t value, uint32_t lane_mask, uint32_t mask) noexcept {
  Shuffled to{};
  to.value = native::shuffle_segment(native::Shuffle::exclusive_or, mask, value, lane_mask,
                                     detail::shuffle_control<width>(), &to.valid);
  return to;
}
template <uint32_t width>
WARPLOOM_FN Shuffled shuffle_up_within(uint32_t value, uint32_t delta, uint32_t mask) noexcept {
  Shuffled to{};
  to.value = native::shuffle_segment(native::Shuffle::up, mask, value, delta, detail::shuffle_control<width, true>(),
                                     &to.valid);
  return to;
}
template <uint32_t width>
WARPLOOM_FN Shuffled shuffle_down_within(uint32_t value, uint32_t delta, uint32_t mask) noexcept {
  Shuffled to{};
  to.value =
      native::shuffle_segment(native::Shuffle::down, mask, value, delta, detail::shuffle_control<width>(), &to.valid);
  return to;
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
