// What threads know of each other: a vector clock of every lane, kept once for all lanes of a warp that do the same.
// What a thread does is a moment; a thread that has learnt of it comes after it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "loom/observe/check/knowledge.hpp"

namespace warploom::loom::check {

/// A thread of the cluster. Warps are counted through the cluster.
struct Agent {
  uint32_t warp = 0;
  uint32_t lane = 0;
};

/// Of a warp: one for each CTA it may tell in turn.
struct Voices {
  static constexpr uint32_t most = 4;
  std::array<Voice, most> of;
  uint32_t count = 0;

  std::span<Voice> all() { return {of.data(), count}; }
  std::span<const Voice> all() const { return {of.data(), count}; }
};

class OrderThreads {
 public:
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
  /// ... to global memory.
  void accessed_global(Agent agent) { note(agent); }
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
  uint32_t warps() const { return static_cast<uint32_t>(warps_.size()); }

 protected:
  explicit OrderThreads(uint32_t warps);
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
  const Lane& state_of(Agent agent) const { return warps_[agent.warp].lane(agent.lane); }
  Lane& own_state(Agent agent) { return warps_[agent.warp].own(agent.lane); }
  static uint32_t async_cover(const Lane& lane) { return lane.unfenced ? lane.fenced : lane.tick; }
  void synchronise_some(uint32_t warp, uint32_t mask);
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
  std::vector<Warp> warps_;
  KnowledgeRef nothing_;
  /// Warps that go through the same barriers have the same to join, one after the other.
  struct Joined {
    KnowledgeRef a, b, both;
  };
  std::array<Joined, 64> joined_;
  std::array<Joined, 8> latest_;  ///< of those that were worked out: others come to the same from elsewhere
  uint32_t latest_at_ = 0;
};

inline OrderThreads::Lane& OrderThreads::Warp::own(uint32_t index) {
  if ((apart >> index & 1) == 0) {
    lanes[index] = common;
    apart |= 1u << index;
  }
  return lanes[index];
}

inline Stamp OrderThreads::now(Agent agent) const { return {agent.warp, state_of(agent).tick, agent.lane}; }

inline Stamp OrderThreads::note(Agent agent) {
  if (!state_of(agent).used) own_state(agent).used = true;
  return now(agent);
}

inline void OrderThreads::advance(Lane& lane) {
  if (!lane.unfenced) lane.fenced = lane.tick;
  ++lane.tick;
  lane.used = false;
}

inline Stamp OrderThreads::mark(Agent agent) {
  const Stamp stamp = now(agent);
  advance(own_state(agent));
  return stamp;
}

inline Knowledge::Own OrderThreads::own(Agent agent) const {
  const Warp& warp = warps_[agent.warp];
  // Who has spoken for its warp knows that the others had done nothing.
  const uint32_t met = warp.spoke == agent.lane ? std::max(warp.met, warp.spoken) : warp.met;
  return {agent.warp, met, agent.lane, warp.lane(agent.lane).tick, warp.voices.all()};
}

}  // namespace warploom::loom::check
