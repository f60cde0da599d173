// What the programs that run on both machines share: a case fills `got` from the machine and `want` in plain C++, and
// prints one line, `name hash ok`. The hash is 64-bit FNV-1a of the bytes in `got`; examples/gpu/expected_hashes.txt
// holds the loom's, and a GPU must print the same.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "warploom/arch/config.hpp"

namespace warploom::inline WARPLOOM_MACHINE::examples {

using Words = std::vector<uint32_t>;

struct Comparison {
  Words got, want;
};

struct Verdict {
  std::string name;
  uint64_t hash = 0;
  std::string trouble;  ///< "" when machine and plain C++ agree

  bool ok() const { return trouble.empty(); }
};

inline uint64_t fnv1a(const Words& words) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const uint32_t word : words)
    for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ (word >> shift & 0xff)) * 0x100000001b3u;
  return hash;
}

/// The host's random numbers: the same everywhere (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  uint32_t word() { return static_cast<uint32_t>(next() >> 32); }
  uint32_t below(uint32_t n) { return word() % n; }

 private:
  uint64_t state_;
};

/// One experiment, for either machine (loom_machine.hpp, gpu/gpu_machine.cuh).
template <class Machine>
struct Case {
  const char* name;
  void (*run)(Machine& machine, Comparison& words);
};

template <class Machine>
Verdict run_case(Machine& machine, const Case<Machine>& experiment) {
  machine.reset();
  Comparison words;
  experiment.run(machine, words);
  Verdict verdict{experiment.name, fnv1a(words.got), machine.trouble()};
  if (!verdict.ok()) return verdict;
  if (words.got.size() != words.want.size()) {
    verdict.trouble = std::to_string(words.got.size()) + " words, expected " + std::to_string(words.want.size());
    return verdict;
  }
  size_t different = 0, first = 0;
  for (size_t i = words.got.size(); i-- > 0;)
    if (words.got[i] != words.want[i]) ++different, first = i;
  if (different != 0) {
    char text[160];
    std::snprintf(text, sizeof(text), "%zu of %zu words differ, first word %zu: 0x%08" PRIx32 ", expected 0x%08" PRIx32,
                  different, words.got.size(), first, words.got[first], words.want[first]);
    verdict.trouble = text;
  }
  return verdict;
}

inline std::string hash_text(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016" PRIx64, hash);
  return text;
}

inline void print(const Verdict& verdict) {
  std::printf("%-22s %s %s%s\n", verdict.name.c_str(), hash_text(verdict.hash).c_str(),
              verdict.ok() ? "ok" : "FAILED: ", verdict.trouble.c_str());
  std::fflush(stdout);
}

/// Runs every case, or only those named; the program's exit status.
template <class Machine>
int run_all(Machine& machine, const std::vector<Case<Machine>>& cases, const std::vector<std::string>& names = {}) {
  int failed = 0;
  for (const Case<Machine>& experiment : cases) {
    bool named = names.empty();
    for (const std::string& name : names) named = named || name == experiment.name;
    if (!named) continue;
    const Verdict verdict = run_case(machine, experiment);
    print(verdict);
    failed += verdict.ok() ? 0 : 1;
  }
  if (failed != 0) std::printf("%d of %zu cases FAILED\n", failed, cases.size());
  return failed == 0 ? 0 : 1;
}

/// The shape of a launch, on either machine.
struct Shape {
  Dim3 grid;
  Dim3 cluster;
  uint32_t threads = 32;
};

}  // namespace warploom::inline WARPLOOM_MACHINE::examples
