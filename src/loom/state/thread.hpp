// One thread of a kernel: its fiber, where it waits and for what, and the groups of asynchronous copies it has issued.
// The scheduler changes `state` and `wait`; an instruction changes the rest.
//
//   Thread& self = Cluster::calling();
//   self.wait = {.kind = WaitKind::bulk_group, .pc = pc, .id = pending};
//   self.cluster->park(self);
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loom/exec/fiber.hpp"
#include "loom/state/barrier.hpp"
#include "warploom/loom/native.hpp"

namespace warploom::loom {

class Cluster;
struct Cta;
struct Warp;
namespace check {
struct Work;
using WorkRef = std::shared_ptr<const Work>;
}  // namespace check

struct Wait {
  WaitKind kind = WaitKind::mbarrier;
  Pc pc = nullptr;
  Barrier* barrier = nullptr;
  uint64_t phases = 0;  ///< completed phases the thread waits for
  uint32_t parity = 0;
  uint32_t id = 0;  ///< named barrier; pending groups
  const char* operation = "";
  uint32_t mask = 0;  ///< of a warp collective
};

/// The stores that one cp.async.bulk.commit_group closed.
struct BulkGroup {
  uint32_t reads_left = 0;
  uint32_t writes_left = 0;
  uint64_t read_time = 0;
  uint64_t write_time = 0;
  bool read_waited = false;  ///< or nothing to wait for
  Pc pc = nullptr;
  std::vector<check::WorkRef> works = {};
  uint32_t store = 0;  ///< its number with the checker
};

/// The copies that one cp.async.commit_group closed.
struct CopyGroup {
  uint32_t left = 0;
  uint64_t time = 0;
  std::vector<check::WorkRef> works = {};
};

/// What an arrival found: the phase it counted in, and the arrivals that were missing. A kernel gets a token that names
/// it: the phase, the thread of the cluster, and which of its tokens it is. All of that is the same under every
/// schedule; the count is not, and only mbarrier.pending_count, which is a point, looks it up.
struct ArrivalState {
  uint64_t phase = 0;
  uint32_t pending = 0;
};
inline constexpr uint32_t token_thread_bits = 16, token_number_bits = 20;
inline constexpr uint32_t kept_tokens = 1 << 12;  ///< of each thread
inline uint64_t token_phase(uint64_t token) { return token >> (token_thread_bits + token_number_bits); }

struct alignas(64) Thread : native::ThreadHead {
  /// `meeting`: parked in a collective of the whole warp, which knows what there is to know about it.
  enum class State : uint8_t { ready, running, parked, meeting, exited };

  // What every operation and every switch touches comes first, up to the lane's number.
  Warp* warp = nullptr;
  Fiber fiber;
  State state = State::ready;
  native::Identity id;
  Cluster* cluster = nullptr;
  Cta* cta = nullptr;
  uint64_t parked_at = 0;
  Wait wait;
  std::vector<std::pair<uint32_t, uint64_t>> collectives;  ///< per other mask, how many this lane has joined
  std::deque<std::shared_ptr<BulkGroup>> groups;
  std::shared_ptr<BulkGroup> open_group;
  std::deque<std::shared_ptr<CopyGroup>> copy_groups;
  std::shared_ptr<CopyGroup> open_copies;
  bool cluster_arrived = false;
  uint64_t cluster_phase = 0;
  uint32_t collective_result = 0;
  ArrivalState arrival;                  ///< of its latest signal to an mbarrier
  std::vector<uint32_t> pending_counts;  ///< of its latest tokens
  uint32_t tokens = 0;
  // Its latest atomic, if that left the word as it was.
  struct Asked {
    Pc pc = nullptr;
    const void* word = nullptr;
    uint64_t answer = 0;
    friend bool operator==(const Asked&, const Asked&) = default;
  } asked;
  uint32_t atomics = 0;  ///< that it has executed since it last let others run for their sake
};

/// What a parked thread waits for, in a few words.
std::string whereabouts(const Thread& waiting);

}  // namespace warploom::loom
