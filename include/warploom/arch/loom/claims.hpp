// The loom side of arch/claims.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <class Label>
WARPLOOM_FN void claim_held(bool holds, Misuse otherwise) noexcept {
  if (!holds) [[unlikely]]
    native::stage_misuse(Label::name, static_cast<uint8_t>(otherwise));
}
template <class Label>
WARPLOOM_FN void claim_argument(const char* what, uint32_t given, uint32_t derived) noexcept {
  if (given != derived) [[unlikely]]
    native::wrong_argument(Label::name, what, given, derived);
}
WARPLOOM_FN void claim_published(uint32_t id) noexcept { native::claim_published(id); }
template <class Label>
WARPLOOM_FN void claim_accumulators(TmemAddress base, uint32_t stages, uint32_t columns) noexcept {
  native::claim_accumulators(Label::name, base.value, stages, columns);
}
WARPLOOM_FN void hold_accumulator(TmemAddress address, AccumulatorSide side) noexcept {
  native::hold_accumulator(address.value, static_cast<uint8_t>(side), true);
}
WARPLOOM_FN void give_back_accumulator(TmemAddress address, AccumulatorSide side) noexcept {
  native::hold_accumulator(address.value, static_cast<uint8_t>(side), false);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
