// The loom side of arch/registers.hpp.
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::inline WARPLOOM_MACHINE::arch {

namespace native = ::warploom::loom::native;

template <uint32_t count>
WARPLOOM_FN void register_increase() noexcept {
  native::set_max_registers(detail::RegisterCount<count>::value, true);
}
template <uint32_t count>
WARPLOOM_FN void register_decrease() noexcept {
  native::set_max_registers(detail::RegisterCount<count>::value, false);
}

}  // namespace warploom::inline WARPLOOM_MACHINE::arch
