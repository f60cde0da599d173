// Synchronisation without data: warps as lists of steps, small enough to try every schedule. `explore` is the oracle:
// it searches all of them and knows nothing of clocks. `run_once` executes one schedule with the checker's clocks.
//
// Scripts are written by hand, made by `pipeline`, or recorded from kernels that run on the machine (recorded.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loom/exec/random.hpp"

namespace warploom::loom::check {

/// A set of buffers, one bit each. What is always touched together is one buffer.
using Buffers = uint64_t;

struct Step {
  enum class Kind : uint8_t {
    wait,           ///< until `phases` phases of `barrier` are complete, as its parity tells
    arrive,         ///< once per lane
    arrive_expect,  ///< ... and `bytes` more are to come
    expect,
    sync,           ///< arrives at a named barrier and stays until it is complete
    access,         ///< reads and writes buffers by ordinary instructions
    fence,          ///< between the warp's own accesses and asynchronous ones
    tensor_before,  ///< tcgen05.fence::before_thread_sync
    tensor_after,
    load,           ///< asynchronous: writes, then brings `bytes` to `barrier`
    store,          ///< asynchronous: reads
    wait_store,     ///< until all but the last `pending` stores of this thread have read
    multiply,       ///< asynchronous tcgen05.mma: those of one thread are in order on the tensor memory they share
    commit,         ///< arrives at `barrier` when this thread's multiplications so far are done
    tensor_access,  ///< asynchronous tcgen05.ld or st
    wait_tensor,    ///< until those of this warp are done
    wgmma,          ///< asynchronous: this warp's part; over when all four warps of the group have come to it
    wgmma_commit,
    wgmma_wait,  ///< until all but the last `pending` groups of this warp are done
  };
  Kind kind = Kind::arrive;
  int barrier = -1;
  Buffers reads = 0, writes = 0;
  uint32_t phases = 0;
  int bytes = 0;
  uint32_t pending = 0;
  uint32_t lanes = 1;    ///< one bit each
  bool relaxed = false;  ///< arrive: tells that it happened, not what came before

  friend bool operator==(const Step&, const Step&) = default;
};
const char* to_string(Step::Kind kind);

struct Script {
  std::string name = {};
  std::vector<std::vector<Step>> threads = {};  ///< one list per warp
  std::vector<int> counts = {};                 ///< arrivals per phase, of every barrier; of a named one, in warps
  int buffers = 0;
  Buffers tensor = 0;            ///< those that lie in tensor memory
  std::vector<int> groups = {};  ///< warpgroup of each thread, where there are any; -1: none
};
std::string to_text(const Script& script);

/// What can go wrong, in some schedule (explore) or as seen from one (run_once).
struct Outcome {
  bool race = false;
  bool fence = false;         ///< a proxy fence is missing
  bool tensor_fence = false;  ///< a tcgen05.fence is missing
  bool deadlock = false;
  bool count = false;      ///< more arrivals than a phase has, bytes left over
  bool pending = false;    ///< a thread leaves before its stores have read
  bool phase = false;      ///< run_once only: a rule about phases
  bool unseen = false;     ///< run_once only: ordered, but nothing makes the write seen
  bool truncated = false;  ///< explore only: too many states
  size_t states = 0;
  std::string first = {};  ///< run_once: what it says first

  bool bad() const { return race || fence || tensor_fence || deadlock || count || pending || phase || unseen; }
};
std::string to_string(const Outcome& outcome);

Outcome explore(const Script& script, size_t limit);
/// The same without any reduction, step by step: what `explore` is tested with.
Outcome explore_plainly(const Script& script, size_t limit);
Outcome run_once(const Script& script, uint64_t seed);

/// A GEMM's pipeline: a loader, a multiplier and epilogue warps that store through a buffer of their own.
struct PipelineShape {
  int stages = 2, k_blocks = 2, tiles = 1, sums = 1, epilogues = 1;
};
Script pipeline(const PipelineShape& shape);

/// Breaks something; says what. Empty where the script has nothing of the kind it drew.
std::string mutate(Script& script, Random& random);

}  // namespace warploom::loom::check
