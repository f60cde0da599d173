#include "kernels/wrong_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

namespace warploom {
namespace {

using Position = WrongElements::Position;

constexpr size_t most_kept = 65536;
constexpr int64_t most_candidates = 512;  // rows, columns or tiles whose answer a wrong one is compared with

uint64_t hash_of(const Position& at) {
  uint64_t z = static_cast<uint64_t>(at.matrix) * 0x9e3779b97f4a7c15 +
               static_cast<uint64_t>(at.row) * 0xd1342543de82ef95 +
               static_cast<uint64_t>(at.column) * 0x2545f4914f6cdd1d;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

bool before(const Position& a, const Position& b) {
  return std::tie(a.matrix, a.row, a.column) < std::tie(b.matrix, b.row, b.column);
}

/// "3, 7, 9 and 4 more"
std::string listed(const std::vector<int64_t>& numbers, int64_t modulus) {
  constexpr size_t most = 4;
  std::string text;
  for (size_t i = 0; i < std::min(most, numbers.size()); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", numbers[i] % modulus);
  if (numbers.size() > most) text += fmt::format(" and {} more", numbers.size() - most);
  return text;
}

/// What is right at `there` is what D holds at `here`.
bool holds(const GemmData::Reference& reference, const Position& here, const Position& there) {
  return reference.right(
      reference.element(reference.sum(there.matrix, there.row, there.column), there.matrix, there.row, there.column),
      reference.bits_of_d(here.matrix, here.row, here.column));
}

}  // namespace

WrongElements::WrongElements(const GemmDataSpec& spec, const HowItRan& how) : spec_(spec) {
  if (how.plan != nullptr) {
    const GemmShape& shape = how.plan->config->shape;
    tile_rows_ = shape.swap ? shape.tile_right : shape.tile_left;
    tile_columns_ = shape.swap ? shape.tile_left : shape.tile_right;
    k_block_ = shape.tile_k;
    stages_ = shape.stages * shape.k_group;
  }
  tiles_down_ = (spec.m + tile_rows_ - 1) / tile_rows_;
  tiles_across_ = (spec.n + tile_columns_ - 1) / tile_columns_;
}

void WrongElements::add(const Position& at, bool unwritten, bool holds_source) {
  if (count_++ == 0) {
    rows_.resize(static_cast<size_t>(int64_t{spec_.batch} * spec_.m));
    columns_.resize(static_cast<size_t>(int64_t{spec_.batch} * spec_.n));
    tiles_.resize(static_cast<size_t>(int64_t{spec_.batch} * tiles_down_ * tiles_across_));
  }
  unwritten_ += unwritten;
  source_ += holds_source;
  ++rows_[static_cast<size_t>(at.matrix * spec_.m + at.row)];
  ++columns_[static_cast<size_t>(at.matrix * spec_.n + at.column)];
  ++tiles_[static_cast<size_t>(tile_of(at))];
  if (hash_of(at) > limit_) return;
  kept_.push_back(at);
  if (kept_.size() < most_kept) return;
  limit_ /= 2;
  std::erase_if(kept_, [&](const Position& one) { return hash_of(one) > limit_; });
}

int64_t WrongElements::tile_of(const Position& at) const {
  return (at.matrix * tiles_down_ + at.row / tile_rows_) * tiles_across_ + at.column / tile_columns_;
}
Position WrongElements::first_of_tile(int64_t tile) const {
  return {tile / tiles_across_ / tiles_down_, tile / tiles_across_ % tiles_down_ * tile_rows_,
          tile % tiles_across_ * tile_columns_};
}
int64_t WrongElements::tile_size(int64_t tile) const {
  const Position first = first_of_tile(tile);
  return std::min(tile_rows_, spec_.m - first.row) * std::min(tile_columns_, spec_.n - first.column);
}

template <class Size>
WrongElements::Groups WrongElements::mostly_wrong(const std::vector<int64_t>& wrong, const Size& size) const {
  Groups groups;
  for (size_t i = 0; i < wrong.size(); ++i)
    if (const int64_t all = size(static_cast<int64_t>(i)); wrong[i] > 0 && 2 * wrong[i] >= all) {
      groups.bad.push_back(static_cast<int64_t>(i));
      groups.covered += wrong[i];
      groups.size += all;
    }
  return groups;
}

/// Up to `most` of them, evenly spread.
std::vector<Position> WrongElements::some(size_t most, const Position* in_tile_of) const {
  std::vector<Position> all = kept_;
  if (in_tile_of != nullptr)
    std::erase_if(all, [&](const Position& at) { return tile_of(at) != tile_of(*in_tile_of); });
  std::sort(all.begin(), all.end(), before);
  std::vector<Position> chosen;
  const size_t count = std::min(most, all.size());
  for (size_t i = 0; i < count; ++i) chosen.push_back(all[i * all.size() / count]);
  return chosen;
}

void WrongElements::describe(const GemmData::Reference& reference, GemmAccuracy& accuracy) const {
  if (count_ == 0) return;
  const std::string where = place(accuracy), what = cause(reference, accuracy);
  accuracy.pattern = what.empty() ? where : fmt::format("{}: {}", where, what);
}

std::string WrongElements::place(GemmAccuracy& accuracy) const {
  accuracy.place = WrongPlace::element;
  if (count_ == 1) return "one element";
  const auto of_matrix = [&](int64_t matrix) {
    return spec_.batch == 1 ? std::string() : fmt::format(" of matrix {}", matrix);
  };
  const Groups rows = mostly_wrong(rows_, [&](int64_t) { return spec_.n; });
  const Groups columns = mostly_wrong(columns_, [&](int64_t) { return spec_.m; });
  const Groups tiles = mostly_wrong(tiles_, [&](int64_t tile) { return tile_size(tile); });
  // Of a tile half as wide as D, half of 128 rows are wrong: what is fuller is meant.
  const auto full = [&](const Groups& groups, const std::vector<int64_t>& all) {
    // One wrong element of a line of two is no line.
    const bool fits = groups.size > 0 && groups.bad.size() < all.size() && 10 * groups.covered >= 9 * count_ &&
                      groups.covered >= 2 * static_cast<int64_t>(groups.bad.size());
    return fits ? static_cast<double>(groups.covered) / static_cast<double>(groups.size) : 0;
  };
  const double of_rows = full(rows, rows_), of_columns = full(columns, columns_), of_tiles = full(tiles, tiles_);
  if (of_rows > 0 && of_rows >= std::max(of_columns, of_tiles)) {
    accuracy.place = WrongPlace::rows;
    return fmt::format("row{} {}{}", rows.bad.size() == 1 ? "" : "s", listed(rows.bad, spec_.m),
                       of_matrix(rows.bad.front() / spec_.m));
  }
  if (of_columns > 0 && of_columns >= of_tiles) {
    accuracy.place = WrongPlace::columns;
    return fmt::format("column{} {}{}", columns.bad.size() == 1 ? "" : "s", listed(columns.bad, spec_.n),
                       of_matrix(columns.bad.front() / spec_.n));
  }
  if (of_tiles > 0) {
    accuracy.place = WrongPlace::tiles;
    const Position first = first_of_tile(tiles.bad.front());
    return fmt::format("{} tile{} of {} x {}, the first at [{}][{}]{}", tiles.bad.size(),
                       tiles.bad.size() == 1 ? "" : "s", tile_rows_, tile_columns_, first.row, first.column,
                       of_matrix(first.matrix));
  }
  if (2 * count_ >= int64_t{spec_.batch} * spec_.m * spec_.n) {
    accuracy.place = WrongPlace::everywhere;
    return "nearly everywhere";
  }
  accuracy.place = WrongPlace::scattered;
  const auto touched = [](const std::vector<int64_t>& wrong) {
    return std::count_if(wrong.begin(), wrong.end(), [](int64_t count) { return count > 0; });
  };
  return fmt::format("scattered over {} rows and {} columns", touched(rows_), touched(columns_));
}

std::string WrongElements::cause(const GemmData::Reference& reference, GemmAccuracy& accuracy) const {
  const auto nearly_all = [&](int64_t count) { return 20 * count >= 19 * count_; };
  if (nearly_all(unwritten_)) {
    accuracy.cause = WrongCause::unwritten;
    return "still the NaN that D began with, never written";
  }
  if (nearly_all(source_)) {
    accuracy.cause = WrongCause::source;
    return "the values of C";
  }
  if (std::string text = exchanged(reference, accuracy); !text.empty()) return text;
  return k_block(reference, accuracy);
}

std::string WrongElements::exchanged(const GemmData::Reference& reference, GemmAccuracy& accuracy) const {
  const auto all_hold = [&](const std::vector<Position>& members, const auto& there) {
    return std::all_of(members.begin(), members.end(),
                       [&](const Position& at) { return holds(reference, at, there(at)); });
  };
  const std::vector<Position> chosen = some(16, nullptr);
  if (spec_.m == spec_.n) {
    std::vector<Position> off = chosen;
    std::erase_if(off, [](const Position& at) { return at.row == at.column; });
    if (off.size() >= 4 && all_hold(off, [](const Position& at) { return Position{at.matrix, at.column, at.row}; })) {
      accuracy.cause = WrongCause::transposed;
      return "the transposed answer";
    }
  }
  accuracy.cause = WrongCause::exchanged;
  if (count_ >= 2 && count_ <= 8) {
    const bool each = std::all_of(chosen.begin(), chosen.end(), [&](const Position& here) {
      return std::any_of(chosen.begin(), chosen.end(), [&](const Position& there) {
        return (before(here, there) || before(there, here)) && holds(reference, here, there);
      });
    });
    if (each) return "each has what is right at another of them";
  }
  // Groups of one kind: another one's values, at the same place within it.
  const int64_t groups_of_tiles = int64_t{spec_.batch} * tiles_down_ * tiles_across_;
  struct Kind {
    WrongPlace place;
    const char* name;
    int64_t count;  ///< through all matrices
    std::function<int64_t(const Position&)> of;
    std::function<Position(const Position&, int64_t)> moved;
  };
  const Kind kinds[] = {
      {WrongPlace::rows, "row", int64_t{spec_.batch} * spec_.m,
       [&](const Position& at) { return at.matrix * spec_.m + at.row; },
       [&](const Position& at, int64_t to) { return Position{to / spec_.m, to % spec_.m, at.column}; }},
      {WrongPlace::columns, "column", int64_t{spec_.batch} * spec_.n,
       [&](const Position& at) { return at.matrix * spec_.n + at.column; },
       [&](const Position& at, int64_t to) { return Position{to / spec_.n, at.row, to % spec_.n}; }},
      {WrongPlace::tiles, "tile", groups_of_tiles, [&](const Position& at) { return tile_of(at); },
       [&](const Position& at, int64_t to) {
         const Position first = first_of_tile(to);
         return Position{first.matrix, first.row + at.row % tile_rows_, first.column + at.column % tile_columns_};
       }},
  };
  for (const Kind& kind : kinds) {
    if (kind.place != accuracy.place) continue;
    const Position first{accuracy.first.matrix, accuracy.first.row, accuracy.first.column};
    const int64_t group = kind.of(first);
    std::vector<Position> members = kept_;
    std::erase_if(members, [&](const Position& at) { return kind.of(at) != group; });
    std::sort(members.begin(), members.end(), before);
    if (members.size() > 8) {
      std::vector<Position> fewer;
      for (size_t i = 0; i < 8; ++i) fewer.push_back(members[i * members.size() / 8]);
      members = std::move(fewer);
    }
    // A few elements with few values agree by chance.
    if (members.size() < 4) continue;
    for (int64_t away = 1; away < std::min(kind.count, most_candidates); ++away)
      for (const int64_t other : {group - away, group + away}) {
        if (other < 0 || other >= kind.count) continue;
        const auto inside = [&](const Position& at) {
          const Position there = kind.moved(at, other);
          return there.row < spec_.m && there.column < spec_.n;
        };
        if (!std::all_of(members.begin(), members.end(), inside)) continue;
        if (all_hold(members, [&](const Position& at) { return kind.moved(at, other); })) {
          if (kind.place != WrongPlace::tiles)
            return fmt::format("the values of {} {}", kind.name,
                               kind.place == WrongPlace::rows ? other % spec_.m : other % spec_.n);
          const Position tile = first_of_tile(other);
          return fmt::format("the values of the tile at [{}][{}]", tile.row, tile.column);
        }
      }
  }
  accuracy.cause = WrongCause::unknown;
  return {};
}

/// The first wrong element and others of its tile: whether one change of one K block makes all of them right.
std::string WrongElements::k_block(const GemmData::Reference& reference, GemmAccuracy& accuracy) const {
  struct Change {
    WrongCause cause;
    size_t block, held;
    bool operator==(const Change&) const = default;
  };
  const Position first{accuracy.first.matrix, accuracy.first.row, accuracy.first.column};
  const std::vector<Position> chosen = some(8, &first);
  std::vector<int64_t> extents{k_block_};
  if (k_block_ == 0) extents = {128, 64, 32};
  for (const int64_t extent : extents) {
    if (extent >= spec_.k) continue;
    std::vector<Change> fitting;
    for (size_t i = 0; i < chosen.size(); ++i) {
      const Position& at = chosen[i];
      const BoundedSum sum = reference.sum(at.matrix, at.row, at.column);
      const std::vector<double> parts = reference.parts(at.matrix, at.row, at.column, extent);
      const uint32_t bits = reference.bits_of_d(at.matrix, at.row, at.column);
      const auto fits = [&](const Change& change) {
        BoundedSum other = sum;
        if (change.cause != WrongCause::k_twice) other.sum -= parts[change.block];
        if (change.cause == WrongCause::k_twice) other.sum += parts[change.block];
        if (change.cause == WrongCause::k_stale) other.sum += parts[change.held];
        return reference.right(reference.element(other, at.matrix, at.row, at.column), bits);
      };
      if (i == 0) {
        for (size_t block = 0; block < parts.size(); ++block) {
          fitting.push_back({WrongCause::k_missing, block, block});
          fitting.push_back({WrongCause::k_twice, block, block});
          const size_t stages = static_cast<size_t>(stages_);
          if (stages > 0 && block >= stages) fitting.push_back({WrongCause::k_stale, block, block - stages});
        }
      }
      std::erase_if(fitting, [&](const Change& change) { return !fits(change); });
    }
    if (fitting.size() != 1) continue;
    const Change& found = fitting.front();
    accuracy.cause = found.cause;
    const int64_t begin = static_cast<int64_t>(found.block) * extent;
    const std::string block = fmt::format(
        "K block {} (k {} to {}{})", found.block, begin, std::min<int64_t>(begin + extent, spec_.k) - 1,
        stages_ > 0 ? fmt::format(", slot {} of the ring", static_cast<int64_t>(found.block) % stages_) : "");
    switch (found.cause) {
      case WrongCause::k_missing: return fmt::format("the answer without {}", block);
      case WrongCause::k_twice: return fmt::format("the answer with {} twice", block);
      default: return fmt::format("the answer with K block {} again in the place of {}", found.held, block);
    }
  }
  return {};
}

}  // namespace warploom
