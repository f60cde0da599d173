// Tests that need a GPU: problems nobody chose, launches for a long time, and bits that must not depend on company.
// Each prints what it found and returns an exit status: 0 right, 1 wrong.
#pragma once

#include <cstdint>
#include <string>

namespace warploom::bench {

/// Random problems: each runs and agrees with the reference, or is refused by why_not; then the nearest that runs does.
/// A problem depends on the seed and its number alone. Stops after `seconds`, 0: never.
int random_problems(int count, uint64_t seed, double seconds);

/// Problems of all kinds in turn, back to back: every result has the hash of the first.
int soak(double seconds, uint64_t seed);

/// For every configuration: repeated launches give the same bits, and so do a row whatever the number of rows, and a
/// CUDA graph.
int invariance();

/// Runs the problems of bench/exact_problems.hpp, writes their hashes to a file and compares them with another's;
/// either name may be "".
int exact_hashes(const std::string& written, const std::string& expected);

}  // namespace warploom::bench
