// What an instruction touches, for the checker: units of 16 bytes of shared memory gathered into 128-byte lines, and
// columns of tensor memory by groups of sixteen lanes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loom/units/tensor_copy.hpp"
#include "loom/units/tensor_core.hpp"
#include "loom/units/wgmma.hpp"

namespace warploom::loom::check {

/// Parts of one CTA's shared memory, in units of 16 bytes.
class LineSet {
 public:
  static constexpr uint32_t unit_bytes = 16;
  void add(uint32_t offset);  ///< the unit that begins there
  bool contains(uint32_t offset) const;
  void add(const LineSet& other);
  template <class Visit>
  void for_each(Visit&& visit) const {  // visit(first byte, count)
    uint32_t first = 0, last = 0;       // a run that may go on in the next line
    for (const auto& [line, units] : lines_) {
      for (uint32_t unit = 0; unit < 8;) {
        if ((units >> unit & 1) == 0) {
          ++unit;
          continue;
        }
        uint32_t end = unit;
        while (end < 8 && (units >> end & 1) != 0) ++end;
        const uint32_t begin = line * 128 + unit * 16;
        if (begin != last) {
          if (first != last) visit(first, last - first);
          first = begin;
        }
        last = line * 128 + end * 16;
        unit = end;
      }
    }
    if (first != last) visit(first, last - first);
  }
  bool empty() const { return lines_.empty(); }
  void clear() { lines_.clear(); }

 private:
  void add(uint32_t line, uint8_t units);
  std::vector<std::pair<uint32_t, uint8_t>> lines_;  ///< sorted by line
};

/// Tensor memory: `count` columns from `first` on, of one group of sixteen lanes; of all sixteen, but where an MMA
/// leaves lanes of its accumulator alone.
inline constexpr uint32_t tmem_group_lanes = 16, tmem_groups = 8;
struct CellRun {
  static constexpr uint16_t all_lanes = 0xffff;
  uint32_t cta = 0;  ///< of the pair
  uint32_t group = 0;
  uint32_t column = 0, count = 0;
  uint16_t lanes = all_lanes;

  /// Calls visit(first cell, count): cells are single lanes, and the sixteen of a column follow each other.
  template <class Visit>
  void for_each(uint32_t columns, Visit&& visit) const {
    const uint32_t first = (group * columns + column) * tmem_group_lanes;
    if (lanes == all_lanes) return visit(first, count * tmem_group_lanes);
    for (uint32_t i = 0; i < count; ++i)
      for (uint32_t lane = 0; lane < tmem_group_lanes;) {
        const auto rest = static_cast<uint32_t>(lanes) >> lane;
        const auto run = static_cast<uint32_t>(std::countr_one(rest));
        if (run != 0) visit(first + i * tmem_group_lanes + lane, run);
        lane += run != 0 ? run : static_cast<uint32_t>(std::countr_zero(rest | 1u << tmem_group_lanes));
      }
  }
};

/// Sets of lines, each worked out once: a kernel issues the same instructions in the same order over and over.
class Footprints {
 public:
  using Id = uint32_t;
  static constexpr Id nothing = 0;

  /// What these instructions read, one after the other.
  template <class Operation>
  Id with(Id before, const Operation& op) {
    return joined(before, one(op));
  }
  /// One that is not looked for again.
  Id add(LineSet lines) {
    sets_.push_back(std::make_unique<LineSet>(std::move(lines)));
    return static_cast<Id>(sets_.size() - 1);
  }
  /// Its runs of bytes: first, count.
  const std::vector<std::pair<uint32_t, uint32_t>>& runs(Id id);
  /// The functions of these names below, worked out once.
  const std::vector<CellRun>& accumulator_cells(const MmaOperation& op);
  const std::vector<CellRun>& cells_of(const native::TmemForm& form, uint32_t registers, uint32_t address);

 private:
  using Key = std::array<uint64_t, 6>;
  struct KeyHash {
    size_t operator()(const Key& key) const {
      uint64_t hash = 0;
      for (const uint64_t word : key) hash = (hash ^ word) * 0x9e3779b97f4a7c15u + (hash >> 29);
      return hash;
    }
  };
  static Key key_of(const WgmmaOperation& op);
  static Key key_of(const MmaOperation& op);
  template <class Operation>
  Id one(const Operation& op);
  Id joined(Id a, Id b);

  std::vector<std::unique_ptr<LineSet>> sets_ = fresh();
  static std::vector<std::unique_ptr<LineSet>> fresh() {
    std::vector<std::unique_ptr<LineSet>> sets;
    sets.push_back(std::make_unique<LineSet>());
    return sets;
  }
  /// In front of a map, for the few keys that a main loop asks for over and over.
  template <class K>
  struct Recent {
    K key{};
    Id id = nothing;
  };
  std::array<Recent<Key>, 256> recent_ = {};
  std::array<Recent<uint64_t>, 256> recently_joined_ = {};
  std::unordered_map<Key, Id, KeyHash> known_;
  std::unordered_map<uint64_t, Id> joined_;
  std::unordered_map<Id, std::vector<std::pair<uint32_t, uint32_t>>> runs_;
  std::unordered_map<Key, std::vector<CellRun>, KeyHash> cells_;
};

/// Operands of a wgmma that lie in shared memory.
LineSet lines_of(const WgmmaOperation& op);
/// Operands of a tcgen05.mma that do; in a pair the same of both CTAs.
LineSet lines_of(const MmaOperation& op);
LineSet lines_of(const TmemCopyOperation& op);

/// What a tcgen05.mma writes, and what it only reads: A and scale factors.
std::vector<CellRun> accumulator_cells(const MmaOperation& op);
std::vector<CellRun> operand_cells(const MmaOperation& op);
std::vector<CellRun> cells_of(const TmemCopyOperation& op, uint32_t ctas);
/// tcgen05.ld and st of one warp.
std::vector<CellRun> cells_of(const native::TmemForm& form, uint32_t registers, uint32_t address);

}  // namespace warploom::loom::check
