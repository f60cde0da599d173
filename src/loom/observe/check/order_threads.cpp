// What threads know of each other.
#include "loom/observe/check/order_threads.hpp"

#include <algorithm>
#include <bit>

namespace warploom::loom::check {
namespace {

/// What all lanes of a warp know of its voices, and a lane of its own.
void add_voices(Knowledge& knowledge, std::span<const Voice> voices, uint8_t lane = whole_slot) {
  for (const Voice& voice : voices)
    if (const uint32_t tick = voice.lane == lane ? voice.said : voice.met; tick != 0)
      knowledge.raise(Plane::happened, voice.slot, tick);
}

}  // namespace

OrderThreads::OrderThreads(uint32_t warps) : warps_(warps), nothing_(make_knowledge()) {
  for (Warp& warp : warps_) warp.common.knows = nothing_;
}

bool OrderThreads::covers(Agent agent, Plane plane, const Stamp& stamp) const {
  const Warp& warp = warps_[agent.warp];
  const Lane& lane = warp.lane(agent.lane);
  if (plane == Plane::tensor) return lane.usable != nullptr && lane.usable->covers(plane, stamp);
  if (stamp.slot == agent.warp) {
    if (plane == Plane::async) {
      if (stamp.tick <= warp.met_async) return true;
      if (stamp.lane == agent.lane && stamp.tick <= async_cover(lane)) return true;
    } else if (stamp.tick <= warp.met || stamp.lane == agent.lane) {
      return true;
    }
  }
  if (lane.knows->covers(plane, stamp)) return true;
  return plane == Plane::happened && stamp.slot >= warps() && own(agent).tick_of(stamp.slot) >= stamp.tick;
}

bool OrderThreads::covers(Agent agent, const KnowledgeRef& knowledge) const {
  const KnowledgeRef& mine = state_of(agent).knows;
  return mine == knowledge || (mine->covers(Plane::happened, *knowledge, own(agent)) &&
                               mine->covers(Plane::visible, *knowledge, own(agent)));
}

void OrderThreads::noted_all(uint32_t warp) {
  warps_[warp].for_each([](Lane& lane, uint32_t) { lane.used = true; });
}

void OrderThreads::accessed_shared(Agent agent) {
  const Lane& lane = state_of(agent);
  if (lane.unfenced && lane.used) return;
  Lane& own = own_state(agent);
  own.unfenced = own.used = true;
}

void OrderThreads::accessed_shared_all(uint32_t warp) {
  warps_[warp].for_each([](Lane& lane, uint32_t) { lane.unfenced = lane.used = true; });
}

void OrderThreads::tensor_fence_before(Agent agent) {
  const Lane& lane = state_of(agent);
  if (lane.usable == nullptr || lane.knows->covers(Plane::tensor, *lane.usable)) return;
  auto more = make_knowledge(*lane.knows);
  more->join(Plane::tensor, *lane.usable, Plane::tensor);
  own_state(agent).knows = std::move(more);
}

void OrderThreads::tensor_fence_after(Agent agent) {
  const Lane& lane = state_of(agent);
  if (lane.usable != nullptr && lane.usable->covers(Plane::tensor, *lane.knows)) return;
  auto more = lane.usable == nullptr ? make_knowledge() : make_knowledge(*lane.usable);
  more->join(Plane::tensor, *lane.knows, Plane::tensor);
  own_state(agent).usable = std::move(more);
}

void OrderThreads::synchronise(uint32_t index, uint32_t mask) {
  if (std::popcount(mask) < 2) return;
  if (mask != all_lanes) return synchronise_some(index, mask);
  Warp& warp = warps_[index];
  for (Voice& voice : warp.voices.all()) voice.met = voice.said;
  if (warp.apart == all_lanes) {
    warp.common = warp.lanes[0];
    warp.apart &= ~1u;
  }
  const Lane& some = warp.common;
  uint32_t latest = 0;
  bool same = true, same_usable = true, idle = true;
  warp.for_each([&](const Lane& lane, uint32_t) {
    latest = std::max(latest, lane.tick);
    same = same && lane.knows == some.knows;
    same_usable = same_usable && lane.usable == some.usable;
    idle = idle && lane.tick == some.tick && !lane.used;
  });
  // They met before, and none of them has done anything since.
  if (idle && same && same_usable && warp.met + 1 == latest) return;
  // Who has made no access since its fence has none between that and the meeting.
  const auto cover = [&](const Lane& lane) { return lane.unfenced ? lane.fenced : latest; };
  uint32_t least_async = ~0u, most_async = 0;
  warp.for_each([&](const Lane& lane, uint32_t) {
    least_async = std::min(least_async, cover(lane));
    most_async = std::max(most_async, cover(lane));
  });
  KnowledgeRef knows = some.knows, usable = some.usable;
  if (!same || least_async != most_async) {
    auto joined = make_knowledge(*some.knows);
    const Knowledge* last = some.knows.get();
    warp.for_each([&](const Lane& lane, uint32_t lanes) {
      if (lane.knows.get() != last && lane.knows != some.knows) joined->join(*lane.knows);
      last = lane.knows.get();
      for (uint32_t rest = least_async == most_async ? 0 : lanes; rest != 0; rest &= rest - 1)
        joined->raise(Plane::async, index, static_cast<uint8_t>(std::countr_zero(rest)), cover(lane));
    });
    knows = std::move(joined);
  }
  if (!same_usable) {
    auto all = make_knowledge();
    const Knowledge* last = nullptr;
    warp.for_each([&](const Lane& lane, uint32_t) {
      if (lane.usable != nullptr && lane.usable.get() != last) all->join(*lane.usable);
      last = lane.usable.get();
    });
    usable = std::move(all);
  }
  // One that differs from the others in what it has fenced stays apart.
  const uint32_t apart = warp.apart;
  warp.for_each([&](Lane& lane, uint32_t lanes) {
    if (!lane.unfenced) lane.fenced = latest;
    lane.tick = latest + 1;
    lane.used = false;
    const bool differs =
        &lane != &warp.common && (lane.unfenced != warp.common.unfenced || lane.fenced != warp.common.fenced);
    lane.knows = differs || &lane == &warp.common ? knows : nullptr;
    lane.usable = differs || &lane == &warp.common ? usable : nullptr;
    if (!differs) warp.apart &= ~(lanes & apart);
  });
  warp.met = latest;
  warp.met_async = std::max(warp.met_async, least_async);
}

void OrderThreads::synchronise_some(uint32_t index, uint32_t mask) {
  Warp& warp = warps_[index];
  const auto each = [&](auto&& visit) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<uint8_t>(std::countr_zero(rest));
      visit(lane, warp.own(lane));
    }
  };
  uint32_t latest = 0;
  each([&](uint8_t, const Lane& lane) { latest = std::max(latest, lane.tick); });
  auto joined = make_knowledge();
  OwnKnowledge usable;
  KnowledgeRef last, last_usable;
  each([&](uint8_t lane, const Lane& l) {
    if (l.knows != last) joined->join(*l.knows);
    last = l.knows;
    joined->raise(Plane::happened, index, lane, l.tick);
    joined->raise(Plane::visible, index, lane, l.tick);
    const uint32_t async = l.unfenced ? l.fenced : latest;
    if (async != 0) joined->raise(Plane::async, index, lane, async);
    if (l.usable == nullptr || l.usable == last_usable) return;
    if (usable == nullptr) usable = make_knowledge();
    usable->join(*l.usable);
    last_usable = l.usable;
  });
  for (const Voice& voice : warp.voices.all())
    if ((mask >> voice.lane & 1) != 0) joined->raise(Plane::happened, voice.slot, voice.said);
  each([&](uint8_t, Lane& lane) {
    lane.knows = joined;
    lane.usable = usable;
    if (!lane.unfenced) lane.fenced = latest;
    lane.tick = latest + 1;
    lane.used = false;
  });
}

bool OrderThreads::speaks_for_warp(Agent agent) {
  Warp& warp = warps_[agent.warp];
  if (warp.apart != 1u << agent.lane) return false;
  const Lane& lane = warp.lanes[agent.lane];
  Lane& others = warp.common;
  const uint32_t silent_since = warp.spoke == agent.lane ? std::max(warp.met, warp.spoken) : warp.met;
  if (others.used || others.tick != silent_since + 1 || lane.tick < others.tick) return false;
  others.tick = lane.tick;
  advance(others);
  warp.spoken = lane.tick;
  warp.spoke = agent.lane;
  return true;
}

void OrderThreads::add_own(Knowledge& knowledge, Agent agent, Speaks speaks, bool publishes) const {
  const Warp& warp = warps_[agent.warp];
  const Lane& lane = warp.lane(agent.lane);
  const bool whole = speaks == Speaks::for_warp;
  // Whoever hears of a thread that has spoken for its warp hears of all that it told then.
  const uint32_t all_met = warp.spoke == agent.lane ? std::max(warp.met, warp.spoken) : warp.met;
  const auto tell = [&](Plane plane, uint32_t met, uint32_t own) {
    if (met != 0) knowledge.raise(plane, agent.warp, met);
    if (own > met && speaks != Speaks::bare) knowledge.raise(plane, agent.warp, agent.lane, own);
  };
  tell(Plane::happened, whole ? lane.tick : all_met, lane.tick);
  add_voices(knowledge, warp.voices.all(), agent.lane);
  if (!publishes) return;
  tell(Plane::visible, whole ? lane.tick : all_met, lane.tick);
  tell(Plane::async, whole && !lane.unfenced && !warp.common.unfenced ? lane.tick : warp.met_async, async_cover(lane));
}

KnowledgeRef OrderThreads::joined(const KnowledgeRef& a, const KnowledgeRef& b) {
  if (b == nullptr || a == b) return a;
  if (a == nothing_) return b;
  const auto place = [](const KnowledgeRef& of) { return reinterpret_cast<uintptr_t>(of.get()) / alignof(Knowledge); };
  Joined& entry = joined_[((place(a) * 0x9e3779b97f4a7c15u ^ place(b)) * 0x9e3779b97f4a7c15u >> 32) % joined_.size()];
  if (entry.a == a && entry.b == b) return entry.both;
  auto both = make_knowledge();
  const Knowledge::Same same = both->become(*a, *b);
  if (same != Knowledge::Same::neither) return (entry = {a, b, same == Knowledge::Same::mine ? a : b}).both;
  const auto found =
      std::ranges::find_if(latest_, [&](const Joined& other) { return other.b == b && other.both->identical(*both); });
  entry = {a, b, found == latest_.end() ? std::move(both) : found->both};
  if (found == latest_.end()) latest_[latest_at_++ % latest_.size()] = entry;
  return entry.both;
}

void OrderThreads::learn(Agent agent, const KnowledgeRef& news) { learn(own_state(agent), news); }

KnowledgeRef OrderThreads::tell(Agent agent) {
  Lane& lane = own_state(agent);
  auto told = make_knowledge(*lane.knows);
  add_own(*told, agent, speaks_for_warp(agent) ? Speaks::for_warp : Speaks::for_lane);
  advance(lane);
  return told;
}

void OrderThreads::learn_all(uint32_t warp, const KnowledgeRef& news) {
  warps_[warp].for_each([&](Lane& lane, uint32_t) { learn(lane, news); });
}

void OrderThreads::learn_tensor(Lane& lane, const Knowledge& told) {
  auto usable = lane.usable == nullptr ? make_knowledge() : make_knowledge(*lane.usable);
  usable->join(Plane::tensor, told, Plane::tensor);
  lane.usable = std::move(usable);
  // To others it says so with a fence.
  Knowledge rest;
  rest.join(Plane::happened, told, Plane::happened);
  learn(lane, make_knowledge(std::move(rest)));
}

}  // namespace warploom::loom::check
