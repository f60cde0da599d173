#include "loom/check/order.hpp"

#include <algorithm>
#include <bit>

namespace warploom::loom::check {

Order::Order(uint32_t warps)
    : warps_(warps), last_tick_(warps, 0), tells_(warps, Tells::all), nothing_(std::make_shared<const Knowledge>()) {
  for (Warp& warp : warps_)
    for (Lane& lane : warp.lanes) lane.knows = nothing_;
}

// ---- threads

Stamp Order::now(Agent agent) const { return {agent.warp, warps_[agent.warp].lanes[agent.lane].tick, agent.lane}; }

Stamp Order::mark(Agent agent) {
  const Stamp stamp = now(agent);
  advance(warps_[agent.warp].lanes[agent.lane]);
  return stamp;
}

bool Order::covers(Agent agent, Plane plane, const Stamp& stamp) const {
  const Warp& warp = warps_[agent.warp];
  const Lane& lane = warp.lanes[agent.lane];
  if (plane == Plane::tensor) return lane.usable != nullptr && lane.usable->covers(plane, stamp);
  if (stamp.slot == agent.warp) {
    if (plane == Plane::async) {
      if (stamp.tick <= warp.met_async) return true;
      if (stamp.lane == agent.lane && stamp.tick <= async_cover(lane)) return true;
    } else if (stamp.tick <= warp.met || stamp.lane == agent.lane) {
      return true;
    }
  }
  return lane.knows->covers(plane, stamp);
}

void Order::accessed_shared(Agent agent) {
  Lane& lane = warps_[agent.warp].lanes[agent.lane];
  lane.unfenced = lane.used = true;
}

void Order::fence_proxy_async(Agent agent) {
  Lane& lane = warps_[agent.warp].lanes[agent.lane];
  lane.fenced = lane.tick++;
  lane.unfenced = lane.used = false;
}

void Order::tensor_fence_before(Agent agent) {
  Lane& lane = warps_[agent.warp].lanes[agent.lane];
  if (lane.usable == nullptr || lane.knows->covers(Plane::tensor, *lane.usable)) return;
  auto more = std::make_shared<Knowledge>(*lane.knows);
  more->join(Plane::tensor, *lane.usable, Plane::tensor);
  lane.knows = std::move(more);
}

void Order::tensor_fence_after(Agent agent) {
  Lane& lane = warps_[agent.warp].lanes[agent.lane];
  if (lane.usable != nullptr && lane.usable->covers(Plane::tensor, *lane.knows)) return;
  auto more = lane.usable == nullptr ? std::make_shared<Knowledge>() : std::make_shared<Knowledge>(*lane.usable);
  more->join(Plane::tensor, *lane.knows, Plane::tensor);
  lane.usable = std::move(more);
}

void Order::synchronise(uint32_t index, uint32_t mask) {
  Warp& warp = warps_[index];
  if (std::popcount(mask) < 2) return;
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  uint32_t latest = 0, least_async = ~0u, most_async = 0;
  bool same = true, same_usable = true;
  for (uint32_t lane = first; lane < lane_count; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const Lane& l = warp.lanes[lane];
    latest = std::max(latest, l.tick);
    same = same && l.knows == warp.lanes[first].knows;
    same_usable = same_usable && l.usable == warp.lanes[first].usable;
  }
  const bool whole = mask == all_lanes;
  // They met before, and none of them has done anything since.
  if (whole && same && same_usable && warp.met + 1 == latest) {
    bool idle = true;
    for (const Lane& l : warp.lanes) idle = idle && l.tick == latest && !l.used;
    if (idle) return;
  }
  for (uint32_t lane = first; lane < lane_count; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    // Who has made no access since its fence has none between that and the meeting.
    const Lane& l = warp.lanes[lane];
    const uint32_t cover = l.unfenced ? l.fenced : latest;
    least_async = std::min(least_async, cover);
    most_async = std::max(most_async, cover);
  }
  std::shared_ptr<Knowledge> joined;
  if (!same || !whole || least_async != most_async) {
    joined = std::make_shared<Knowledge>(*warp.lanes[first].knows);
    for (uint32_t lane = first; lane < lane_count; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      const Lane& l = warp.lanes[lane];
      if (l.knows != warp.lanes[first].knows) joined->join(*l.knows);
      if (!whole) {
        joined->raise(Plane::happened, index, static_cast<uint8_t>(lane), l.tick);
        joined->raise(Plane::visible, index, static_cast<uint8_t>(lane), l.tick);
      }
      if (!whole || least_async != most_async)
        joined->raise(Plane::async, index, static_cast<uint8_t>(lane), l.unfenced ? l.fenced : latest);
    }
  }
  KnowledgeRef usable;
  if (!same_usable) {
    auto all = std::make_shared<Knowledge>();
    for (uint32_t lane = first; lane < lane_count; ++lane)
      if ((mask >> lane & 1) != 0 && warp.lanes[lane].usable != nullptr) all->join(*warp.lanes[lane].usable);
    usable = std::move(all);
  }
  const KnowledgeRef shared = std::move(joined);
  for (uint32_t lane = first; lane < lane_count; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    Lane& l = warp.lanes[lane];
    if (shared != nullptr) l.knows = shared;
    if (!same_usable) l.usable = usable;
    if (!l.unfenced) l.fenced = latest;
    l.tick = latest + 1;
    l.used = false;
  }
  if (whole) {
    warp.met = latest;
    warp.met_async = std::max(warp.met_async, least_async);
  }
}

void Order::add_own(Knowledge& knowledge, Agent agent) const {
  const Warp& warp = warps_[agent.warp];
  const Lane& lane = warp.lanes[agent.lane];
  for (const Plane plane : {Plane::happened, Plane::visible}) {
    if (warp.met != 0) knowledge.raise(plane, agent.warp, warp.met);
    knowledge.raise(plane, agent.warp, agent.lane, lane.tick);
  }
  if (warp.met_async != 0) knowledge.raise(Plane::async, agent.warp, warp.met_async);
  if (async_cover(lane) != 0) knowledge.raise(Plane::async, agent.warp, agent.lane, async_cover(lane));
}

Knowledge::Own Order::own(Agent agent) const {
  const Warp& warp = warps_[agent.warp];
  return {agent.warp, warp.met, agent.lane, warp.lanes[agent.lane].tick};
}

void Order::advance(Lane& lane) {
  if (!lane.unfenced) lane.fenced = lane.tick;
  ++lane.tick;
  lane.used = false;
}

void Order::learn(Agent agent, const KnowledgeRef& news) {
  Lane& lane = warps_[agent.warp].lanes[agent.lane];
  if (news == nullptr || news == lane.knows) return;
  if (lane.knows == nothing_) {
    lane.knows = news;
    return;
  }
  auto more = std::make_shared<Knowledge>(*lane.knows);
  more->join(*news);
  lane.knows = std::move(more);
}

void Order::exchange(Agent agent, KnowledgeRef& word) {
  learn(agent, word);
  Lane& lane = warps_[agent.warp].lanes[agent.lane];
  auto told = std::make_shared<Knowledge>(*lane.knows);
  add_own(*told, agent);
  word = std::move(told);
  advance(lane);
}

void Order::learn_all(uint32_t warp, const KnowledgeRef& news) {
  KnowledgeRef before, after;
  for (uint8_t lane = 0; lane < lane_count; ++lane) {
    KnowledgeRef& knows = warps_[warp].lanes[lane].knows;
    if (before != nullptr && knows == before) {
      knows = after;
      continue;
    }
    before = knows;
    learn({warp, lane}, news);
    after = knows;
  }
}

// ---- asynchronous work

namespace {

std::span<const Plane> planes_of(Tells tells) {
  static constexpr Plane end[] = {Plane::happened}, memory[] = {Plane::happened, Plane::visible, Plane::async},
                         tensor[] = {Plane::happened, Plane::tensor};
  switch (tells) {
    case Tells::all: break;
    case Tells::end: return end;
    case Tells::memory: return memory;
    case Tells::tensor: return tensor;
  }
  return all_planes;
}

}  // namespace

Stamp Order::take_slot(const Knowledge& relies, Tells tells) {
  // Only a slot whose last user the issuer knows to be over: else the two could not be told apart. And only one whose
  // users tell no more than the issuer knows of them: who learns of the new one then learns nothing of theirs that the
  // issuer could not have told. The oldest are the likeliest; beyond a few a new slot is cheaper.
  std::vector<uint32_t>& free = free_[static_cast<size_t>(tells)];
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
  tells_.push_back(tells);
  return {static_cast<uint32_t>(last_tick_.size() - 1), 1, whole_slot};
}

Knowledge Order::issue(Agent issuer) {
  Lane& lane = warps_[issuer.warp].lanes[issuer.lane];
  Knowledge relies = *lane.knows;
  add_own(relies, issuer);
  // Of tensor memory it may rely on what was fenced. What others told about it and was not, it may not use.
  relies.forget(Plane::tensor);
  if (lane.usable != nullptr) relies.join(Plane::tensor, *lane.usable, Plane::tensor);
  advance(lane);
  return relies;
}

Knowledge Order::issue_met(uint32_t index) const {
  const Warp& warp = warps_[index];
  const Lane& lane = warp.lanes[0];
  Knowledge relies = *lane.knows;
  relies.forget(Plane::tensor);
  if (lane.usable != nullptr) relies.join(Plane::tensor, *lane.usable, Plane::tensor);
  for (const Plane plane : {Plane::happened, Plane::visible}) relies.raise(plane, index, warp.met);
  if (warp.met_async != 0) relies.raise(Plane::async, index, warp.met_async);
  return relies;
}

Work Order::begin_at(Stamp stamp, Knowledge relies) {
  Work work;
  work.stamp = stamp;
  work.relies = std::move(relies);
  for (const Plane plane : planes_of(tells_[stamp.slot])) work.tells.raise(plane, stamp);
  return work;
}

Work Order::begin(Knowledge relies, Tells tells) {
  const Stamp stamp = take_slot(relies, tells);
  return begin_at(stamp, std::move(relies));
}

Work Order::begin_behind(Knowledge relies, const Work& earlier) {
  relies.join(completion(earlier));
  return begin_at({earlier.stamp.slot, ++last_tick_[earlier.stamp.slot], whole_slot}, std::move(relies));
}

Work Order::begin_over(Agent issuer, const Stamp& earlier) {
  Knowledge relies = issue(issuer);
  // Nobody will ask for the writes of `earlier` again, so that nobody can mistake the knowledge of this one for theirs.
  if (last_tick_[earlier.slot] != earlier.tick || !relies.covers(Plane::happened, earlier))
    return begin(std::move(relies), Tells::memory);
  return begin_at({earlier.slot, ++last_tick_[earlier.slot], whole_slot}, std::move(relies));
}

void Order::include(Work& work, const Work& earlier) {
  work.relies.join(Plane::happened, completion(earlier), Plane::happened);
  work.tells.join(earlier.tells);
}

void Order::retire(const Work& work) {
  const uint32_t slot = work.stamp.slot;
  if (last_tick_[slot] == work.stamp.tick) free_[static_cast<size_t>(tells_[slot])].push_back(slot);
}

Knowledge Order::completion(const Work& work) {
  Knowledge knowledge = work.tells;
  knowledge.join(Plane::happened, work.relies, Plane::happened);
  return knowledge;
}

void Order::learn(Agent agent, const Work& work) { learn(agent, std::make_shared<const Knowledge>(completion(work))); }

void Order::learn_tensor(Agent agent, const Work& work) {
  Knowledge told = completion(work);
  Lane& lane = warps_[agent.warp].lanes[agent.lane];
  auto usable = lane.usable == nullptr ? std::make_shared<Knowledge>() : std::make_shared<Knowledge>(*lane.usable);
  usable->join(Plane::tensor, told, Plane::tensor);
  lane.usable = std::move(usable);
  // To others it says so with a fence.
  Knowledge rest;
  rest.join(Plane::happened, told, Plane::happened);
  learn(agent, std::make_shared<const Knowledge>(std::move(rest)));
}

void Order::learn_tensor_all(uint32_t warp, const Work& work) {
  Lane& first = warps_[warp].lanes[0];
  const KnowledgeRef knows = first.knows, usable = first.usable;
  learn_tensor({warp, 0}, work);
  for (uint8_t i = 1; i < lane_count; ++i) {
    Lane& lane = warps_[warp].lanes[i];
    if (lane.knows == knows && lane.usable == usable) {
      lane.knows = first.knows;
      lane.usable = first.usable;
    } else {
      learn_tensor({warp, i}, work);
    }
  }
}

// ---- barriers

Order::BarrierId Order::make_barrier() {
  barriers_.emplace_back();
  return static_cast<BarrierId>(barriers_.size() - 1);
}

void Order::note_signaller(Barrier& barrier, std::pair<uint32_t, uint8_t> who) {
  if (barrier.signalled && barrier.sole != who) barrier.several = true;
  barrier.sole = who;
  barrier.signalled = true;
}

void Order::signal(Agent agent, BarrierId id, const void* at, bool arrives, bool publishes) {
  Barrier& barrier = barriers_[id];
  note_signaller(barrier, {agent.warp, agent.lane});
  Lane& lane = warps_[agent.warp].lanes[agent.lane];
  const Knowledge::Own mine = own(agent);
  if (barrier.completed != nullptr && !lane.knows->covers(Plane::happened, *barrier.completed, mine) && violated)
    violated({PhaseRule::arrival_early, id, barrier.phases, now(agent), at});
  if (arrives) {
    std::erase_if(barrier.expects,
                  [&](const ExpectRecord& expect) { return covers(agent, Plane::happened, expect.stamp); });
  } else {
    barrier.expects.push_back({now(agent), at});
  }
  if (publishes) {
    if (barrier.last_told != lane.knows) barrier.current.join(*lane.knows);
    barrier.last_told = lane.knows;
    add_own(barrier.current, agent);
  } else {
    barrier.current.join(Plane::happened, *lane.knows, Plane::happened);
    barrier.current.join(Plane::tensor, *lane.knows, Plane::tensor);
    if (mine.met != 0) barrier.current.raise(Plane::happened, agent.warp, mine.met);
    barrier.current.raise(Plane::happened, agent.warp, agent.lane, mine.tick);
  }
  advance(lane);
}

void Order::arrive(Agent agent, BarrierId id, const void* at) { signal(agent, id, at, true, true); }

void Order::arrive_relaxed(Agent agent, BarrierId id, const void* at) { signal(agent, id, at, true, false); }

void Order::expect(Agent agent, BarrierId id, const void* at) { signal(agent, id, at, false, false); }

void Order::complete_tx(Agent agent, BarrierId id, const void* at) {
  // Like an expectation, but nothing waits for it.
  signal(agent, id, at, false, false);
  barriers_[id].expects.pop_back();
}

void Order::complete(const Work& work, BarrierId id, bool counts_as_arrival, const void* at) {
  Barrier& barrier = barriers_[id];
  const Knowledge knowledge = completion(work);
  barrier.several = true;
  if (barrier.completed != nullptr && !knowledge.covers(Plane::happened, *barrier.completed) && violated)
    violated({PhaseRule::arrival_early, id, barrier.phases, work.stamp, at});
  if (counts_as_arrival)
    std::erase_if(barrier.expects,
                  [&](const ExpectRecord& expect) { return knowledge.covers(Plane::happened, expect.stamp); });
  barrier.current.join(knowledge);
}

void Order::phase_completed(BarrierId id) {
  Barrier& barrier = barriers_[id];
  if (violated) {
    // What one thread does alone comes in the order in which it does it.
    for (const ExpectRecord& expect : barrier.expects)
      if (barrier.several) violated({PhaseRule::expect_late, id, barrier.phases, expect.stamp, expect.at});
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
  barrier.waits.clear();
  barrier.signalled = barrier.several = false;
  barrier.before = std::move(barrier.completed);
  barrier.completed = std::make_shared<const Knowledge>(std::move(barrier.current));
  barrier.current = Knowledge();
  barrier.last_told = barrier.last_in = barrier.last_out = nullptr;
  ++barrier.phases;
}

bool Order::knows_of_last_phase(Agent agent, BarrierId id) const {
  const Barrier& barrier = barriers_[id];
  return barrier.completed == nullptr ||
         warps_[agent.warp].lanes[agent.lane].knows->covers(Plane::happened, *barrier.completed, own(agent));
}

void Order::polled(Agent agent, BarrierId id, uint64_t phases, const void* at) {
  const Barrier& barrier = barriers_[id];
  if (phases < 2 || !violated || barrier.phases > phases) return;
  // Unless it is behind the phase before, its parity means another one.
  const KnowledgeRef& before = barrier.phases == phases ? barrier.before : barrier.completed;
  const bool behind = barrier.phases + 1 >= phases && before != nullptr &&
                      warps_[agent.warp].lanes[agent.lane].knows->covers(Plane::happened, *before, own(agent));
  if (!behind) violated({PhaseRule::wait_early, id, phases - 1, now(agent), at});
}

void Order::passed(Agent agent, BarrierId id, uint64_t phases, const void* at) {
  Barrier& barrier = barriers_[id];
  Lane& lane = warps_[agent.warp].lanes[agent.lane];
  if (phases != 0 && barrier.completed != nullptr) {
    // The lanes of a warp know the same most of the time: what one of them has behind it without its own doing, all
    // have.
    const bool same = barrier.last_in != nullptr && barrier.last_in == lane.knows && barrier.last_warp == agent.warp;
    if (barrier.before != nullptr && violated && !(same && barrier.last_covered)) {
      const Warp& warp = warps_[agent.warp];
      barrier.last_covered = lane.knows->covers(Plane::happened, *barrier.before, {agent.warp, warp.met, 0, 0});
      if (!barrier.last_covered && !lane.knows->covers(Plane::happened, *barrier.before, own(agent)))
        violated({PhaseRule::wait_early, id, phases - 1, now(agent), at});
    }
    barrier.last_warp = agent.warp;
    if (barrier.last_in != nullptr && barrier.last_in == lane.knows) {
      lane.knows = barrier.last_out;
    } else {
      barrier.last_in = lane.knows;
      learn(agent, barrier.completed);
      barrier.last_out = lane.knows;
    }
  }
  // The wait is a moment of its own, before whatever the thread does next. One that has nothing to wait for is too:
  // when the first phase is complete, its parity says "not yet".
  const uint32_t bit = 1u << agent.lane;
  const auto same = [&](const WaitRecord& wait) {
    return wait.warp == agent.warp && wait.tick == lane.tick && wait.at == at;
  };
  const auto known = std::find_if(barrier.waits.rbegin(), barrier.waits.rend(), same);
  if (known == barrier.waits.rend())
    barrier.waits.push_back({agent.warp, lane.tick, bit, at});
  else
    known->lanes |= bit;
  advance(lane);
}

}  // namespace warploom::loom::check
