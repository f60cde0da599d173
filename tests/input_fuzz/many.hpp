// Many inputs at a time, by several processes.
#pragma once

#include "input_fuzz/input_fuzz.hpp"

namespace warploom::test::input_fuzz {

struct Tally {
  uint64_t inputs = 0, broken = 0;
  uint64_t codes[16] = {};  ///< how often each exit code or status; the last one for all others
  double seconds = 0, longest = 0;
};

/// Seeds first, first + 1, ... `on_broken` hears of every input that is answered wrongly.
Tally try_many(Domain domain, uint64_t first_seed, uint64_t count, uint32_t jobs,
               const std::function<void(const Judged&)>& on_broken);

}  // namespace warploom::test::input_fuzz
