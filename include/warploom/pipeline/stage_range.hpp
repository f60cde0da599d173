// `for (auto stage : ring.produce(n))`: n stages, one after the other, each a scope. The stage types are immovable;
// guaranteed elision makes the loop variable the stage itself. Rings and contexts return it:
//
//   StageRange<ProducerTiles<Ring>, Ring*> produce(int k_blocks) { return {this, k_blocks}; }
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom {

/// The K blocks of a tile: `count` of them from `begin` on. As a number, it is the count.
struct KBlocks {
  int begin = 0;
  int count = 0;

  constexpr KBlocks() = default;
  WARPLOOM_CONST_FN KBlocks(int first, int blocks) : begin(first), count(blocks) {}
  WARPLOOM_CONST_FN KBlocks(int blocks) : count(blocks) {}  ///< the first n blocks
  WARPLOOM_CONST_FN operator int() const { return count; }
};

}  // namespace warploom

namespace warploom::inline WARPLOOM_MACHINE {

/// Stage is constructed from (owner, k) for the K blocks of the range, `step` of them at a time; `n` stages are blocks
/// 0 .. n - 1. The range is its own iterator.
template <class Stage, class Owner>
class [[nodiscard]] StageRange {
 public:
  WARPLOOM_FN StageRange(Owner owner, KBlocks blocks, int step = 1) noexcept
      : owner_(owner), k_(blocks.begin), end_(blocks.begin + blocks.count), step_(step) {}

  struct End {};
  WARPLOOM_FN StageRange begin() const noexcept { return *this; }
  WARPLOOM_FN End end() const noexcept { return {}; }
  WARPLOOM_FN Stage operator*() const noexcept { return Stage(owner_, k_); }
  WARPLOOM_FN StageRange& operator++() noexcept {
    k_ += step_;
    return *this;
  }
  WARPLOOM_FN bool operator!=(End) const noexcept { return k_ < end_; }

 private:
  Owner owner_;
  int k_;
  int end_;
  int step_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
