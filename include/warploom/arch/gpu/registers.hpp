// The GPU side of arch/registers.hpp.
#pragma once

namespace warploom::inline WARPLOOM_MACHINE::arch {

template <uint32_t count>
WARPLOOM_FN void register_increase() noexcept {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(detail::RegisterCount<count>::value));
}
template <uint32_t count>
WARPLOOM_FN void register_decrease() noexcept {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(detail::RegisterCount<count>::value));
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
