#include "kernels/group_bias.hpp"

#include <cmath>

namespace warploom {
namespace {

constexpr double deviations = 8;
/// Of half a unit: what the roundings of numbers that have few bits, products of two of 8 say, may lean to one side.
constexpr double lean = 0.0625;

double excess(const double (&sums)[3]) { return std::fabs(sums[0]) - sums[1] - deviations * std::sqrt(sums[2]); }

}  // namespace

GroupBias::Panel::Panel(const GroupBias& all, int64_t rows, int64_t columns, int64_t first, int64_t left)
    : first_(first),
      left_(left),
      tile_rows_(all.tile_rows_),
      tile_columns_(all.tile_columns_),
      tiles_across_(columns == 0 ? 0 : (left + columns - 1) / tile_columns_ - left / tile_columns_ + 1),
      rows_(static_cast<size_t>(rows)),
      columns_(static_cast<size_t>(columns)),
      tiles_(static_cast<size_t>(
          rows == 0 ? 0 : ((first + rows - 1) / tile_rows_ - first / tile_rows_ + 1) * tiles_across_)) {}

void GroupBias::Panel::add(int64_t row, int64_t column, double got, const BoundedElement& element) {
  const double r = got - element.want, w = element.want, c = element.noise;
  // A number of less than a few units is rounded to zero more often than away from it.
  if (std::fabs(w) < 8 * element.half_unit) return;
  // Of numbers that are mostly a bias that they share, the roundings are alike.
  if (element.spread < 4 * element.half_unit) return;
  const double d = element.drift + lean * element.half_unit;
  const Sums one{{w * r, std::fabs(w) * d, w * c * (w * c)}, {r, d, c * c}, w * w, 1};
  rows_[static_cast<size_t>(row)].add(one);
  columns_[static_cast<size_t>(column)].add(one);
  const int64_t down = (first_ + row) / tile_rows_ - first_ / tile_rows_;
  const int64_t across = (left_ + column) / tile_columns_ - left_ / tile_columns_;
  tiles_[static_cast<size_t>(down * tiles_across_ + across)].add(one);
}

void GroupBias::add(int64_t matrix, const Panel& panel) {
  for (size_t r = 0; r < panel.rows_.size(); ++r)
    rows_[static_cast<size_t>(matrix * m_ + panel.first_) + r].add(panel.rows_[r]);
  for (size_t c = 0; c < panel.columns_.size(); ++c)
    columns_[static_cast<size_t>(matrix * n_ + panel.left_) + c].add(panel.columns_[c]);
  for (size_t t = 0; t < panel.tiles_.size(); ++t) {
    const int64_t down = panel.first_ / tile_rows_ + static_cast<int64_t>(t) / panel.tiles_across_;
    const int64_t across = panel.left_ / tile_columns_ + static_cast<int64_t>(t) % panel.tiles_across_;
    tiles_[static_cast<size_t>((matrix * tiles_down_ + down) * tiles_across_ + across)].add(panel.tiles_[t]);
  }
}

void GroupBias::Sums::add(const Sums& other) {
  for (int i = 0; i < 3; ++i) {
    by_value[i] += other.by_value[i];
    by_one[i] += other.by_one[i];
  }
  squares += other.squares;
  count += other.count;
}

GroupBias::GroupBias(int64_t matrices, int64_t m, int64_t n, int64_t tile_rows, int64_t tile_columns)
    : m_(m),
      n_(n),
      tile_rows_(tile_rows),
      tile_columns_(tile_columns),
      tiles_down_((m + tile_rows - 1) / tile_rows),
      tiles_across_((n + tile_columns - 1) / tile_columns),
      rows_(static_cast<size_t>(matrices * m)),
      columns_(static_cast<size_t>(matrices * n)),
      tiles_(static_cast<size_t>(matrices * tiles_down_ * tiles_across_)) {}

void GroupBias::report(GemmAccuracy& accuracy) const {
  const auto look = [&](const Sums& sums, const BiasedGroup& group) {
    const bool by_value = excess(sums.by_value) > 0;
    if (!by_value && !(excess(sums.by_one) > 0)) return;
    if (accuracy.biased++ > 0) return;
    const auto count = static_cast<double>(sums.count);
    const double scale = by_value ? sums.squares : std::sqrt(sums.squares * count);
    const auto& of = by_value ? sums.by_value : sums.by_one;
    accuracy.first_biased = group;
    accuracy.first_biased.bias = of[0] / scale;
    accuracy.first_biased.allowed = (std::fabs(of[0]) - excess(of)) / scale;
  };
  for (size_t i = 0; i < rows_.size(); ++i) {
    const auto line = static_cast<int64_t>(i);
    look(rows_[i], {.of = "row", .matrix = line / m_, .row = line % m_});
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    const auto line = static_cast<int64_t>(i);
    look(columns_[i], {.of = "column", .matrix = line / n_, .column = line % n_});
  }
  for (size_t i = 0; i < tiles_.size(); ++i) {
    const auto tile = static_cast<int64_t>(i), in_matrix = tile % (tiles_down_ * tiles_across_);
    look(tiles_[i], {.of = "tile",
                     .matrix = tile / (tiles_down_ * tiles_across_),
                     .row = in_matrix / tiles_across_ * tile_rows_,
                     .column = in_matrix % tiles_across_ * tile_columns_});
  }
}

}  // namespace warploom
