// `for (auto stage : ring.produce(n))`: n stages, one after the other, each a scope. The stage types are immovable;
// guaranteed elision makes the loop variable the stage itself.
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE {

/// Stage is constructed from (owner, k) for k = 0 .. count - 1.
template <class Stage, class Owner>
class [[nodiscard]] StageRange {
 public:
  WARPLOOM_FN StageRange(Owner owner, int count) noexcept : owner_(owner), count_(count) {}

  struct End {};
  class Iterator {
   public:
    WARPLOOM_FN Iterator(const Owner& owner, int count) noexcept : owner_(owner), count_(count) {}
    WARPLOOM_FN Stage operator*() const noexcept { return Stage(owner_, k_); }
    WARPLOOM_FN Iterator& operator++() noexcept {
      ++k_;
      return *this;
    }
    WARPLOOM_FN bool operator!=(End) const noexcept { return k_ < count_; }

   private:
    Owner owner_;
    int k_ = 0;
    int count_;
  };
  WARPLOOM_FN Iterator begin() const noexcept { return {owner_, count_}; }
  WARPLOOM_FN End end() const noexcept { return {}; }

 private:
  Owner owner_;
  int count_;
};

}  // namespace warploom::inline WARPLOOM_MACHINE
