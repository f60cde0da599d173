// What is known of asynchronous work.
#include "loom/observe/check/order_work.hpp"

#include <algorithm>

namespace warploom::loom::check {
namespace {

/// What all lanes of a warp know of its voices, and a lane of its own.
void add_voices(Knowledge& knowledge, std::span<const Voice> voices, uint8_t lane = whole_slot) {
  for (const Voice& voice : voices)
    if (const uint32_t tick = voice.lane == lane ? voice.said : voice.met; tick != 0)
      knowledge.raise(Plane::happened, voice.slot, tick);
}

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

OrderWork::OrderWork(uint32_t warps) : OrderThreads(warps), last_tick_(warps, 0), uses_(warps) {
  for (auto& free : free_) free.resize(size_t{warps} + 1);
}

Stamp OrderWork::accessed_elsewhere(Agent agent, MemoryId memory) {
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

void OrderWork::fence_proxy_async(Agent agent, MemoryId memory) {
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

Stamp OrderWork::take_slot(const Knowledge& relies, Tells tells, uint32_t warp) {
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

Knowledge OrderWork::issue(Agent issuer) {
  Lane& lane = own_state(issuer);
  Knowledge relies = *lane.knows;
  add_own(relies, issuer, speaks_for_warp(issuer) ? Speaks::for_warp : Speaks::for_lane);
  // Of tensor memory it may rely on what was fenced. What others told about it and was not, it may not use.
  relies.forget(Plane::tensor);
  if (lane.usable != nullptr) relies.join(Plane::tensor, *lane.usable, Plane::tensor);
  advance(lane);
  return relies;
}

WarpIssue OrderWork::issue_met(uint32_t index) const {
  const Warp& warp = warps_[index];
  const Lane& lane = warp.lane(0);
  return {lane.knows, lane.usable, index, warp.met, warp.met_async, warp.voices};
}

Knowledge OrderWork::issue_together(std::span<const std::shared_ptr<const WarpIssue>> warps) {
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

Work OrderWork::begin_at(Stamp stamp, Knowledge relies) {
  Work work;
  work.stamp = stamp;
  work.relies = std::move(relies);
  work.tells = uses_[stamp.slot].tells;
  return work;
}

Work OrderWork::begin(Knowledge relies, Tells tells, uint32_t warp) {
  const Stamp stamp = take_slot(relies, tells, warp);
  return begin_at(stamp, std::move(relies));
}

Work OrderWork::begin_behind(Knowledge relies, const Work& earlier) {
  add_completion(relies, earlier);
  return begin_at({earlier.stamp.slot, ++last_tick_[earlier.stamp.slot], whole_slot}, std::move(relies));
}

Work OrderWork::begin_over(Agent issuer, const Stamp& earlier, Tells tells) {
  Knowledge relies = issue(issuer);
  // Nobody will ask for the writes of `earlier` again, so that nobody can mistake the knowledge of this one for theirs.
  if (last_tick_[earlier.slot] != earlier.tick || uses_[earlier.slot].tells != tells ||
      !relies.covers(Plane::happened, earlier))
    return begin(std::move(relies), tells, issuer.warp);
  return begin_at({earlier.slot, ++last_tick_[earlier.slot], whole_slot}, std::move(relies));
}

void OrderWork::writes_to(const Work& work, MemoryId memory) {
  is_plain_.resize(slots());
  if (is_plain_[work.stamp.slot]) return;
  is_plain_[work.stamp.slot] = true;
  plain_.push_back({work.stamp.slot, memory});
}

void OrderWork::include(Work& work, const Work& earlier) {
  work.relies.join(Plane::happened, completion(earlier), Plane::happened);
  if (work.covered == nullptr) work.covered = make_knowledge();
  for (const Plane plane : planes_of(earlier.tells)) work.covered->raise(plane, earlier.stamp);
  if (earlier.covered != nullptr) work.covered->join(*earlier.covered);
}

void OrderWork::retire(const Work& work) {
  const uint32_t slot = work.stamp.slot;
  if (last_tick_[slot] != work.stamp.tick) return;
  const SlotUse& use = uses_[slot];
  free_[static_cast<size_t>(use.tells)][std::min(use.warp, warps())].push_back(slot);
}

void OrderWork::add_completion(Knowledge& knowledge, const Work& work) {
  knowledge.join(Plane::happened, work.relies, Plane::happened);
  for (const Plane plane : planes_of(work.tells)) knowledge.raise(plane, work.stamp);
  if (work.covered != nullptr) knowledge.join(*work.covered);
}

Knowledge OrderWork::completion(const Work& work) {
  Knowledge knowledge;
  add_completion(knowledge, work);
  return knowledge;
}

void OrderWork::learn(Agent agent, const Work& work) { learn(agent, make_knowledge(completion(work))); }

void OrderWork::learn_tensor(Agent agent, const Work& work) { learn_tensor(own_state(agent), completion(work)); }

void OrderWork::learn_tensor_all(uint32_t warp, const Work& work) {
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

}  // namespace warploom::loom::check
