// Two tensors share a byte where the difference of two addresses, a sum of multiples of four strides, lies between two
// bounds: a bounded linear problem in integers. Strides that continue each other become one, and so nearly every pair
// of layouts has two left at the most, whose solutions are counted by a sum of quotients, in as many steps as Euclid's
// algorithm takes.
#include "plan/overlap.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace warploom {
namespace {

/// Extents up to 2^31 times strides up to 2^63.
__extension__ using Wide = __int128;

Wide floor_div(Wide a, Wide b) { return a / b - (a % b < 0 ? 1 : 0); }
Wide ceil_div(Wide a, Wide b) { return -floor_div(-a, b); }

Wide common_divisor(Wide a, Wide b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

/// The multiples 0 to count - 1 of a stride.
struct Term {
  Wide stride = 0, count = 1;
  Wide longest() const { return stride * (count - 1); }
};

/// Sum over i from 0 to n - 1 of floor((first + step * i) / by), nothing negative.
Wide sum_of_quotients(Wide n, Wide first, Wide step, Wide by) {
  Wide sum = 0;
  while (n > 0) {
    sum += n * (n - 1) / 2 * (step / by) + n * (first / by);
    step %= by;
    first %= by;
    const Wide last = first + step * n;
    if (last < by) break;
    // The same lattice points, counted along the other axis.
    n = last / by;
    first = last % by;
    std::swap(step, by);
  }
  return sum;
}

/// For how many pairs x * a.stride + y * b.stride <= limit.
Wide pairs_up_to(Wide limit, const Term& a, const Term& b) {
  if (limit < 0) return 0;
  // x up to `whole` leave room for every y; x from `none` on leave none.
  const Wide whole = std::clamp<Wide>(floor_div(limit - b.longest(), a.stride) + 1, 0, a.count);
  const Wide none = std::clamp<Wide>(limit / a.stride + 1, 0, a.count);
  const Wide between = none - whole;
  Wide pairs = whole * b.count;
  if (between > 0) pairs += between + sum_of_quotients(between, limit - a.stride * (none - 1), a.stride, b.stride);
  return pairs;
}

class Sums {
 public:
  /// Whether a sum of the terms, each a multiple of its own, lies within [low, high].
  bool reach(Wide low, Wide high) {
    low_ = low;
    high_ = high;
    while (simplify()) {
    }
    return solve(0, low_, high_);
  }
  void add(int64_t stride, int64_t count) {
    if (count > 1 && stride != 0) terms_[size_++] = {stride, count};
  }

 private:
  void remove(size_t index) { std::copy(&terms_[index + 1], &terms_[size_--], &terms_[index]); }

  bool simplify() {
    for (size_t i = 0; i < size_; ++i) {
      if (terms_[i].stride <= high_ - low_ + 1) {  // steps that leave no gap
        low_ -= terms_[i].longest();
        remove(i);
        return true;
      }
      for (size_t j = 0; j < size_; ++j) {
        if (i == j || terms_[i].stride % terms_[j].stride != 0) continue;
        const Wide times = terms_[i].stride / terms_[j].stride;
        if (times > terms_[j].count) continue;
        terms_[j].count += times * (terms_[i].count - 1);  // one goes on where the other ends, or before
        remove(i);
        return true;
      }
    }
    return false;
  }

  /// The terms from `from` on. It may change their order.
  bool solve(size_t from, Wide low, Wide high) {
    Wide most = 0, divisor = 0;
    for (size_t i = from; i < size_; ++i) {
      most += terms_[i].longest();
      divisor = common_divisor(divisor, terms_[i].stride);
    }
    low = std::max<Wide>(low, 0);
    high = std::min(high, most);
    if (low > high) return false;
    if (from == size_) return true;  // 0 is within
    if (floor_div(high, divisor) * divisor < low) return false;
    if (from + 1 == size_) return true;  // as its multiples are all that there is up to `most`
    if (from + 2 == size_)
      return pairs_up_to(high, terms_[from], terms_[from + 1]) > pairs_up_to(low - 1, terms_[from], terms_[from + 1]);

    // Of the term that has the fewest multiples in question, each.
    const auto first = [&](const Term& t) { return std::max<Wide>(0, ceil_div(low - (most - t.longest()), t.stride)); };
    const auto last = [&](const Term& t) { return std::min<Wide>(t.count - 1, high / t.stride); };
    for (size_t i = from + 1; i < size_; ++i)
      if (last(terms_[i]) - first(terms_[i]) < last(terms_[from]) - first(terms_[from]))
        std::swap(terms_[i], terms_[from]);
    const Term chosen = terms_[from];
    const Wide end = last(chosen);
    for (Wide x = first(chosen); x <= end; ++x) {
      if (--tries_ < 0) return true;
      if (solve(from + 1, low - x * chosen.stride, high - x * chosen.stride)) return true;
    }
    return false;
  }

  std::array<Term, 5> terms_ = {};
  size_t size_ = 0;
  Wide low_ = 0, high_ = 0;
  int64_t tries_ = int64_t{1} << 17;
};

Wide reach_of(const StridedBytes::Steps& steps) { return Wide{steps.stride} * (steps.count - 1); }

bool empty(const StridedBytes& x) { return x.width <= 0 || x.outer.count <= 0 || x.batch.count <= 0; }

}  // namespace

bool share_a_byte(const StridedBytes& x, const StridedBytes& y) {
  if (empty(x) || empty(y)) return false;
  // A run of x at p and one of y at q share a byte where q - x.width < p < q + y.width. The multiples of y are counted
  // from its end, so that all have the same sign.
  const Wide y_reach = reach_of(y.outer) + reach_of(y.batch);
  const Wide distance = Wide{y.begin} - Wide{x.begin} + y_reach;
  Sums sums;
  sums.add(x.outer.stride, x.outer.count);
  sums.add(x.batch.stride, x.batch.count);
  sums.add(y.outer.stride, y.outer.count);
  sums.add(y.batch.stride, y.batch.count);
  return sums.reach(distance - x.width + 1, distance + y.width - 1);
}

bool overlaps_itself(const StridedBytes& x) {
  if (empty(x)) return false;
  if (x.outer.count > 1 && x.outer.stride < x.width) return true;
  if (x.batch.count <= 1) return false;
  // Matrices that are one or more apart, and rows of them, up or down. Rows are counted from the lowest.
  const Wide distance = reach_of(x.outer) - x.batch.stride;
  Sums sums;
  sums.add(x.batch.stride, x.batch.count - 1);
  sums.add(x.outer.stride, 2 * x.outer.count - 1);
  return sums.reach(distance - x.width + 1, distance + x.width - 1);
}

}  // namespace warploom
