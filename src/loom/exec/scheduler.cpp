// Who runs next. Every choice comes from the schedule: policy, seed and skew.
#include "loom/exec/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

namespace {

constexpr uint32_t priority_odds = 256;  // a warp's priority is drawn anew

}  // namespace

Scheduler::Scheduler(const LaunchContext& launch, uint32_t index, WorkerMemory& memory)
    : random(launch.options->schedule.seed * 0x9e3779b97f4a7c15u + index * 0xd1b54a32d192ed03u + 1), memory_(memory) {
  const Options& options = *launch.options;
  const Schedule& schedule = options.schedule;
  mode.shuffle = schedule.policy == Policy::random || schedule.seed != 0;
  mode.priorities = mode.shuffle && (schedule.seed & 1) != 0;
  mode.passes = Fiber::passes && !mode.shuffle && schedule.skew < 0;
  mode.plain = !mode.shuffle && !options.record_events && !options.record_sites && !options.mutation;
  // Not where copies are late: what goes on when one lands is for the scheduler to wake.
  mode.runs_ahead = mode.plain && mode.passes && schedule.policy == Policy::eager && !schedule.has(Fault::multicast);
  mode.skew = schedule.skew;
}

void Scheduler::begin(std::atomic<uint64_t>& beats) {
  native::script = {};
  script_warp_ = nullptr;
  native::script.runs_ahead = mode.runs_ahead;
  native::script.beats = &beats;
  memory_.quick = {};
  native::quick_memory = &memory_.quick;
}

void Scheduler::enqueue(Thread& thread) {
  thread.state = Thread::State::ready;
  Warp& warp = *thread.warp;
  warp.ready.push_back(&thread);
  if (warp.queued) return;
  warp.queued = true;
  ready_.push_back(&warp);
}

void Scheduler::queue_first(Warp& warp) {
  constexpr uint32_t turns = 1024;
  warp.queued = true;
  if (++turns_ < turns)
    ready_.push_front(&warp);
  else
    ready_.push_back(&warp);
}

Thread* Scheduler::pick() {
  if (ready_.empty()) return nullptr;
  const int skew = mode.skew;
  auto held_back = [&](const Warp* warp) { return skew >= 0 && warp->cta->rank == static_cast<uint32_t>(skew); };
  size_t chosen = ready_.size();
  if (!mode.shuffle) {
    for (size_t i = 0; i < ready_.size() && chosen == ready_.size(); ++i)
      if (!held_back(ready_[i])) chosen = i;
  } else if (mode.priorities) {
    for (size_t i = 0; i < ready_.size(); ++i) {
      if (held_back(ready_[i])) continue;
      if (chosen == ready_.size() || ready_[i]->priority > ready_[chosen]->priority) chosen = i;
    }
    if (chosen < ready_.size() && random.one_in(priority_odds)) ready_[chosen]->priority = random.next();
  } else {
    uint32_t candidates = 0;
    for (size_t i = 0; i < ready_.size(); ++i)
      if (!held_back(ready_[i]) && random.below(++candidates) == 0) chosen = i;
  }
  if (chosen == ready_.size()) chosen = 0;  // only the CTA held back can run

  Warp& warp = *ready_[chosen];
  const Warpgroup* group = &warp.cta->warpgroups[warp.index / warpgroup_warps];
  if (last_ != group) turns_ = 0;
  last_ = group;
  Thread* thread = warp.next_lane();
  if (!warp.can_run()) {
    warp.queued = false;
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return thread;
}

void Scheduler::wake(Thread& thread, uint64_t time) {
  thread.time = std::max(thread.time, time);
  enqueue(thread);
}

void Scheduler::park_warp(Warp& warp, const Wait& wait) {
  for (Thread* lane : warp.lanes) {
    lane->wait = wait;
    lane->parked_at = lane->time;
    lane->state = Thread::State::parked;
  }
}

void Scheduler::wake_warp(Warp& warp, uint64_t time) {
  for (Thread* lane : warp.lanes) wake(*lane, time);
}

void Scheduler::wake_others(Thread& thread, uint32_t mask, uint64_t time) {
  for (Thread* lane : thread.warp->lanes)
    if (lane != &thread && (mask >> lane->id.lane & 1) != 0) wake(*lane, time);
}

void Scheduler::block_warp(Thread& thread, const Wait& wait) {
  if (!mode.passes) return park_warp(*thread.warp, wait);
  thread.warp->blocked = true;
  thread.warp->blocked_by = wait;
  thread.state = Thread::State::meeting;
}

void Scheduler::unblock_warp(Warp& warp, uint64_t time) {
  if (!warp.blocked) return wake_warp(warp, time);
  warp.blocked = false;
  warp.round_next = 0;
  warp.round_left = 32;
  warp.round_time = time;
  if (!warp.queued) queue_first(warp);
}

void Scheduler::open_gate(Warp& warp, uint64_t time) {
  const uint32_t lanes = std::exchange(warp.gate.lanes, 0);
  if (lanes == whole_warp) {
    warp.round_next = 0;
    warp.round_left = 32;
    warp.round_time = time;
    if (warp.queued) return;
    warp.queued = true;
    ready_.push_back(&warp);
    return;
  }
  for (Thread* lane : warp.lanes)
    if ((lanes >> lane->id.lane & 1) != 0) wake(*lane, time);
}

void Scheduler::let_others_run(Thread& thread) {
  enqueue(thread);
  leave(thread);
}

void Scheduler::enter_warp(Warp& warp) {
  script_warp_ = &warp;
  native::Script& script = native::script;
  script.warp_bit = 1u << warp.index % 32;
  script.alias = warp.cta->alias;
  script.window_bytes = warp.cta->window_bytes;
  script.rank_bits = warp.cta->rank << rank_shift;
  if (mode.quick_memory) memory_.quick.shared = warp.cta->window;
}

}  // namespace warploom::loom
