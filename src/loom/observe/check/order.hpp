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

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loom/observe/check/knowledge.hpp"

namespace warploom::loom::check {

/// A thread of the cluster. Warps are counted through the cluster.
struct Agent {
  uint32_t warp = 0;
  uint32_t lane = 0;
};

/// What others may learn of work, beside that it is over: that its writes are seen, and by whom.
enum class Tells : uint8_t {
  all,
  end,     ///< no more: it writes nothing (commits, stores, wgmma)
  memory,  ///< ... its writes to shared memory
  tensor,  ///< ... to tensor memory
  plain,   ///< ... to shared memory, by the generic proxy: the async proxy needs a fence (cp.async, st.async)
};
inline constexpr size_t tells_count = 5;

/// The shared memory of a CTA, by its rank; a fence may be about all of them.
using MemoryId = uint32_t;
inline constexpr MemoryId every_memory = ~0u;

/// An asynchronous operation. It may rely on what its issuers knew at issue; its own moment is known to those who learn
/// of its completion.
struct Work {
  Stamp stamp;
  Knowledge relies;
  Tells tells = Tells::all;
  OwnKnowledge covered;  ///< of a commit: what the work tells that it covers
};

/// Of a warp: one for each CTA it may tell in turn.
struct Voices {
  static constexpr uint32_t most = 4;
  std::array<Voice, most> of;
  uint32_t count = 0;

  std::span<Voice> all() { return {of.data(), count}; }
  std::span<const Voice> all() const { return {of.data(), count}; }
};

/// What a warp may rely on in work that its lanes issue together.
struct WarpIssue {
  KnowledgeRef knows, usable;
  uint32_t warp = 0;
  uint32_t met = 0, met_async = 0;  ///< ... and of itself
  Voices voices;
};

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

class Order {
 public:
  using BarrierId = uint32_t;
  /// Of a rule broken at a barrier: by the operation at hand, or (wait_late, expect_late) by an earlier one.
  struct Violation {
    PhaseRule rule = PhaseRule::arrival_early;
    BarrierId barrier = 0;
    uint64_t phase = 0;
    Stamp by;
    const void* at = nullptr;  ///< the place in the source that was given with the operation
  };

  explicit Order(uint32_t warps);

  /// Called while the operation is executed that shows it.
  std::function<void(const Violation&)> violated;

  // ---- threads
  Stamp now(Agent agent) const;
  /// The same, to be kept: whoever hears of what the thread does from here on knows of it.
  Stamp note(Agent agent);
  /// `now` of its lanes was kept.
  void noted_all(uint32_t warp);
  bool covers(Agent agent, Plane plane, const Stamp& stamp) const;
  /// Does the thread know all of this to be over, and see it?
  bool covers(Agent agent, const KnowledgeRef& knowledge) const;
  /// When the lanes of the warp were together last.
  uint32_t met(uint32_t warp) const { return warps_[warp].met; }
  const KnowledgeRef& knows(Agent agent) const { return state_of(agent).knows; }
  /// A moment of its own, that whoever hears of what the thread does later knows of.
  Stamp mark(Agent agent);
  /// A plain access to shared memory: the async proxy may not rely on it before the thread's next proxy fence.
  void accessed_shared(Agent agent);
  void accessed_shared_all(uint32_t warp);
  /// ... to another CTA's: it has a moment of its own, because a fence may be about the thread's own CTA alone.
  Stamp accessed_elsewhere(Agent agent, MemoryId memory);
  /// ... to global memory.
  void accessed_global(Agent agent) { note(agent); }
  /// Of what the thread did itself in its own CTA; of what it did in `memory`; and of work in `memory` that wrote by
  /// the generic proxy and that the thread knows to be over (Tells::plain).
  void fence_proxy_async(Agent agent, MemoryId memory = every_memory);
  void tensor_fence_before(Agent agent);
  void tensor_fence_after(Agent agent);
  /// Whether all lanes of the warp know the same, and have done the same.
  bool alike(uint32_t warp) const { return warps_[warp].apart == 0; }
  /// Lanes of a warp that met in a collective.
  void synchronise(uint32_t warp, uint32_t mask);
  void learn(Agent agent, const KnowledgeRef& news);
  /// All that the thread knows and has done. What it does next is later.
  KnowledgeRef tell(Agent agent);
  /// All lanes of a warp.
  void learn_all(uint32_t warp, const KnowledgeRef& news);
  /// Changes whenever the thread learns something, or does something others may learn of.
  std::pair<KnowledgeRef, uint32_t> moment(Agent agent) const {
    const Lane& lane = state_of(agent);
    return {lane.knows, lane.tick + warps_[agent.warp].arrivals};
  }

  // ---- asynchronous work
  /// What work may rely on that the thread issues now. What the thread does next is later than its issue.
  Knowledge issue(Agent issuer);
  /// The same for a warp whose lanes have just met, and done nothing since.
  WarpIssue issue_met(uint32_t warp) const;
  /// Of several warps: what each of them knows.
  static Knowledge issue_together(std::span<const std::shared_ptr<const WarpIssue>> warps);
  Work begin(Knowledge relies, Tells tells = Tells::all) { return begin(std::move(relies), tells, nobody); }
  Work begin(Agent issuer, Tells tells = Tells::all) { return begin(issue(issuer), tells, issuer.warp); }
  /// Ordered by the hardware behind `earlier` as well: takes its slot over.
  Work begin_behind(Knowledge relies, const Work& earlier);
  /// Writes all that `earlier` has written in shared memory: takes its slot over, if the issuer knows that it is over
  /// and the two tell the same.
  Work begin_over(Agent issuer, const Stamp& earlier, Tells tells = Tells::memory);
  /// Of work that tells `plain`: where it writes.
  void writes_to(const Work& work, MemoryId memory);
  /// Its end also tells that of `earlier` (a commit).
  static void include(Work& work, const Work& earlier);
  /// Nothing of it is in flight any more: its slot may be used again by those who know.
  void retire(const Work& work);
  /// What the end of this work tells: that it is over, and what it has written.
  static Knowledge completion(const Work& work);
  /// A thread that learns of it without a barrier (wait_group, wait::ld).
  void learn(Agent agent, const Work& work);
  /// ... of a tcgen05 operation of its own: its later ones may rely on it.
  void learn_tensor(Agent agent, const Work& work);
  void learn_tensor_all(uint32_t warp, const Work& work);

  // ---- mbarriers, and whatever else counts arrivals in phases
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

  uint32_t warps() const { return static_cast<uint32_t>(warps_.size()); }
  uint32_t slots() const { return static_cast<uint32_t>(last_tick_.size()); }

 private:
  static constexpr uint32_t lane_count = 32;
  static constexpr uint32_t all_lanes = ~0u;
  static constexpr uint32_t nobody = ~0u;

  struct Lane {
    KnowledgeRef knows;
    KnowledgeRef usable;  ///< tensor plane: what its tcgen05 operations may rely on; null is nothing
    uint32_t tick = 1;
    uint32_t fenced = 0;    ///< the async proxy may rely on its accesses up to here,
    bool unfenced = false;  ///< ... or on all, if it has made none since
    bool used = false;      ///< something was noted at this tick
  };
  /// Most of what lanes do they do together. `common` is the state of all but those `apart`.
  struct Warp {
    Lane common;
    uint32_t apart = 0;
    Lane lanes[lane_count];
    // What every lane knows of every other, from the last time all of them met.
    uint32_t met = 0;
    uint32_t met_async = 0;
    uint32_t spoken = 0;  ///< up to here others may have been told of `spoke` as of the whole warp
    uint8_t spoke = 0;
    Voices voices;
    uint32_t arrivals = 0;  ///< of all voices

    const Lane& lane(uint32_t index) const { return (apart >> index & 1) != 0 ? lanes[index] : common; }
    /// To change that lane alone.
    Lane& own(uint32_t index);
    /// Calls visit(state, lanes that have it) for each, the common one first.
    template <class Visit>
    void for_each(Visit&& visit) {
      uint32_t rest = apart;
      if (apart != all_lanes) visit(common, ~apart);
      for (; rest != 0; rest &= rest - 1) visit(lanes[std::countr_zero(rest)], rest & (~rest + 1));
    }
  };
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

  const Lane& state_of(Agent agent) const { return warps_[agent.warp].lane(agent.lane); }
  Lane& own_state(Agent agent) { return warps_[agent.warp].own(agent.lane); }
  static uint32_t async_cover(const Lane& lane) { return lane.unfenced ? lane.fenced : lane.tick; }
  void synchronise_some(uint32_t warp, uint32_t mask);
  void passed_as(uint32_t warp, Lane& lane, uint32_t lanes, BarrierId barrier, uint64_t phases, const void* at,
                 bool cluster_scope);
  /// What both know; one of them, if that is all.
  KnowledgeRef joined(const KnowledgeRef& a, const KnowledgeRef& b);
  void learn(Lane& lane, const KnowledgeRef& news) { lane.knows = joined(lane.knows, news); }
  void learn_tensor(Lane& lane, const Knowledge& told);
  /// Whether the other lanes have done nothing since they all met, or since this one last told something: then what it
  /// tells now may be told as its warp's. Their next moments are later.
  bool speaks_for_warp(Agent agent);
  /// What the thread has done itself, as its warp's or its own; nothing, for a bare arrival, beyond what its warp knew
  /// when it met. Without `publishes`, only that it is over.
  enum class Speaks : uint8_t { for_lane, for_warp, bare };
  void add_own(Knowledge& knowledge, Agent agent, Speaks speaks, bool publishes = true) const;
  Knowledge::Own own(Agent agent) const;
  /// What follows has a tick of its own.
  static void advance(Lane& lane);
  enum class Publishes : uint8_t { nothing, all, to_cluster };
  enum class SignalAs : uint8_t { arrival, not_last, expectation, increment, landed };
  Stamp signal(Agent agent, BarrierId id, const void* at, SignalAs as, Publishes publishes);
  template <class Covers>
  void count_bytes(BarrierId id, const Stamp& stamp, int64_t bytes, const void* at, const Covers& covers);
  /// For an arrival of a lane that has done nothing since its warp met; null where it is to have a tick of its lane.
  Voice* voice_of(Agent agent, const Barrier& barrier);
  static void add_remote(Barrier& barrier, const Knowledge& told);
  static void note_signaller(Barrier& barrier, std::pair<uint32_t, uint8_t> who);
  static void add_completion(Knowledge& knowledge, const Work& work);
  Work begin_at(Stamp stamp, Knowledge relies);
  Work begin(Knowledge relies, Tells tells, uint32_t warp);
  Stamp take_slot(const Knowledge& relies, Tells tells, uint32_t warp);

  std::vector<Warp> warps_;
  std::vector<uint32_t> last_tick_;  ///< of every slot
  struct SlotUse {
    Tells tells = Tells::all;
    uint32_t warp = nobody;  ///< whose work it is for: who issued one hears of its end before others do
  };
  std::vector<SlotUse> uses_;  ///< ... what its users tell
  /// Slots of retired work, by what it told, and by warp; the last are nobody's.
  std::vector<std::vector<uint32_t>> free_[tells_count];
  /// Slots whose writes and reads the async proxy may not rely on before a fence that is about their memory: of work,
  /// by whoever knows that it is over; of a thread's accesses to another CTA, by that thread.
  struct Plain {
    uint32_t slot = 0;
    MemoryId memory = 0;
    uint32_t warp = nobody;
    uint32_t lane = 0;
    uint32_t at = 0;  ///< the thread's own tick at its latest
  };
  std::vector<Plain> plain_;
  std::vector<bool> is_plain_;  ///< by slot
  struct Fenced {
    KnowledgeRef before, after;
    MemoryId memory = every_memory;
  };
  Fenced fenced_;  ///< the latest: lanes of a warp that know the same have the same to add
  std::unordered_map<uint64_t, size_t> elsewhere_;  ///< by thread and memory: which of `plain_`
  std::vector<Barrier> barriers_;
  KnowledgeRef nothing_;
  /// Warps that go through the same barriers have the same to join, one after the other.
  struct Joined {
    KnowledgeRef a, b, both;
  };
  std::array<Joined, 64> joined_;
  std::array<Joined, 8> latest_;  ///< of those that were worked out: others come to the same from elsewhere
  uint32_t latest_at_ = 0;
};

}  // namespace warploom::loom::check
