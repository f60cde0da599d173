// mbarriers, and whatever else counts arrivals in phases.
#include "loom/observe/check/order.hpp"

#include <algorithm>
#include <bit>

namespace warploom::loom::check {

Order::Order(uint32_t warps) : OrderWork(warps) {}

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
