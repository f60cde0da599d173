// The K blocks of a tile: `count` of them from `begin` on. As a number, it is the count.
#pragma once

#include "warploom/arch/config.hpp"

namespace warploom {

struct KBlocks {
  int begin = 0;
  int count = 0;

  constexpr KBlocks() = default;
  WARPLOOM_CONST_FN KBlocks(int first, int blocks) : begin(first), count(blocks) {}
  WARPLOOM_CONST_FN KBlocks(int blocks) : count(blocks) {}  ///< the first n blocks
  WARPLOOM_CONST_FN operator int() const { return count; }
};

}  // namespace warploom
