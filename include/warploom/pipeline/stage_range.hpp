// `for (auto stage : ring.produce(n))`: n stages, one after the other, each a scope. The stage types are immovable;
// guaranteed elision makes the loop variable the stage itself. Rings and contexts return it:
//
//   StageRange<ProducerTiles<Ring>, Ring*> produce(int k_blocks) { return {this, k_blocks}; }
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// Stage is constructed from (owner, k) for `count` values of k: first, first + step, ...
template <class Stage, class Owner>
class [[nodiscard]] StageRange {
 public:
  WARPLOOM_FN StageRange(Owner owner, int count, int first = 0, int step = 1) noexcept
      : owner_(owner), count_(count), first_(first), step_(step) {}

  struct End {};
  class Iterator {
   public:
    WARPLOOM_FN Iterator(const Owner& owner, int count, int k, int step) noexcept
        : owner_(owner), left_(count), k_(k), step_(step) {}
    WARPLOOM_FN Stage operator*() const noexcept { return Stage(owner_, k_); }
    WARPLOOM_FN Iterator& operator++() noexcept {
      --left_;
      k_ += step_;
      return *this;
    }
    WARPLOOM_FN bool operator!=(End) const noexcept { return left_ > 0; }

   private:
    Owner owner_;
    int left_;
    int k_;
    int step_;
  };
  WARPLOOM_FN Iterator begin() const noexcept { return {owner_, count_, first_, step_}; }
  WARPLOOM_FN End end() const noexcept { return {}; }

 private:
  Owner owner_;
  int count_;
  int first_;
  int step_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
