#include "loom/observe/check/order.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace warploom::loom::check {
namespace {

/// What all lanes of a warp know of its voices, and a lane of its own.
void add_voices(Knowledge& knowledge, std::span<const Voice> voices, uint8_t lane = whole_slot) {
  for (const Voice& voice : voices)
    if (const uint32_t tick = voice.lane == lane ? voice.said : voice.met; tick != 0)
      knowledge.raise(Plane::happened, voice.slot, tick);
}

}  // namespace

Order::Order(uint32_t warps) : warps_(warps), last_tick_(warps, 0), uses_(warps), nothing_(make_knowledge()) {
  for (auto& free : free_) free.resize(size_t{warps} + 1);
  for (Warp& warp : warps_) warp.common.knows = nothing_;
}

// ---- threads

Order::Lane& Order::Warp::own(uint32_t index) {
  if ((apart >> index & 1) == 0) {
    lanes[index] = common;
    apart |= 1u << index;
  }
  return lanes[index];
}

Stamp Order::now(Agent agent) const { return {agent.warp, state_of(agent).tick, agent.lane}; }

Stamp Order::note(Agent agent) {
  if (!state_of(agent).used) own_state(agent).used = true;
  return now(agent);
}

Stamp Order::mark(Agent agent) {
  const Stamp stamp = now(agent);
  advance(own_state(agent));
  return stamp;
}

bool Order::covers(Agent agent, Plane plane, const Stamp& stamp) const {
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

bool Order::covers(Agent agent, const KnowledgeRef& knowledge) const {
  const KnowledgeRef& mine = state_of(agent).knows;
  return mine == knowledge || (mine->covers(Plane::happened, *knowledge, own(agent)) &&
                               mine->covers(Plane::visible, *knowledge, own(agent)));
}

void Order::noted_all(uint32_t warp) {
  warps_[warp].for_each([](Lane& lane, uint32_t) { lane.used = true; });
}

void Order::accessed_shared(Agent agent) {
  const Lane& lane = state_of(agent);
  if (lane.unfenced && lane.used) return;
  Lane& own = own_state(agent);
  own.unfenced = own.used = true;
}

void Order::accessed_shared_all(uint32_t warp) {
  warps_[warp].for_each([](Lane& lane, uint32_t) { lane.unfenced = lane.used = true; });
}

Stamp Order::accessed_elsewhere(Agent agent, MemoryId memory) {
  Lane& lane = own_state(agent);
  lane.used = true;
  const uint64_t key = (uint64_t{memory} << 32 | agent.warp) * lane_count + agent.lane;
  const auto [place, added] = elsewhere_.try_emplace(key, plain_.size());
  if (added) {
    last_tick_.push_back(0);
    uses_.emplace_back();
    plain_.push_back({slots() - 1, memory, agent.warp, agent.lane, 0});
  }
  Plain& mine = plain_[place->second];
  uint32_t& tick = last_tick_[mine.slot];
  if (mine.at != lane.tick) {
    // Others have heard of those before, or a fence has followed.
    mine.at = lane.tick;
    ++tick;
    auto more = make_knowledge(*lane.knows);
    for (const Plane plane : {Plane::happened, Plane::visible}) more->raise(plane, mine.slot, tick);
    lane.knows = std::move(more);
  }
  return {mine.slot, tick, whole_slot};
}

void Order::fence_proxy_async(Agent agent, MemoryId memory) {
  Lane& lane = own_state(agent);
  lane.fenced = lane.tick++;
  lane.unfenced = lane.used = false;
  if (plain_.empty()) return;
  if (elsewhere_.empty() && fenced_.before == lane.knows && fenced_.memory == memory) {
    lane.knows = fenced_.after;
    return;
  }
  OwnKnowledge more;
  for (const Plain& plain : plain_) {
    if (memory != every_memory && plain.memory != memory) continue;
    if (plain.warp != nobody && (plain.warp != agent.warp || plain.lane != agent.lane)) continue;
    const uint32_t seen = lane.knows->tick(Plane::visible, plain.slot);
    if (seen <= lane.knows->tick(Plane::async, plain.slot)) continue;
    if (more == nullptr) more = make_knowledge(*lane.knows);
    more->raise(Plane::async, plain.slot, seen);
  }
  const KnowledgeRef after = more == nullptr ? lane.knows : KnowledgeRef(std::move(more));
  fenced_ = {lane.knows, after, memory};
  lane.knows = after;
}

void Order::tensor_fence_before(Agent agent) {
  const Lane& lane = state_of(agent);
  if (lane.usable == nullptr || lane.knows->covers(Plane::tensor, *lane.usable)) return;
  auto more = make_knowledge(*lane.knows);
  more->join(Plane::tensor, *lane.usable, Plane::tensor);
  own_state(agent).knows = std::move(more);
}

void Order::tensor_fence_after(Agent agent) {
  const Lane& lane = state_of(agent);
  if (lane.usable != nullptr && lane.usable->covers(Plane::tensor, *lane.knows)) return;
  auto more = lane.usable == nullptr ? make_knowledge() : make_knowledge(*lane.usable);
  more->join(Plane::tensor, *lane.knows, Plane::tensor);
  own_state(agent).usable = std::move(more);
}

void Order::synchronise(uint32_t index, uint32_t mask) {
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

void Order::synchronise_some(uint32_t index, uint32_t mask) {
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

bool Order::speaks_for_warp(Agent agent) {
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

void Order::add_own(Knowledge& knowledge, Agent agent, Speaks speaks, bool publishes) const {
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

Knowledge::Own Order::own(Agent agent) const {
  const Warp& warp = warps_[agent.warp];
  // Who has spoken for its warp knows that the others had done nothing.
  const uint32_t met = warp.spoke == agent.lane ? std::max(warp.met, warp.spoken) : warp.met;
  return {agent.warp, met, agent.lane, warp.lane(agent.lane).tick, warp.voices.all()};
}

void Order::advance(Lane& lane) {
  if (!lane.unfenced) lane.fenced = lane.tick;
  ++lane.tick;
  lane.used = false;
}

KnowledgeRef Order::joined(const KnowledgeRef& a, const KnowledgeRef& b) {
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

void Order::learn(Agent agent, const KnowledgeRef& news) { learn(own_state(agent), news); }

KnowledgeRef Order::tell(Agent agent) {
  Lane& lane = own_state(agent);
  auto told = make_knowledge(*lane.knows);
  add_own(*told, agent, speaks_for_warp(agent) ? Speaks::for_warp : Speaks::for_lane);
  advance(lane);
  return told;
}

void Order::learn_all(uint32_t warp, const KnowledgeRef& news) {
  warps_[warp].for_each([&](Lane& lane, uint32_t) { learn(lane, news); });
}

// ---- asynchronous work

namespace {

std::span<const Plane> planes_of(Tells tells) {
  static constexpr Plane end[] = {Plane::happened}, memory[] = {Plane::happened, Plane::visible, Plane::async},
                         tensor[] = {Plane::happened, Plane::tensor}, plain[] = {Plane::happened, Plane::visible};
  switch (tells) {
    case Tells::all: break;
    case Tells::end: return end;
    case Tells::memory: return memory;
    case Tells::tensor: return tensor;
    case Tells::plain: return plain;
  }
  return all_planes;
}

}  // namespace

Stamp Order::take_slot(const Knowledge& relies, Tells tells, uint32_t warp) {
  // Only a slot whose last user the issuer knows to be over: else the two could not be told apart. And only one whose
  // users tell no more than the issuer knows of them: who learns of the new one then learns nothing of theirs that the
  // issuer could not have told. The oldest are the likeliest; beyond a few a new slot is cheaper.
  std::vector<uint32_t>& free = free_[static_cast<size_t>(tells)][std::min(warp, warps())];
  const size_t tries = std::min<size_t>(free.size(), 16);
  for (size_t i = 0; i < tries; ++i) {
    const uint32_t slot = free[i];
    bool known = true;
    for (const Plane plane : planes_of(tells))
      known = known && relies.covers(plane, {slot, last_tick_[slot], whole_slot});
    if (!known) continue;
    free.erase(free.begin() + static_cast<std::ptrdiff_t>(i));
    return {slot, ++last_tick_[slot], whole_slot};
  }
  last_tick_.push_back(1);
  uses_.push_back({tells, warp});
  return {static_cast<uint32_t>(last_tick_.size() - 1), 1, whole_slot};
}

Knowledge Order::issue(Agent issuer) {
  Lane& lane = own_state(issuer);
  Knowledge relies = *lane.knows;
  add_own(relies, issuer, speaks_for_warp(issuer) ? Speaks::for_warp : Speaks::for_lane);
  // Of tensor memory it may rely on what was fenced. What others told about it and was not, it may not use.
  relies.forget(Plane::tensor);
  if (lane.usable != nullptr) relies.join(Plane::tensor, *lane.usable, Plane::tensor);
  advance(lane);
  return relies;
}

WarpIssue Order::issue_met(uint32_t index) const {
  const Warp& warp = warps_[index];
  const Lane& lane = warp.lane(0);
  return {lane.knows, lane.usable, index, warp.met, warp.met_async, warp.voices};
}

Knowledge Order::issue_together(std::span<const std::shared_ptr<const WarpIssue>> warps) {
  const auto relies_of = [](const WarpIssue& warp, bool itself) {
    Knowledge relies = *warp.knows;
    relies.forget(Plane::tensor);
    if (warp.usable != nullptr) relies.join(Plane::tensor, *warp.usable, Plane::tensor);
    if (!itself) return relies;
    for (const Plane plane : {Plane::happened, Plane::visible}) relies.raise(plane, warp.warp, warp.met);
    if (warp.met_async != 0) relies.raise(Plane::async, warp.warp, warp.met_async);
    add_voices(relies, warp.voices.all());
    return relies;
  };
  const WarpIssue& first = *warps[0];
  // What a warp knows of itself beyond what others know of it is not what all know.
  if (warps.size() > 1 && std::ranges::all_of(warps, [&](const auto& warp) {
        return warp->knows == first.knows && warp->usable == first.usable;
      }))
    return relies_of(first, false);
  Knowledge relies = relies_of(first, true);
  for (const auto& warp : warps.subspan(1)) relies.meet(relies_of(*warp, true));
  return relies;
}

Work Order::begin_at(Stamp stamp, Knowledge relies) {
  Work work;
  work.stamp = stamp;
  work.relies = std::move(relies);
  work.tells = uses_[stamp.slot].tells;
  return work;
}

Work Order::begin(Knowledge relies, Tells tells, uint32_t warp) {
  const Stamp stamp = take_slot(relies, tells, warp);
  return begin_at(stamp, std::move(relies));
}

Work Order::begin_behind(Knowledge relies, const Work& earlier) {
  add_completion(relies, earlier);
  return begin_at({earlier.stamp.slot, ++last_tick_[earlier.stamp.slot], whole_slot}, std::move(relies));
}

Work Order::begin_over(Agent issuer, const Stamp& earlier, Tells tells) {
  Knowledge relies = issue(issuer);
  // Nobody will ask for the writes of `earlier` again, so that nobody can mistake the knowledge of this one for theirs.
  if (last_tick_[earlier.slot] != earlier.tick || uses_[earlier.slot].tells != tells ||
      !relies.covers(Plane::happened, earlier))
    return begin(std::move(relies), tells, issuer.warp);
  return begin_at({earlier.slot, ++last_tick_[earlier.slot], whole_slot}, std::move(relies));
}

void Order::writes_to(const Work& work, MemoryId memory) {
  is_plain_.resize(slots());
  if (is_plain_[work.stamp.slot]) return;
  is_plain_[work.stamp.slot] = true;
  plain_.push_back({work.stamp.slot, memory});
}

void Order::include(Work& work, const Work& earlier) {
  work.relies.join(Plane::happened, completion(earlier), Plane::happened);
  if (work.covered == nullptr) work.covered = make_knowledge();
  for (const Plane plane : planes_of(earlier.tells)) work.covered->raise(plane, earlier.stamp);
  if (earlier.covered != nullptr) work.covered->join(*earlier.covered);
}

void Order::retire(const Work& work) {
  const uint32_t slot = work.stamp.slot;
  if (last_tick_[slot] != work.stamp.tick) return;
  const SlotUse& use = uses_[slot];
  free_[static_cast<size_t>(use.tells)][std::min(use.warp, warps())].push_back(slot);
}

void Order::add_completion(Knowledge& knowledge, const Work& work) {
  knowledge.join(Plane::happened, work.relies, Plane::happened);
  for (const Plane plane : planes_of(work.tells)) knowledge.raise(plane, work.stamp);
  if (work.covered != nullptr) knowledge.join(*work.covered);
}

Knowledge Order::completion(const Work& work) {
  Knowledge knowledge;
  add_completion(knowledge, work);
  return knowledge;
}

void Order::learn(Agent agent, const Work& work) { learn(agent, make_knowledge(completion(work))); }

void Order::learn_tensor(Lane& lane, const Knowledge& told) {
  auto usable = lane.usable == nullptr ? make_knowledge() : make_knowledge(*lane.usable);
  usable->join(Plane::tensor, told, Plane::tensor);
  lane.usable = std::move(usable);
  // To others it says so with a fence.
  Knowledge rest;
  rest.join(Plane::happened, told, Plane::happened);
  learn(lane, make_knowledge(std::move(rest)));
}

void Order::learn_tensor(Agent agent, const Work& work) { learn_tensor(own_state(agent), completion(work)); }

void Order::learn_tensor_all(uint32_t warp, const Work& work) {
  const Knowledge told = completion(work);
  KnowledgeRef knows, usable, knows_after, usable_after;
  warps_[warp].for_each([&](Lane& lane, uint32_t) {
    if (knows != nullptr && lane.knows == knows && lane.usable == usable) {
      lane.knows = knows_after;
      lane.usable = usable_after;
      return;
    }
    knows = lane.knows;
    usable = lane.usable;
    learn_tensor(lane, told);
    knows_after = lane.knows;
    usable_after = lane.usable;
  });
}

// ---- barriers

Order::BarrierId Order::make_barrier(bool for_each_lane, bool by_parity) {
  barriers_.emplace_back();
  barriers_.back().for_each_lane = for_each_lane;
  barriers_.back().by_parity = by_parity;
  return static_cast<BarrierId>(barriers_.size() - 1);
}

void Order::note_signaller(Barrier& barrier, std::pair<uint32_t, uint8_t> who) {
  if (barrier.signalled && barrier.sole != who) {
    barrier.several = true;
    if (barrier.sole.first == who.first) barrier.for_each_lane = true;
  }
  barrier.sole = who;
  barrier.signalled = true;
}

/// All of it to who waits with scope cluster; to others what they need no acquire for.
void Order::add_remote(Barrier& barrier, const Knowledge& told) {
  if (barrier.remote == nullptr) barrier.remote = make_knowledge();
  barrier.remote->join(told);
  for (const Plane plane : {Plane::happened, Plane::async, Plane::tensor}) barrier.current.join(plane, told, plane);
}

Voice* Order::voice_of(Agent agent, const Barrier& barrier) {
  Warp& warp = warps_[agent.warp];
  const Lane& lane = warp.lane(agent.lane);
  if (barrier.for_each_lane || lane.used || lane.tick != warp.met + 1) return nullptr;
  if ((lane.unfenced ? lane.fenced : warp.met) > warp.met_async) return nullptr;  // it knows more of itself
  for (Voice& voice : warp.voices.all())
    if (voice.lane == agent.lane) return &voice;
  if (warp.voices.count == Voices::most) return nullptr;
  last_tick_.push_back(0);
  uses_.emplace_back();
  Voice& voice = warp.voices.of[warp.voices.count++];
  voice = {.slot = slots() - 1, .lane = agent.lane};
  return &voice;
}

Stamp Order::signal(Agent agent, BarrierId id, const void* at, SignalAs as, Publishes publishes) {
  Barrier& barrier = barriers_[id];
  const bool arrives = as == SignalAs::arrival || as == SignalAs::not_last;
  note_signaller(barrier, {agent.warp, agent.lane});
  // One that must not be the last is a moment that the thread's next signals tell of.
  Voice* const voice = as == SignalAs::arrival ? voice_of(agent, barrier) : nullptr;
  const Lane& lane = voice != nullptr ? state_of(agent) : own_state(agent);
  const Knowledge::Own mine = own(agent);
  if (barrier.completed != nullptr && violated && barrier.behind_completed != lane.knows) {
    if (lane.knows->covers(Plane::happened, *barrier.completed))
      barrier.behind_completed = lane.knows;
    else if (!lane.knows->covers(Plane::happened, *barrier.completed, mine))
      violated({PhaseRule::arrival_early, id, barrier.phases, now(agent), at});
  }
  if (arrives && !barrier.expects.empty())
    std::erase_if(barrier.expects,
                  [&](const ExpectRecord& expect) { return covers(agent, Plane::happened, expect.stamp); });
  switch (as) {
    case SignalAs::expectation: barrier.expects.push_back({now(agent), at, PhaseRule::expect_late}); break;
    case SignalAs::increment: barrier.expects.push_back({now(agent), at, PhaseRule::increment_late}); break;
    case SignalAs::not_last: barrier.expects.push_back({now(agent), at, PhaseRule::may_be_last}); break;
    default: break;
  }
  Stamp stamp = now(agent);
  if (voice != nullptr) {
    ++warps_[agent.warp].arrivals;
    stamp = {voice->slot, last_tick_[voice->slot] = ++voice->said, whole_slot};
  }
  const Speaks speaks = voice != nullptr                                   ? Speaks::bare
                        : !barrier.for_each_lane && speaks_for_warp(agent) ? Speaks::for_warp
                                                                           : Speaks::for_lane;
  if (publishes == Publishes::to_cluster) {
    Knowledge told = *lane.knows;
    add_own(told, agent, speaks);
    add_remote(barrier, told);
  } else {
    if (publishes == Publishes::nothing) {
      if (barrier.last_hinted != lane.knows && barrier.last_told != lane.knows) {
        barrier.current.join(Plane::happened, *lane.knows, Plane::happened);
        barrier.current.join(Plane::tensor, *lane.knows, Plane::tensor);
        barrier.last_hinted = lane.knows;
      }
    } else if (barrier.last_told != lane.knows) {
      barrier.current.join(*lane.knows);
      barrier.last_told = lane.knows;
    }
    add_own(barrier.current, agent, speaks, publishes == Publishes::all);
  }
  if (voice == nullptr) advance(own_state(agent));
  return stamp;
}

Stamp Order::arrive(Agent agent, BarrierId id, const void* at) {
  return signal(agent, id, at, SignalAs::arrival, Publishes::all);
}

Stamp Order::arrive_relaxed(Agent agent, BarrierId id, const void* at) {
  return signal(agent, id, at, SignalAs::arrival, Publishes::nothing);
}

Stamp Order::arrive_remote(Agent agent, BarrierId id, const void* at) {
  return signal(agent, id, at, SignalAs::arrival, Publishes::to_cluster);
}

Stamp Order::arrive_not_last(Agent agent, BarrierId id, const void* at) {
  return signal(agent, id, at, SignalAs::not_last, Publishes::all);
}

Stamp Order::expect(Agent agent, BarrierId id, const void* at) {
  return signal(agent, id, at, SignalAs::expectation, Publishes::nothing);
}

Stamp Order::increment(Agent agent, BarrierId id, const void* at) {
  return signal(agent, id, at, SignalAs::increment, Publishes::nothing);
}

Stamp Order::complete_tx(Agent agent, BarrierId id, const void* at) {
  return signal(agent, id, at, SignalAs::landed, Publishes::nothing);
}

template <class Covers>
void Order::count_bytes(BarrierId id, const Stamp& stamp, int64_t bytes, const void* at, const Covers& covers) {
  constexpr int64_t limit = (1 << 20) - 1;
  if (bytes == 0) return;
  Barrier& barrier = barriers_[id];
  const auto check = [&](const ByteRecord& record) {
    if (violated && (record.most > limit || record.least < -limit))
      violated({PhaseRule::byte_range, id, barrier.phases, record.stamp, record.at});
  };
  ByteRecord mine{stamp, bytes, bytes, bytes, at};
  for (ByteRecord& earlier : barrier.bytes) {
    if (covers(earlier.stamp)) {
      mine.most += earlier.bytes;
      mine.least += earlier.bytes;
      continue;
    }
    (earlier.bytes > 0 ? mine.most : mine.least) += earlier.bytes;
    (bytes > 0 ? earlier.most : earlier.least) += bytes;
    check(earlier);
  }
  check(mine);
  barrier.bytes.push_back(mine);
}

void Order::count_bytes(Agent agent, BarrierId id, int64_t bytes, const void* at) {
  count_bytes(id, note(agent), bytes, at,
              [&](const Stamp& earlier) { return covers(agent, Plane::happened, earlier); });
}

void Order::count_bytes(const Work& work, BarrierId id, int64_t bytes, const void* at) {
  count_bytes(id, work.stamp, bytes, at,
              [&](const Stamp& earlier) { return work.relies.covers(Plane::happened, earlier); });
}

void Order::complete(const Work& work, BarrierId id, Ends ends, const void* at, bool remote) {
  Barrier& barrier = barriers_[id];
  const Knowledge knowledge = completion(work);
  barrier.several = true;
  if (barrier.completed != nullptr && !knowledge.covers(Plane::happened, *barrier.completed) && violated)
    violated({PhaseRule::arrival_early, id, barrier.phases, work.stamp, at});
  if (ends == Ends::arrival && !barrier.expects.empty())
    std::erase_if(barrier.expects,
                  [&](const ExpectRecord& expect) { return knowledge.covers(Plane::happened, expect.stamp); });
  if (remote)
    add_remote(barrier, knowledge);
  else
    barrier.current.join(knowledge);
}

void Order::leave(Agent agent, BarrierId id, bool arrived) {
  Barrier& barrier = barriers_[id];
  Knowledge& phase = arrived ? barrier.next : barrier.current;
  const KnowledgeRef& knows = state_of(agent).knows;
  if (barrier.last_left != knows || barrier.last_left_next != arrived)
    phase.join(Plane::happened, *knows, Plane::happened);
  barrier.last_left = knows;
  barrier.last_left_next = arrived;
  add_own(phase, agent, Speaks::for_lane, false);
}

void Order::behind_exits(BarrierId id, BarrierId others) {
  barriers_[id].current.join(Plane::happened, barriers_[others].current, Plane::happened);
}

void Order::phase_completed(BarrierId id) {
  Barrier& barrier = barriers_[id];
  if (violated) {
    // What one thread does alone comes in the order in which it does it.
    for (const ExpectRecord& expect : barrier.expects)
      if (barrier.several) violated({expect.rule, id, barrier.phases, expect.stamp, expect.at});
    // Those who wait for the phase before must have passed before this one could complete.
    for (const WaitRecord& wait : barrier.waits) {
      if (wait.lanes == all_lanes && barrier.current.covers(Plane::happened, {wait.warp, wait.tick, whole_slot}))
        continue;
      for (uint32_t lane = 0; lane < lane_count; ++lane) {
        const Stamp stamp{wait.warp, wait.tick, static_cast<uint8_t>(lane)};
        if ((wait.lanes >> lane & 1) == 0 || barrier.current.covers(Plane::happened, stamp)) continue;
        violated({PhaseRule::wait_late, id, barrier.phases - 1, stamp, wait.at});
        break;
      }
    }
  }
  barrier.expects.clear();
  barrier.bytes.clear();
  barrier.waits.clear();
  barrier.signalled = barrier.several = false;
  barrier.before = std::move(barrier.completed);
  barrier.completed = make_knowledge(std::move(barrier.current));
  barrier.current = std::exchange(barrier.next, Knowledge());
  barrier.completed_remote = std::move(barrier.remote);
  barrier.remote = nullptr;
  barrier.last_told = barrier.last_hinted = barrier.last_left = nullptr;
  barrier.behind_completed = barrier.behind_before = nullptr;
  ++barrier.phases;
}

bool Order::knows_of_last_phase(Agent agent, BarrierId id) const {
  const Barrier& barrier = barriers_[id];
  return barrier.completed == nullptr || state_of(agent).knows->covers(Plane::happened, *barrier.completed, own(agent));
}

uint64_t Order::least_phases(Agent agent, BarrierId id) const {
  const Barrier& barrier = barriers_[id];
  const auto knows = [&](const KnowledgeRef& end) {
    return end == nullptr || state_of(agent).knows->covers(Plane::happened, *end, own(agent));
  };
  return barrier.phases - (knows(barrier.completed) ? 0 : knows(barrier.before) ? 1 : 2);
}

void Order::asked(Agent agent, BarrierId id, const void* at) {
  const Stamp stamp = mark(agent);
  for (auto& [known, place] : barriers_[id].questions) {
    if (known.slot != stamp.slot || known.lane != stamp.lane) continue;
    known = stamp;
    place = at;
    return;
  }
  barriers_[id].questions.emplace_back(stamp, at);
}

bool Order::over(Agent agent, BarrierId id, std::optional<std::pair<Stamp, const void*>>& left) const {
  const Barrier& barrier = barriers_[id];
  for (const WaitRecord& wait : barrier.waits)
    for (uint32_t rest = wait.lanes; rest != 0; rest &= rest - 1) {
      const Stamp stamp{wait.warp, wait.tick, static_cast<uint8_t>(std::countr_zero(rest))};
      if (covers(agent, Plane::happened, stamp)) continue;
      left = {stamp, wait.at};
      return false;
    }
  for (const auto& [stamp, at] : barrier.questions) {
    if (covers(agent, Plane::happened, stamp)) continue;
    left = {stamp, at};
    return false;
  }
  return knows_of_last_phase(agent, id) && state_of(agent).knows->covers(Plane::happened, barrier.current, own(agent));
}

void Order::polled(Agent agent, BarrierId id, uint64_t phases, const void* at) {
  const Barrier& barrier = barriers_[id];
  if (phases < 2 || !violated || barrier.phases > phases) return;
  // Unless it is behind the phase before, its parity means another one.
  const KnowledgeRef& before = barrier.phases == phases ? barrier.before : barrier.completed;
  const bool behind = barrier.phases + 1 >= phases && before != nullptr &&
                      state_of(agent).knows->covers(Plane::happened, *before, own(agent));
  if (!behind) violated({PhaseRule::wait_early, id, phases - 1, now(agent), at});
}

void Order::passed_as(uint32_t index, Lane& lane, uint32_t lanes, BarrierId id, uint64_t phases, const void* at,
                      bool cluster_scope) {
  Barrier& barrier = barriers_[id];
  const Warp& warp = warps_[index];
  const std::span<const Voice> voices = warp.voices.all();
  if (phases != 0 && barrier.completed != nullptr) {
    if (barrier.before != nullptr && violated && barrier.behind_before != lane.knows) {
      if (lane.knows->covers(Plane::happened, *barrier.before)) {
        barrier.behind_before = lane.knows;
      } else if (!lane.knows->covers(Plane::happened, *barrier.before, {index, warp.met, 0, 0, voices})) {
        for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
          const auto one = static_cast<uint8_t>(std::countr_zero(rest));
          if (lane.knows->covers(Plane::happened, *barrier.before, {index, warp.met, one, lane.tick, voices})) continue;
          violated({PhaseRule::wait_early, id, phases - 1, {index, lane.tick, one}, at});
          break;
        }
      }
    }
    learn(lane, barrier.completed);
    if (cluster_scope) learn(lane, barrier.completed_remote);
  }
  // The wait is a moment of its own, before whatever the thread does next. One that has nothing to wait for is too:
  // when the first phase is complete, its parity says "not yet".
  const auto same = [&](const WaitRecord& wait) {
    return wait.warp == index && wait.tick == lane.tick && wait.at == at;
  };
  if (barrier.by_parity) {
    const auto known = std::find_if(barrier.waits.rbegin(), barrier.waits.rend(), same);
    if (known == barrier.waits.rend())
      barrier.waits.push_back({index, lane.tick, lanes, at});
    else
      known->lanes |= lanes;
  }
  advance(lane);
}

void Order::passed(Agent agent, BarrierId id, uint64_t phases, const void* at, bool cluster_scope) {
  passed_as(agent.warp, own_state(agent), 1u << agent.lane, id, phases, at, cluster_scope);
}

void Order::passed_all(uint32_t index, BarrierId id, uint64_t phases, const void* at, bool cluster_scope) {
  warps_[index].for_each(
      [&](Lane& lane, uint32_t lanes) { passed_as(index, lane, lanes, id, phases, at, cluster_scope); });
}

}  // namespace warploom::loom::check
