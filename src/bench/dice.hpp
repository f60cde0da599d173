// Random choices that are the same on every machine: splitmix64, and no distribution of a standard library.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace warploom::bench {

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  int below(int n) { return static_cast<int>(bits() % static_cast<uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int n) { return below(n) == 0; }
  template <class T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int>(choices.size()))];
  }

 private:
  uint64_t state_;
};

}  // namespace warploom::bench
