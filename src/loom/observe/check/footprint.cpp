#include "loom/observe/check/footprint.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace warploom::loom::check {
namespace {

/// Cells as a map of the tensor memory of a pair, turned into runs.
class CellMap {
 public:
  void add(uint32_t cta, uint32_t lane, uint32_t column) { cells_.emplace_back(cta, lane / tmem_group_lanes, column); }
  std::vector<CellRun> runs() {
    std::sort(cells_.begin(), cells_.end());
    std::vector<CellRun> list;
    for (const auto& [cta, group, column] : cells_) {
      if (!list.empty() && list.back().cta == cta && list.back().group == group) {
        CellRun& last = list.back();
        if (column < last.column + last.count) continue;
        if (column == last.column + last.count) {
          ++last.count;
          continue;
        }
      }
      list.push_back({cta, group, column, 1});
    }
    return list;
  }

 private:
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> cells_;
};

}  // namespace

void LineSet::add(uint32_t line, uint8_t units) {
  const auto at = std::lower_bound(lines_.begin(), lines_.end(), line,
                                   [](const auto& entry, uint32_t wanted) { return entry.first < wanted; });
  if (at != lines_.end() && at->first == line)
    at->second |= units;
  else
    lines_.insert(at, {line, units});
}

void LineSet::add(uint32_t offset) { add(offset / 128, static_cast<uint8_t>(1u << offset % 128 / unit_bytes)); }

bool LineSet::contains(uint32_t offset) const {
  const auto at = std::lower_bound(lines_.begin(), lines_.end(), offset / 128,
                                   [](const auto& entry, uint32_t wanted) { return entry.first < wanted; });
  return at != lines_.end() && at->first == offset / 128 && (at->second >> offset % 128 / unit_bytes & 1) != 0;
}

void LineSet::add(const LineSet& other) {
  if (lines_.empty()) {
    lines_ = other.lines_;
    return;
  }
  // Most often the same lines, other units.
  std::vector<std::pair<uint32_t, uint8_t>> all;
  all.reserve(lines_.size() + other.lines_.size());
  auto mine = lines_.begin();
  auto theirs = other.lines_.begin();
  while (mine != lines_.end() || theirs != other.lines_.end()) {
    if (theirs == other.lines_.end() || (mine != lines_.end() && mine->first < theirs->first)) {
      all.push_back(*mine++);
    } else if (mine == lines_.end() || theirs->first < mine->first) {
      all.push_back(*theirs++);
    } else {
      all.emplace_back(mine->first, static_cast<uint8_t>(mine->second | theirs->second));
      ++mine;
      ++theirs;
    }
  }
  lines_.swap(all);
}

LineSet lines_of(const WgmmaOperation& op) {
  LineSet lines;
  for (const bool b : {false, true}) {
    if (!b && op.a_in_registers) continue;
    for_each_operand_unit(op, b, [&](uint32_t address) { lines.add(address); });
  }
  return lines;
}

LineSet lines_of(const MmaOperation& op) {
  LineSet lines;
  for (const bool b : {false, true}) {
    if (!b && op.a_in_tmem) continue;
    for_each_operand_unit(op, b, [&](uint32_t address) { lines.add(address); });
  }
  return lines;
}

namespace {

/// All that an operand's place depends on, in two words.
void add_operand(std::array<uint64_t, 6>& key, size_t at, const SmemDescriptorFields& f) {
  key[at] = uint64_t{f.start} << 32 | f.leading_byte_offset;
  key[at + 1] = uint64_t{f.stride_byte_offset} << 32 | f.base_offset << 8 | static_cast<uint32_t>(f.swizzle);
}

}  // namespace

Footprints::Key Footprints::key_of(const WgmmaOperation& op) {
  Key key{};
  key[0] = uint64_t{op.form.n} << 32 | op.k << 8 | static_cast<uint32_t>(op.a_in_registers);
  key[1] = static_cast<uint64_t>(op.form.a_type) << 24 | static_cast<uint64_t>(op.form.b_type) << 16 |
           static_cast<uint64_t>(op.form.a_major) << 8 | static_cast<uint64_t>(op.form.b_major);
  add_operand(key, 2, op.a);
  add_operand(key, 4, op.b);
  return key;
}

Footprints::Key Footprints::key_of(const MmaOperation& op) {
  Key key{};
  key[0] = uint64_t{1} << 63 | uint64_t{op.m} << 40 | uint64_t{op.n} << 24 | op.k << 8 |
           static_cast<uint32_t>(op.a_in_tmem) << 1 | static_cast<uint32_t>(op.weight_stationary);
  key[1] = static_cast<uint64_t>(op.kind) << 40 | static_cast<uint64_t>(op.cta_group) << 32 |
           static_cast<uint64_t>(op.a_type) << 24 | static_cast<uint64_t>(op.b_type) << 16 |
           static_cast<uint64_t>(op.a_major) << 8 | static_cast<uint64_t>(op.b_major);
  add_operand(key, 2, op.a);
  add_operand(key, 4, op.b);
  return key;
}

template <class Operation>
Footprints::Id Footprints::one(const Operation& op) {
  const Key key = key_of(op);
  Recent<Key>& recent = recent_[KeyHash()(key) >> 56];
  if (recent.id != nothing && recent.key == key) return recent.id;
  const auto [entry, added] = known_.try_emplace(key, static_cast<Id>(sets_.size()));
  if (added) sets_.push_back(std::make_unique<LineSet>(lines_of(op)));
  recent = {key, entry->second};
  return entry->second;
}
template Footprints::Id Footprints::one(const WgmmaOperation&);
template Footprints::Id Footprints::one(const MmaOperation&);

Footprints::Id Footprints::joined(Id a, Id b) {
  if (a == nothing) return b;
  const uint64_t key = uint64_t{a} << 32 | b;
  Recent<uint64_t>& recent = recently_joined_[key * 0x9e3779b97f4a7c15u >> 56];
  if (recent.id != nothing && recent.key == key) return recent.id;
  const auto [entry, added] = joined_.try_emplace(key, static_cast<Id>(sets_.size()));
  if (added) {
    auto both = std::make_unique<LineSet>(*sets_[a]);
    both->add(*sets_[b]);
    sets_.push_back(std::move(both));
  }
  recent = {key, entry->second};
  return entry->second;
}

const std::vector<std::pair<uint32_t, uint32_t>>& Footprints::runs(Id id) {
  const auto [entry, added] = runs_.try_emplace(id);
  if (added) sets_[id]->for_each([&](uint32_t first, uint32_t count) { entry->second.emplace_back(first, count); });
  return entry->second;
}

const std::vector<CellRun>& Footprints::accumulator_cells(const MmaOperation& op) {
  // The mask is part of it: four words a CTA.
  Key key{uint64_t{op.m} << 32 | op.n, uint64_t{op.d} << 32 | static_cast<uint32_t>(op.cta_group) << 2 |
                                           static_cast<uint32_t>(op.weight_stationary) << 1 |
                                           static_cast<uint32_t>(op.masked)};
  for (uint32_t i = 0; op.masked && i < 4; ++i)
    key[2 + i] = uint64_t{op.disabled_lanes[2 * i]} << 32 | op.disabled_lanes[2 * i + 1];
  const auto [entry, added] = cells_.try_emplace(key);
  if (added) entry->second = check::accumulator_cells(op);
  return entry->second;
}

const std::vector<CellRun>& Footprints::cells_of(const native::TmemForm& form, uint32_t registers, uint32_t address) {
  const Key key{uint64_t{1} << 63 | static_cast<uint64_t>(form.shape) << 32 | registers, address,
                uint64_t{form.half_offset} << 32 | static_cast<uint64_t>(form.packed)};
  const auto [entry, added] = cells_.try_emplace(key);
  if (added) entry->second = check::cells_of(form, registers, address);
  return entry->second;
}

LineSet lines_of(const TmemCopyOperation& op) {
  LineSet lines;
  for_each_copy_unit(op, [&](uint32_t address) { lines.add(address); });
  return lines;
}

namespace {

/// Where lanes of the accumulator are left alone. No layout has a column twice in a group of lanes.
std::vector<CellRun> masked_cells(const MmaOperation& op) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint16_t> columns;
  for (uint32_t row = 0; row < op.m; ++row)
    for (uint32_t n = 0; n < op.n; ++n) {
      const TmemCell cell = accumulator_cell(op.cta_group, op.m, op.n, row, n, op.weight_stationary);
      const uint32_t lane = (op.d >> 16) + cell.lane;
      if (!lane_disabled(op, cell.cta, lane))
        columns[{cell.cta, lane / tmem_group_lanes, (op.d & 0xffff) + cell.column}] |=
            static_cast<uint16_t>(1u << lane % tmem_group_lanes);
    }
  std::vector<CellRun> list;
  for (const auto& [at, lanes] : columns) {
    const auto& [cta, group, column] = at;
    if (!list.empty() && list.back().cta == cta && list.back().group == group && list.back().lanes == lanes &&
        list.back().column + list.back().count == column)
      ++list.back().count;
    else
      list.push_back({cta, group, column, 1, lanes});
  }
  return list;
}

}  // namespace

std::vector<CellRun> accumulator_cells(const MmaOperation& op) {
  if (op.masked) return masked_cells(op);
  CellMap cells;
  const uint32_t column = op.d & 0xffff, lane = op.d >> 16;
  // Cells are sixteen lanes high, and so are the pieces of every layout.
  for (uint32_t row = 0; row < op.m; row += tmem_group_lanes)
    for (uint32_t n = 0; n < op.n; ++n) {
      const TmemCell cell = accumulator_cell(op.cta_group, op.m, op.n, row, n, op.weight_stationary);
      cells.add(cell.cta, lane + cell.lane, column + cell.column);
    }
  return cells.runs();
}

std::vector<CellRun> operand_cells(const MmaOperation& op) {
  CellMap cells;
  if (op.a_in_tmem) {
    for (uint32_t cta = 0; cta < op.ctas(); ++cta)
      for (uint32_t row = 0; row < op.m / op.ctas(); row += tmem_group_lanes)
        for (uint32_t k = 0; k < op.k; ++k) {
          const TmemCell cell = a_element(op.cta_group, op.m, row, k, a_container_bits(op)).cell;
          cells.add(cta, (op.a_tmem >> 16) + cell.lane, (op.a_tmem & 0xffff) + cell.column);
        }
  }
  if (op.scales != 0) {
    for (uint32_t cta = 0; cta < op.ctas(); ++cta)
      for (const bool b : {false, true}) {
        const uint32_t address = b ? op.sfb : op.sfa, rows = b ? op.n : op.m / op.ctas();
        const bool split = b && op.layout_b();
        for (uint32_t row = 0; row < rows; ++row) {
          const TmemCell cell = scale_cell(row, rows, split);
          for (uint32_t copy = 0; copy < scale_copies(split); ++copy)
            cells.add(cta, cell.lane + 32 * copy, (address & 0xffff) + cell.column);
        }
      }
  }
  return cells.runs();
}

std::vector<CellRun> cells_of(const TmemCopyOperation& op, uint32_t ctas) {
  CellMap cells;
  const uint32_t column = op.destination & 0xffff, lane = op.destination >> 16;
  for (uint32_t cta = 0; cta < ctas; ++cta)
    for (uint32_t row = 0; row < copy_rows(op.shape); ++row)
      for (const uint32_t to : copy_lanes(op.shape, row))
        for (uint32_t c = 0; c < op.columns(); ++c) cells.add(cta, lane + to, column + c);
  return cells.runs();
}

std::vector<CellRun> cells_of(const native::TmemForm& form, uint32_t registers, uint32_t address) {
  CellMap cells;
  const uint32_t column = address & 0x1ff, lane_base = address >> 16 & 0x7f;
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < registers; ++i)
      for (uint32_t half = 0; half < (form.packed ? 2u : 1u); ++half) {
        const TmemCell cell = register_cell(form, lane, i, half);
        cells.add(0, lane_base + cell.lane, column + cell.column);
      }
  return cells.runs();
}

}  // namespace warploom::loom::check
