// Synchronisation without data: threads as lists of steps, small enough to try every schedule. `explore` is the oracle:
// it searches all of them and knows nothing of clocks. `run_once` executes one schedule with the checker's clocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loom/random.hpp"

namespace warploom::loom::check {

struct Step {
  enum class Kind : uint8_t {
    wait,  ///< until `phases` phases of `barrier` are complete, as its parity tells
    arrive,
    arrive_expect,  ///< ... and `bytes` more are to come
    expect,
    load,      ///< asynchronous: writes `buffer`, then brings `bytes` to `barrier`
    multiply,  ///< asynchronous: reads `buffer` and `second`, reads and writes `sum`; in order with others on that sum
    commit,    ///< arrives at `barrier` when this thread's multiplications so far are done
    read,      ///< `buffer`, by the thread itself
    write,
    fence,       ///< between the thread's own accesses and asynchronous ones
    store,       ///< asynchronous: reads `buffer`
    wait_store,  ///< until this thread's stores are done
  };
  Kind kind = Kind::arrive;
  int barrier = -1;
  int buffer = -1, second = -1, sum = -1;
  uint32_t phases = 0;
  int bytes = 0;
};

struct Script {
  std::vector<std::vector<Step>> threads;
  std::vector<int> counts;  ///< arrivals per phase, of every barrier
  int buffers = 0;
};

/// What can go wrong, in some schedule (explore) or as seen from one (run_once).
struct Outcome {
  bool race = false;
  bool fence = false;  ///< a proxy fence is missing
  bool deadlock = false;
  bool count = false;      ///< more arrivals than a phase has, bytes left over
  bool phase = false;      ///< run_once only: a rule about phases
  bool truncated = false;  ///< explore only: too many states
  size_t states = 0;

  bool bad() const { return race || fence || deadlock || count || phase; }
};
std::string to_string(const Outcome& outcome);

Outcome explore(const Script& script, size_t limit);
Outcome run_once(const Script& script, uint64_t seed);

/// A GEMM's pipeline: a loader, a multiplier and epilogue warps that store through a buffer of their own.
struct PipelineShape {
  int stages = 2, k_blocks = 2, tiles = 1, sums = 1, epilogues = 1;
};
Script pipeline(const PipelineShape& shape);

/// Breaks something; says what.
std::string mutate(Script& script, Random& random);

}  // namespace warploom::loom::check
