// Sets of small numbers, one for each basic block: the state of a dataflow analysis.
//
//   BitSets sets(blocks, items);
//   sets.add(block, item);   sets.include(block, other);   sets.each(block, [](uint32_t item) { ... });
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace warploom::ptx {

class BitSets {
 public:
  BitSets(size_t sets, size_t items) : words_((items + 63) / 64), bits_(sets * words_) {}

  std::span<uint64_t> at(size_t set) { return std::span(bits_).subspan(set * words_, words_); }
  void add(size_t set, uint32_t item) { at(set)[item / 64] |= uint64_t{1} << item % 64; }
  void remove(size_t set, uint32_t item) { at(set)[item / 64] &= ~(uint64_t{1} << item % 64); }
  bool has(size_t set, uint32_t item) { return (at(set)[item / 64] >> item % 64 & 1U) != 0; }
  void clear(size_t set) { std::ranges::fill(at(set), 0); }
  void copy(size_t set, size_t from) { std::ranges::copy(at(from), at(set).begin()); }
  /// True where something was new.
  bool include(size_t set, size_t from) {
    bool changed = false;
    const auto into = at(set), other = at(from);
    for (size_t i = 0; i < words_; ++i) {
      changed = changed || (other[i] & ~into[i]) != 0;
      into[i] |= other[i];
    }
    return changed;
  }
  template <class Visit>
  void each(size_t set, Visit&& visit) {
    const auto words = at(set);
    for (size_t i = 0; i < words.size(); ++i)
      for (uint64_t word = words[i]; word != 0; word &= word - 1)
        visit(static_cast<uint32_t>(i * 64 + static_cast<size_t>(std::countr_zero(word))));
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

}  // namespace warploom::ptx
