// A loop that is unrolled for certain.
#pragma once

#include <utility>

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// f(0), f(1), ... f(count - 1), unrolled, so that register arrays indexed by the argument stay registers. Where f is a
/// move or a product, WARPLOOM_UNROLL is as good and sooner compiled.
template <int count, int first = 0, class F>
WARPLOOM_FN void unrolled(F&& f) noexcept {
  static_assert(count - first <= 256, "warploom: clang folds 256 calls at most; unroll a loop of more in two steps");
  const auto each = [&]<int... i>(std::integer_sequence<int, i...>) WARPLOOM_LAMBDA { (f(first + i), ...); };
  each(std::make_integer_sequence<int, (count > first ? count - first : 0)>{});
}

}  // namespace warploom::inline WARPLOOM_MACHINE
