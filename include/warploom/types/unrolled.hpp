// A loop that is unrolled for certain.
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// f(0), f(1), ... f(count - 1), unrolled, so that register arrays indexed by the argument stay registers.
template <int count, int first = 0, class F>
WARPLOOM_FN void unrolled(F&& f) noexcept {
  if constexpr (first < count) {
    f(first);
    unrolled<count, first + 1>(f);
  }
}

}  // namespace warploom::inline WARPLOOM_MACHINE
