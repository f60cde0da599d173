// The GPU side of arch/claims.hpp: nothing.
#pragma once

namespace warploom::inline WARPLOOM_MACHINE::arch {

template <class Label>
WARPLOOM_FN void claim_held(bool, Misuse) noexcept {}
template <class Label>
WARPLOOM_FN void claim_argument(const char*, uint32_t, uint32_t) noexcept {}
WARPLOOM_FN void claim_published(uint32_t) noexcept {}
template <class Label>
WARPLOOM_FN void claim_accumulators(TmemAddress, uint32_t, uint32_t) noexcept {}
WARPLOOM_FN void hold_accumulator(TmemAddress, AccumulatorSide) noexcept {}
WARPLOOM_FN void give_back_accumulator(TmemAddress, AccumulatorSide) noexcept {}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
