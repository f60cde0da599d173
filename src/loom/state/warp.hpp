// One warp: its lanes and those of them that may run, the collectives they are in, what they have deferred to run
// together, and its tcgen05.ld and st between issue and wait.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "loom/observe/trace_points.hpp"
#include "loom/state/collectives.hpp"
#include "loom/state/thread.hpp"
#include "loom/state/warpgroup.hpp"

namespace warploom::loom {

/// A tcgen05.ld or st between issue and wait.
struct TmemAccess {
  native::TmemForm form;
  uint32_t count = 0;
  uint32_t address = 0;
  bool load = true;
  bool touched = false;  ///< TMEM already read (ld) or written (st)
  uint32_t* registers[32] = {};
  bool* in_flight[32] = {};
  std::vector<uint32_t> values;  ///< [lane * count + i]
  uint64_t finish = 0;
  check::WorkRef work;
};

/// Lanes of a warp that may run, in the order in which they were woken.
class LaneQueue {
 public:
  bool empty() const { return count_ == 0; }
  Thread* front() const { return count_ == 0 ? nullptr : lanes_[first_]; }
  void push_back(Thread* lane) { lanes_[(first_ + count_++) % 32] = lane; }
  Thread* pop_front() {
    Thread* lane = lanes_[first_];
    first_ = (first_ + 1) % 32;
    --count_;
    return lane;
  }

 private:
  Thread* lanes_[32] = {};
  uint32_t first_ = 0, count_ = 0;
};

struct Warp {
  Cluster* cluster = nullptr;
  Cta* cta = nullptr;
  uint32_t index = 0;
  const char* role = "";
  std::vector<Thread*> lanes;
  WholeWarp whole;
  std::vector<std::unique_ptr<Collective>> open;  ///< of some lanes only
  std::vector<TmemAccess> accesses;
  LaneQueue ready;
  // Lanes that met, or that a wait of the whole warp held up, go on one after the other; before those of `ready`.
  uint32_t round_next = 0, round_left = 0;
  uint64_t round_time = 0;
  // Lanes that wait for the same phase of an mbarrier, in no hurry to say so either.
  struct Gate {
    Barrier* barrier = nullptr;
    uint32_t phases = 0;
    uint32_t lanes = 0;
    Pc pc = nullptr;
  } gate;
  bool blocked = false;  ///< all lanes wait for the same, in no hurry to say so: note_meetings() does
  Wait blocked_by;
  std::vector<std::pair<uint32_t, uint8_t>> sides;  ///< ring, by its first barrier -> the side it waits on
  uint64_t priority = 0;
  bool queued = false;  ///< listed among the cluster's ready warps
  uint64_t role_since = 0;
  bool role_closed = false;   ///< its event has been recorded
  uint16_t named_passed = 0;  ///< named barriers this warp has waited at, one bit each
  WgmmaQueue wgmma;
  uint32_t registers = 0;  ///< per thread
  size_t register_requests = 0;
  uint32_t exited = 0;  ///< lanes that have
  TracePoints trace;

  bool can_run() const { return round_left != 0 || !ready.empty(); }
  Thread* next_lane() {
    if (round_left == 0) return ready.pop_front();
    Thread* lane = lanes[round_next];
    round_next = (round_next + 1) % 32;
    --round_left;
    lane->time = std::max(lane->time, round_time);
    return lane;
  }
  const Thread* lane_after() const { return round_left != 0 ? lanes[round_next] : ready.front(); }
  bool in_collective() const { return whole.meets || whole.posted() != 0 || !open.empty(); }
};

}  // namespace warploom::loom
