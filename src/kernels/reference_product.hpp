// A panel of a product in double, with the largest partial sum on the way to each element: what a kernel's roundings
// may have been relative to.
//
//   PackedLines a(rows, k, 64), b(columns, k, 64);      // 64: the step that partial sums are looked at after
//   a.set(row, values); b.set(column, values);          // all k of them
//   const ReferencePanel panel(a, 0, rows, b);
//   panel.sum(row, column), panel.peak(row, column)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace warploom {

/// Euclidean norms of a line of an operand, infinities and NaNs left out: of all of it, and the largest of its steps.
struct LineNorms {
  double whole = 0, step = 0;
  double scale = 1;  ///< the largest magnitude of its scale factors; infinite where one is no number
};

/// Lines in groups of 8, [group][k][8], and their norms.
class PackedLines {
 public:
  static constexpr int64_t width = 8;

  PackedLines(int64_t lines, int64_t k, int64_t step)
      : k_(k),
        step_(step),
        norms_(static_cast<size_t>(lines)),
        values_(static_cast<size_t>((lines + width - 1) / width * width * k)) {}

  /// Of lines that differ, from several threads.
  void set(int64_t line, const double* values, double scale = 1);
  int64_t count() const { return static_cast<int64_t>(norms_.size()); }
  int64_t k() const { return k_; }
  int64_t step() const { return step_; }
  const double* group(int64_t index) const { return values_.data() + index * k_ * width; }
  const LineNorms& norms(int64_t line) const { return norms_[static_cast<size_t>(line)]; }

 private:
  int64_t k_, step_;
  std::vector<LineNorms> norms_;
  std::vector<double> values_;
};

/// `rows` of a's lines, from a multiple of 8 on, by all of b's.
class ReferencePanel {
 public:
  ReferencePanel(const PackedLines& a, int64_t first, int64_t rows, const PackedLines& b);
  double sum(int64_t row, int64_t column) const { return sums_[static_cast<size_t>(row * pitch_ + column)]; }
  /// The largest magnitude of the sums over the first steps of k, one, two and so on.
  double peak(int64_t row, int64_t column) const { return peaks_[static_cast<size_t>(row * pitch_ + column)]; }

 private:
  int64_t pitch_;
  std::vector<double> sums_, peaks_;
};

}  // namespace warploom
