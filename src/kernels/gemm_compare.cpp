// GemmData::compare: every element of D against the answer, panel by panel.
#include <cmath>
#include <mutex>
#include <tuple>

#include "kernels/gemm_bound.hpp"
#include "kernels/gemm_reference.hpp"
#include "kernels/gemm_values.hpp"
#include "kernels/group_bias.hpp"
#include "kernels/reference_product.hpp"
#include "kernels/wrong_pattern.hpp"
#include "warploom/kernels/gemm_data.hpp"

namespace warploom {
namespace {

// A step of so many rows, and all of so many columns, fit into a core's second cache.
constexpr int64_t rows_at_once = 256, columns_at_once = 32;

struct Sums {
  double xy = 0, xx = 0, yy = 0;
  void add(double x, double y) {
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  void add(const Sums& other) {
    xy += other.xy;
    xx += other.xx;
    yy += other.yy;
  }
  double diff() const { return xx + yy == 0 ? 0 : 1.0 - 2.0 * xy / (xx + yy); }
};

/// What rounding may lose of a value near zero, where a type's values are evenly spaced: half of its smallest one. The
/// sum before is rounded to fp32: as much again for f32, next to nothing for bf16.
double least_rounding(DType type) {
  switch (type) {
    case DType::bf16: return std::ldexp(1.0, -134) + std::ldexp(1.0, -149);
    case DType::f16: return std::ldexp(1.0, -25);
    case DType::f32: return std::ldexp(1.0, -149);
    default: return std::ldexp(1.0, -10);
  }
}

/// The smallest magnitude that rounds to infinity; e4m3 has none.
double least_infinite(DType type) {
  switch (type) {
    case DType::bf16: return std::ldexp(1.0, 128) - std::ldexp(1.0, 119);
    case DType::f16: return 65520;
    case DType::f32: return std::ldexp(1.0, 128) - std::ldexp(1.0, 103);
    default: return INFINITY;
  }
}

/// All rows of D whose A fits into so many doubles are compared at a time, and B is decoded once for them.
constexpr int64_t most_of_a = int64_t{1} << 25;

/// A wrong element, noted until all of them are put together.
struct Wrong {
  WrongElements::Position at;
  bool unwritten = false, holds_source = false;
};

/// What is found in one panel.
struct Tally {
  GemmAccuracy figures;
  Sums stored;
  double largest = 0, largest_bound = 0;
  std::vector<Wrong> wrong;
};

bool comes_before(const WrongElement& a, const WrongElement& b) {
  return std::tie(a.matrix, a.row, a.column) < std::tie(b.matrix, b.row, b.column);
}

/// A panel of one matrix of D.
struct Extent {
  int64_t matrix = 0, first = 0, rows = 0, left = 0, columns = 0;
};

class Comparison {
 public:
  /// `leans`: rows, columns and tiles are looked at, too.
  Comparison(const GemmDataSpec& spec, const GemmData::Reference& reference, const HowItRan& how, bool leans)
      : spec_(spec),
        type_(spec.d),
        reference_(reference),
        leans_(leans),
        wrong_(spec, how),
        bias_(leans ? spec.batch : 0, spec.m, spec.n, wrong_.tile_rows(), wrong_.tile_columns()) {}

  void run() {
    const int64_t m = spec_.m, n = spec_.n, k = spec_.k, step = reference_.bound().step();
    const int64_t at_once = std::max(rows_at_once, most_of_a / std::max<int64_t>(k, 1) / rows_at_once * rows_at_once);
    for (int64_t matrix = 0; matrix < spec_.batch; ++matrix)
      for (int64_t top = 0; top < m && n > 0; top += at_once) {
        const int64_t count = std::min(at_once, m - top);
        PackedLines a(count, k, step);
        in_parallel(count, count * k, [&](int64_t r) { reference_.pack(a, r, stream_a, matrix, top + r, false); });
        const int64_t panels = (n + columns_at_once - 1) / columns_at_once;
        in_parallel(panels, count * n * std::max<int64_t>(k, 8), [&](int64_t index) {
          const int64_t left = index * columns_at_once, columns = std::min(columns_at_once, n - left);
          PackedLines b(columns, k, step);
          for (int64_t c = 0; c < columns; ++c) reference_.pack(b, c, stream_b, matrix, left + c, false);
          for (int64_t first = 0; first < count; first += rows_at_once)
            compare_panel({matrix, top + first, std::min(rows_at_once, count - first), left, columns}, a, first, b);
        });
      }
  }

  GemmAccuracy result() const {
    GemmAccuracy made = all_.figures;
    made.exact = reference_.in_ring() || reference_.bound().exact();
    if (leans_) bias_.report(made);
    wrong_.describe(reference_, made);
    made.max_rel_error = all_.largest > 0 ? made.max_abs_error / all_.largest : made.max_abs_error;
    made.largest_bound = all_.largest > 0 ? all_.largest_bound / all_.largest : all_.largest_bound;
    made.diff = all_.stored.diff();
    return made;
  }

 private:
  void compare_panel(const Extent& at, const PackedLines& a, int64_t first_of_a, const PackedLines& b) {
    const ReferencePanel panel(a, first_of_a, at.rows, b);
    Tally tally;
    GroupBias::Panel groups(bias_, leans_ ? at.rows : 0, leans_ ? at.columns : 0, at.first, at.left);
    for (int64_t r = 0; r < at.rows; ++r)
      for (int64_t c = 0; c < at.columns; ++c) {
        const BoundedSum sum =
            reference_.bound().sum(panel.sum(r, c), panel.peak(r, c), a.norms(first_of_a + r), b.norms(c));
        const WrongElements::Position where{at.matrix, at.first + r, at.left + c};
        const BoundedElement right = reference_.element(sum, where.matrix, where.row, where.column);
        const double got = judge(right, where, tally);
        if (leans_ && std::isfinite(got) && std::isfinite(right.want)) groups.add(r, c, got, right);
      }
    const std::lock_guard lock(merging_);
    merge(tally);
    if (leans_) bias_.add(at.matrix, groups);
  }

  /// Notes what there is to say about one element, and returns its value.
  double judge(const BoundedElement& right, const WrongElements::Position& at, Tally& tally) const {
    const uint32_t got_bits = reference_.bits_of_d(at.matrix, at.row, at.column);
    const double got = decode_bits(type_, got_bits), want = right.want;
    GemmAccuracy& figures = tally.figures;
    ++figures.elements;
    figures.unjudged += !right.judged;
    const bool is_right = reference_.right(right, got_bits);
    if (!is_right) {
      const WrongElement found{at.matrix, at.row, at.column, got, want, right.bound()};
      if (figures.wrong++ == 0 || comes_before(found, figures.first)) figures.first = found;
      tally.wrong.push_back(
          {at, got_bits == unwritten_bits(type_), reference_.holds_source(at.matrix, at.row, at.column)});
    }
    if (reference_.in_ring()) {
      figures.rounding_mismatches += !is_right;
      figures.max_abs_error = std::max(figures.max_abs_error, is_right ? 0.0 : 1.0);
      return got;
    }
    const uint32_t want_bits = encode_value(type_, static_cast<float>(want));
    // A NaN or an infinity that is right is no error. One that is not must not vanish in a maximum; but an infinity is
    // as far from a finite answer as the values are that round to it.
    if (is_right && (!std::isfinite(want) || std::isnan(got) || (std::isinf(got) && got_bits == want_bits))) return got;
    const double near = std::isinf(got) && std::isfinite(want) ? std::copysign(least_infinite(type_), got) : got;
    const double error = std::isnan(near) || !std::isfinite(want) ? INFINITY : std::fabs(near - want);
    figures.max_abs_error = std::max(figures.max_abs_error, error);
    const double bound = right.bound();
    if (bound > 0) figures.worst = std::max(figures.worst, error / bound);
    if (std::isfinite(want)) {
      tally.largest = std::max(tally.largest, std::fabs(want));
      tally.largest_bound = std::max(tally.largest_bound, bound);
    }
    // Where all of D lies near zero, what rounding there loses is no measure of the kernel.
    tally.stored.add(error <= least_rounding(type_) ? want : near, want);
    if (got_bits == want_bits) return got;
    // -0 and 0 are one value: which of them a sum of zeros gives is not the answer's business.
    figures.rounding_mismatches += !(got == 0 && want == 0);
    if (std::fabs(want) > 1e-30)
      figures.max_ulps = std::max(figures.max_ulps, values_between(type_, got_bits, want_bits));
    return got;
  }

  void merge(const Tally& one) {
    GemmAccuracy& a = all_.figures;
    const GemmAccuracy& o = one.figures;
    if (o.wrong > 0 && (a.wrong == 0 || comes_before(o.first, a.first))) a.first = o.first;
    a.elements += o.elements;
    a.wrong += o.wrong;
    a.unjudged += o.unjudged;
    a.rounding_mismatches += o.rounding_mismatches;
    a.max_ulps = std::max(a.max_ulps, o.max_ulps);
    a.worst = std::max(a.worst, o.worst);
    a.max_abs_error = std::max(a.max_abs_error, o.max_abs_error);
    all_.largest = std::max(all_.largest, one.largest);
    all_.largest_bound = std::max(all_.largest_bound, one.largest_bound);
    all_.stored.add(one.stored);
    for (const Wrong& each : one.wrong) wrong_.add(each.at, each.unwritten, each.holds_source);
  }

  const GemmDataSpec& spec_;
  DType type_;
  const GemmData::Reference& reference_;
  bool leans_;
  std::mutex merging_;
  WrongElements wrong_;
  GroupBias bias_;
  Tally all_;
};

}  // namespace

GemmAccuracy GemmData::compare(const HowItRan& how) const {
  const Reference reference(*this, how);
  const bool random = made_up_ && (spec_.fill == Fill::normal || spec_.fill == Fill::uniform);
  // Products of few numbers with few bits round to the same side too often.
  Comparison comparison(spec_, reference, how, random && spec_.k >= 16 && spec_.m > 0 && spec_.n > 0);
  comparison.run();
  GemmAccuracy accuracy = comparison.result();
  accuracy.modulus = ring_.modulus;
  accuracy.padding_untouched = padding_is_untouched();
  if (random && spec_.scaling != Scaling::none) accuracy.diff_unquantised = diff_unquantised(reference);
  return accuracy;
}

/// What quantising the operands costs, a property of the data: of a few rows.
double GemmData::diff_unquantised(const Reference& reference) const {
  constexpr int64_t most_rows = 32;
  const int64_t total = int64_t{spec_.m} * spec_.batch, rows = std::min(total, most_rows), n = spec_.n, k = spec_.k;
  std::vector<Sums> sums(static_cast<size_t>(rows));
  in_parallel(rows, 16 * rows * n * k, [&](int64_t index) {
    const int64_t line = index * total / rows, matrix = line / spec_.m, row = line % spec_.m;
    PackedLines a(1, k, k);
    reference.pack(a, 0, stream_a, matrix, row, true);
    for (int64_t left = 0; left < n; left += columns_at_once) {
      const int64_t columns = std::min(columns_at_once, n - left);
      PackedLines b(columns, k, k);
      for (int64_t c = 0; c < columns; ++c) reference.pack(b, c, stream_b, matrix, left + c, true);
      const ReferencePanel panel(a, 0, 1, b);
      for (int64_t c = 0; c < columns; ++c) {
        const double want = reference.element({.sum = panel.sum(0, c)}, matrix, row, left + c).want;
        const double got = decode_value(d_.type, d_.at(matrix, row) + (left + c) * size_of(d_.type));
        const bool underflowed = std::fabs(got - want) <= least_rounding(d_.type);
        if (std::isfinite(got)) sums[static_cast<size_t>(index)].add(underflowed ? want : got, want);
      }
    }
  });
  Sums all;
  for (const Sums& one : sums) all.add(one);
  return all.diff();
}

/// Whatever is not an element of D is as it was.
bool GemmData::padding_is_untouched() const {
  const bool was_c = spec_.in_place && spec_.beta != 0.0f;  // with C's padding
  const uint32_t untouched = was_c ? nan_bits(d_.type) : unwritten_bits(d_.type);
  const auto is_untouched = [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e)
      if (load_bits(d_.type, d_.bytes.data() + e * size_of(d_.type)) != untouched) return false;
    return true;
  };
  int64_t at = 0;
  if (spec_.n > 0)
    for (int64_t line = 0; line < int64_t{spec_.m} * spec_.batch; ++line) {
      const int64_t begin = d_.offset + line / spec_.m * d_.batch_stride + line % spec_.m * d_.stride;
      if (!is_untouched(at, begin)) return false;
      at = begin + spec_.n;
    }
  return is_untouched(at, static_cast<int64_t>(d_.bytes.size() / size_of(d_.type)));
}

}  // namespace warploom
