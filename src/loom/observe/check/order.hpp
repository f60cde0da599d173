// Happens-before over one cluster's run: who knows of what, through barriers, fences and completions, whatever the
// schedule. The machine tells it what threads and engines do; it answers whether an earlier moment is ordered before an
// agent's next operation, and reports synchronisation that only this schedule made come out right (P1, P1b and P2 of
// docs/verdict.md).
//
//   Order order(warps);
//   const Stamp wrote = order.note({0, 3});                 // lane 3 of warp 0 stores something
//   order.arrive({0, 3}, full);  order.passed({1, 0}, full, 0);
//   order.covers({1, 0}, Plane::visible, wrote)             // true: lane 0 of warp 1 may read it
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "loom/observe/check/order_work.hpp"

namespace warploom::loom::check {

enum class PhaseRule : uint8_t {
  arrival_early,   ///< P1: an arrival or bytes of phase n+1 that could land in phase n
  expect_late,     ///< P1b: bytes announced too late: the phase could complete without them
  wait_early,      ///< P2: a wait for phase n that could begin when n-1 is not complete: its parity says "passed"
  wait_late,       ///< P2: a wait for phase n that could begin when n+1 is complete: its parity says "not yet"
  increment_late,  ///< P1b: a pending count raised too late: the phase could complete without the arrival
  may_be_last,     ///< P3: an arrive.noComplete that could be the last arrival of its phase
  test_answered,   ///< P2: a test that the parity of another phase could answer
  byte_range,      ///< P3: byte counts that leave the range of the barrier in some order of its signals
};

class Order : public OrderWork {
 public:
  explicit Order(uint32_t warps);

  using BarrierId = uint32_t;
  /// Of a rule broken at a barrier: by the operation at hand, or (wait_late, expect_late) by an earlier one.
  struct Violation {
    PhaseRule rule = PhaseRule::arrival_early;
    BarrierId barrier = 0;
    uint64_t phase = 0;
    Stamp by;
    const void* at = nullptr;  ///< the place in the source that was given with the operation
  };
  /// Called while the operation is executed that shows it.
  std::function<void(const Violation&)> violated;
  /// `for_each_lane`: lanes arrive one by one, not one for all of its warp. Else that is found out. `by_parity`: of a
  /// wait that comes late the parity says that its phase is not over; bar.sync lets its warps go whatever comes next.
  BarrierId make_barrier(bool for_each_lane = false, bool by_parity = true);
  /// Its moment, for those who ask whether it is over.
  Stamp arrive(Agent agent, BarrierId barrier, const void* at = nullptr);
  /// An arrival of relaxed semantics, or one whose scope does not reach the barrier: tells that it happened, and what
  /// tensor cores were fenced for, no more.
  Stamp arrive_relaxed(Agent agent, BarrierId barrier, const void* at = nullptr);
  /// An arrival of another CTA's thread that releases to the cluster: who waits with the scope of its own CTA learns
  /// that it happened and what the async proxy may rely on, but sees nothing of what it wrote.
  Stamp arrive_remote(Agent agent, BarrierId barrier, const void* at = nullptr);
  Stamp expect(Agent agent, BarrierId barrier, const void* at = nullptr);
  /// An arrival that must not complete the phase (arrive.noComplete): some other arrival must be known to come later.
  Stamp arrive_not_last(Agent agent, BarrierId barrier, const void* at = nullptr);
  /// Raises the pending count of the phase under way (cp.async.mbarrier.arrive without .noinc).
  Stamp increment(Agent agent, BarrierId barrier, const void* at = nullptr);
  /// Bytes that the thread itself says have landed.
  Stamp complete_tx(Agent agent, BarrierId barrier, const void* at = nullptr);
  /// Beside the signal: by so much it moves the barrier's byte count (expected bytes up, landed bytes down).
  void count_bytes(Agent agent, BarrierId barrier, int64_t bytes, const void* at = nullptr);
  void count_bytes(const Work& work, BarrierId barrier, int64_t bytes, const void* at = nullptr);
  /// The end of asynchronous work: bytes that landed, or an arrival (commit). `raised`: one that the pending count had
  /// been raised for, so that the phase does not wait for it unless the increment came in time.
  enum class Ends : uint8_t { bytes, arrival, raised };
  /// `remote`: of what a thread of another CTA stored, as with arrive_remote.
  void complete(const Work& work, BarrierId barrier, Ends ends, const void* at = nullptr, bool remote = false);
  /// The thread has exited, and the phase under way comes after that: it waits for threads that have not exited.
  /// `arrived`: the thread has arrived in that phase, which then need not wait for its exit; the next one does.
  void leave(Agent agent, BarrierId barrier, bool arrived = false);
  /// The phase under way comes after all that has left `others`.
  void behind_exits(BarrierId barrier, BarrierId others);
  /// The phase under way is complete; it is the `phase`-th, from 0.
  void phase_completed(BarrierId barrier);
  /// A wait for so many completed phases was passed (0: nothing to wait for).
  void passed(Agent agent, BarrierId barrier, uint64_t phases, const void* at = nullptr, bool cluster_scope = false);
  /// ... by each lane of a warp.
  void passed_all(uint32_t warp, BarrierId barrier, uint64_t phases, const void* at = nullptr,
                  bool cluster_scope = false);
  /// A question that may have had no answer: whoever ends the barrier must know that it is over.
  void asked(Agent agent, BarrierId barrier, const void* at);
  /// A poll for so many completed phases, whatever it was told.
  void polled(Agent agent, BarrierId barrier, uint64_t phases, const void* at);
  uint64_t phases(BarrierId barrier) const { return barriers_[barrier].phases; }
  /// Is the thread behind the end of the last completed phase anyway?
  bool knows_of_last_phase(Agent agent, BarrierId barrier) const;
  /// How many phases are complete when the thread comes here, in every schedule. Not below phases() - 2: two phases
  /// that it does not know of are enough for a parity to mean another one.
  uint64_t least_phases(Agent agent, BarrierId barrier) const;
  /// Whether the thread is behind everything that was done with the barrier; if not, `left` is a wait that may still
  /// come, where it is one.
  bool over(Agent agent, BarrierId barrier, std::optional<std::pair<Stamp, const void*>>& left) const;
  /// Do the arrivals of the phase under way know of that moment?
  bool current_covers(BarrierId barrier, const Stamp& stamp) const {
    return barriers_[barrier].current.covers(Plane::happened, stamp);
  }

 private:
  struct WaitRecord {
    uint32_t warp = 0;
    uint32_t tick = 0;
    uint32_t lanes = 0;
    const void* at = nullptr;
  };
  /// Something that an arrival of the same phase must be known to follow.
  struct ExpectRecord {
    Stamp stamp;
    const void* at = nullptr;
    PhaseRule rule = PhaseRule::expect_late;  ///< ... or this rule is broken
  };
  /// A change of the byte count, and what the count may be right after it, over all orders of the phase's signals.
  struct ByteRecord {
    Stamp stamp;
    int64_t bytes = 0;
    int64_t least = 0, most = 0;
    const void* at = nullptr;
  };
  struct Barrier {
    uint64_t phases = 0;
    Knowledge current;               ///< of the arrivals of the phase under way
    Knowledge next;                  ///< of exits that the one after it waits for
    KnowledgeRef completed, before;  ///< of the last completed phase, and of the one before
    OwnKnowledge remote;             ///< for waits of scope cluster: of the phase under way,
    KnowledgeRef completed_remote;   ///< ... of the last completed one
    std::vector<WaitRecord> waits;   ///< for the last completed phase
    std::vector<ExpectRecord> expects;
    std::vector<std::pair<Stamp, const void*>> questions;  ///< the latest of each thread
    std::vector<ByteRecord> bytes;                         ///< of the phase under way,
    std::pair<uint32_t, uint8_t> sole = {};  ///< who has signalled in the phase under way, if it was one thread
    bool signalled = false, several = false;
    bool for_each_lane = false, by_parity = true;
    // Many tell and learn the same thing one after the other.
    KnowledgeRef last_told, last_hinted, last_left;
    bool last_left_next = false;
    KnowledgeRef behind_completed, behind_before;  ///< who knows that knows of `completed`, of `before`
  };
  void passed_as(uint32_t warp, Lane& lane, uint32_t lanes, BarrierId barrier, uint64_t phases, const void* at,
                 bool cluster_scope);
  enum class Publishes : uint8_t { nothing, all, to_cluster };
  enum class SignalAs : uint8_t { arrival, not_last, expectation, increment, landed };
  Stamp signal(Agent agent, BarrierId id, const void* at, SignalAs as, Publishes publishes);
  template <class Covers>
  void count_bytes(BarrierId id, const Stamp& stamp, int64_t bytes, const void* at, const Covers& covers);
  /// For an arrival of a lane that has done nothing since its warp met; null where it is to have a tick of its lane.
  Voice* voice_of(Agent agent, const Barrier& barrier);
  static void add_remote(Barrier& barrier, const Knowledge& told);
  static void note_signaller(Barrier& barrier, std::pair<uint32_t, uint8_t> who);
  std::vector<Barrier> barriers_;
};

}  // namespace warploom::loom::check
