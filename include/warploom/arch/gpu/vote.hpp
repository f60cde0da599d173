// The GPU side of arch/vote.hpp: the compiler's own intrinsics where there are any.
#pragma once

namespace warploom::inline WARPLOOM_MACHINE::arch {

WARPLOOM_FN bool vote_all(bool predicate, uint32_t mask) noexcept { return __all_sync(mask, predicate) != 0; }
WARPLOOM_FN bool vote_any(bool predicate, uint32_t mask) noexcept { return __any_sync(mask, predicate) != 0; }
WARPLOOM_FN bool vote_uniform(bool predicate, uint32_t mask) noexcept { return __uni_sync(mask, predicate) != 0; }
WARPLOOM_FN uint32_t vote_ballot(bool predicate, uint32_t mask) noexcept { return __ballot_sync(mask, predicate); }

WARPLOOM_FN uint32_t match_any(uint32_t value, uint32_t mask) noexcept { return __match_any_sync(mask, value); }
WARPLOOM_FN uint32_t match_any(uint64_t value, uint32_t mask) noexcept {
  return __match_any_sync(mask, static_cast<unsigned long long>(value));
}
WARPLOOM_FN bool match_all(uint32_t value, uint32_t mask) noexcept {
  int same = 0;
  __match_all_sync(mask, value, &same);
  return same != 0;
}
WARPLOOM_FN bool match_all(uint64_t value, uint32_t mask) noexcept {
  int same = 0;
  __match_all_sync(mask, static_cast<unsigned long long>(value), &same);
  return same != 0;
}

WARPLOOM_FN uint32_t reduce_add(uint32_t value, uint32_t mask) noexcept { return __reduce_add_sync(mask, value); }
WARPLOOM_FN uint32_t reduce_min(uint32_t value, uint32_t mask) noexcept { return __reduce_min_sync(mask, value); }
WARPLOOM_FN uint32_t reduce_max(uint32_t value, uint32_t mask) noexcept { return __reduce_max_sync(mask, value); }
WARPLOOM_FN int32_t reduce_min(int32_t value, uint32_t mask) noexcept { return __reduce_min_sync(mask, value); }
WARPLOOM_FN int32_t reduce_max(int32_t value, uint32_t mask) noexcept { return __reduce_max_sync(mask, value); }
WARPLOOM_FN uint32_t reduce_and(uint32_t value, uint32_t mask) noexcept { return __reduce_and_sync(mask, value); }
WARPLOOM_FN uint32_t reduce_or(uint32_t value, uint32_t mask) noexcept { return __reduce_or_sync(mask, value); }
WARPLOOM_FN uint32_t reduce_xor(uint32_t value, uint32_t mask) noexcept { return __reduce_xor_sync(mask, value); }

// redux.sync.{min,max}{.abs}{.NaN}.f32 d, a, mask
#define WARPLOOM_REDUX(form) asm volatile("redux.sync." form ".f32 %0, %1, %2;" : "=f"(result) : "f"(value), "r"(mask))
template <bool absolute, bool nan>
WARPLOOM_FN float reduce_min(float value, uint32_t mask) noexcept {
  float result;
  if constexpr (absolute && nan)
    WARPLOOM_REDUX("min.abs.NaN");
  else if constexpr (absolute)
    WARPLOOM_REDUX("min.abs");
  else if constexpr (nan)
    WARPLOOM_REDUX("min.NaN");
  else
    WARPLOOM_REDUX("min");
  return result;
}
template <bool absolute, bool nan>
WARPLOOM_FN float reduce_max(float value, uint32_t mask) noexcept {
  float result;
  if constexpr (absolute && nan)
    WARPLOOM_REDUX("max.abs.NaN");
  else if constexpr (absolute)
    WARPLOOM_REDUX("max.abs");
  else if constexpr (nan)
    WARPLOOM_REDUX("max.NaN");
  else
    WARPLOOM_REDUX("max");
  return result;
}
#undef WARPLOOM_REDUX

// shfl.sync.{idx,bfly,up,down}.b32 d|p, a, b, c, mask
#define WARPLOOM_SHUFFLE(mode, by, control)                                                           \
  uint32_t result, valid;                                                                             \
  asm volatile("{ .reg .pred p; shfl.sync." mode ".b32 %0|p, %2, %3, %4, %5; selp.u32 %1, 1, 0, p; }" \
               : "=r"(result), "=r"(valid)                                                            \
               : "r"(value), "r"(by), "n"(control), "r"(mask));                                       \
  return {result, valid != 0}
template <uint32_t width>
WARPLOOM_FN Shuffled shuffle_within(uint32_t value, uint32_t source_lane, uint32_t mask) noexcept {
  WARPLOOM_SHUFFLE("idx", source_lane, detail::shuffle_control<width>());
}
template <uint32_t width>
WARPLOOM_FN Shuffled shuffle_xor_within(uint32_t value, uint32_t lane_mask, uint32_t mask) noexcept {
  WARPLOOM_SHUFFLE("bfly", lane_mask, detail::shuffle_control<width>());
}
template <uint32_t width>
WARPLOOM_FN Shuffled shuffle_up_within(uint32_t value, uint32_t delta, uint32_t mask) noexcept {
  constexpr uint32_t control = detail::shuffle_control<width, true>();
  WARPLOOM_SHUFFLE("up", delta, control);
}
template <uint32_t width>
WARPLOOM_FN Shuffled shuffle_down_within(uint32_t value, uint32_t delta, uint32_t mask) noexcept {
  WARPLOOM_SHUFFLE("down", delta, detail::shuffle_control<width>());
}
#undef WARPLOOM_SHUFFLE

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
