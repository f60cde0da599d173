// The schedule's source of choices: splitmix64, so that a seed gives the same run everywhere.
#pragma once

#include <cstdint>

namespace warploom::loom {

class Random {
 public:
  /// The seed is mixed first: of seeds that differ by the step of the sequence, one would only be the other a number
  /// later.
  explicit Random(uint64_t seed) : state_(mixed(seed)) {}

  uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15u); }
  /// Uniform enough in [0, n)
  uint32_t below(uint32_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }
  bool one_in(uint32_t n) { return below(n) == 0; }

 private:
  static uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace warploom::loom
