// Division by a number that the host knows before a launch: a multiplication and a shift instead of the dozens of
// dependent instructions that a division takes on the GPU.
//
//   constexpr Divisor by(7);           // on the host
//   by.quotient(n);                    // n / 7, for 0 <= n < 2^31
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom {

class Divisor {
 public:
  constexpr Divisor() = default;
  /// 1 <= divisor < 2^31. With 2^p >= 2^31 * divisor, rounding 2^p / divisor up costs less than 1 / n for every n.
  explicit constexpr Divisor(int divisor) {
    if (divisor <= 1) return;
    const auto d = static_cast<uint64_t>(divisor);
    uint32_t bits = 0;
    while ((uint64_t{1} << bits) < d) ++bits;
    shift_ = bits - 1;  // p = 31 + bits, of which 32 are the high half of the product
    multiplier_ = static_cast<uint32_t>(((uint64_t{1} << (31 + bits)) + d - 1) / d);
  }
  WARPLOOM_CONST_FN int quotient(int n) const {
    if (multiplier_ == 0) return n;
    return static_cast<int>(static_cast<uint32_t>((static_cast<uint64_t>(n) * multiplier_) >> 32) >> shift_);
  }

 private:
  uint32_t multiplier_ = 0;  ///< 0: the divisor is 1
  uint32_t shift_ = 0;
};

}  // namespace warploom
