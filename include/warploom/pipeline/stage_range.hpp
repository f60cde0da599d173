// `for (auto stage : ring.produce(n))`: n stages, one after the other, each a scope. The stage types are immovable;
// guaranteed elision makes the loop variable the stage itself.
#pragma once

#include "warploom/pipeline/k_blocks.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// Stage is constructed from (owner, k) for each K block k of the range; `n` stages are blocks 0 .. n - 1.
template <class Stage, class Owner>
class [[nodiscard]] StageRange {
 public:
  WARPLOOM_FN StageRange(Owner owner, KBlocks blocks) noexcept : owner_(owner), blocks_(blocks) {}

  struct End {};
  class Iterator {
   public:
    WARPLOOM_FN Iterator(const Owner& owner, KBlocks blocks) noexcept
        : owner_(owner), k_(blocks.begin), end_(blocks.begin + blocks.count) {}
    WARPLOOM_FN Stage operator*() const noexcept { return Stage(owner_, k_); }
    WARPLOOM_FN Iterator& operator++() noexcept {
      ++k_;
      return *this;
    }
    WARPLOOM_FN bool operator!=(End) const noexcept { return k_ < end_; }

   private:
    Owner owner_;
    int k_;
    int end_;
  };
  WARPLOOM_FN Iterator begin() const noexcept { return {owner_, blocks_}; }
  WARPLOOM_FN End end() const noexcept { return {}; }

 private:
  Owner owner_;
  KBlocks blocks_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
