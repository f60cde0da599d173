// What the instructions of the native front end begin and end with: the running thread, and the collectives in which
// the lanes of a warp meet. A function that a kernel calls ends with break_off().
//
//   warp_operation(pc, "shfl.sync.idx", {.a = value}, [&](const Collective& all) { ...for all lanes, by the last... });
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "loom/exec/cluster.hpp"
#include "loom/front/deferred.hpp"

namespace warploom::loom::native::front {

/// What ends each function that a kernel calls. The exceptions of the machine are those of the standard
/// library: there is no memory. They unwind the machine, and not the kernel, which may be compiled without them.
[[noreturn, gnu::cold, gnu::noinline]] inline void break_off() { Cluster::current()->cluster->break_off(); }

inline Thread& thread() { return Cluster::calling(); }

/// What every collective ends with: the last lane has executed it for all, and they go on.
[[gnu::always_inline]] inline void end_collective(Cluster& cluster, Thread& self, uint64_t time) {
  if (self.state == Thread::State::parked) return cluster.leave(self);  // the operation blocks the warp as a whole
  cluster.start_round(self, time);
}

/// The lane comes to a collective of the whole warp. True where it is the last.
[[gnu::always_inline]] inline bool meet(Cluster& cluster, Thread& self, Pc pc, const char* operation) {
  cluster.count_step(self, pc);
  WholeWarp& whole = self.warp->whole;
  Collective& meeting = whole.meeting;
  // The last lane executes it, which must not come before what is posted.
  if (whole.held_up && whole.meets && (meeting.arrived | 1u << self.id.lane) == whole_warp) [[unlikely]]
    catch_up(self);
  if (self.joined++ - whole.over < whole.posted()) [[unlikely]]
    fail_beside(self, pc, operation);
  if (!whole.meets) {
    whole.meets = true;
    meeting.operation = operation;
    meeting.mask = whole_warp;
    meeting.arrived = 0;
    meeting.first_lane = self.id.lane;
    meeting.pc = pc;
    meeting.time = 0;
  } else if (meeting.operation != operation && std::string_view(meeting.operation) != operation) [[unlikely]] {
    fail_beside(self, pc, operation);
  }
  meeting.arrived |= 1u << self.id.lane;
  meeting.time = std::max(meeting.time, self.time);
  return meeting.arrived == whole_warp;
}

/// ... and waits for the others, or executes it.
template <class Execute>
[[gnu::always_inline]] inline void wait_or_execute(Cluster& cluster, Thread& self, bool last, Execute&& execute) {
  if (!last) {
    self.state = Thread::State::meeting;
    return cluster.leave(self);
  }
  WholeWarp& whole = self.warp->whole;
  whole.meets = false;
  ++whole.over;
  const uint64_t time = whole.meeting.time;
  self.time = time;
  if (check::Watch* watch = cluster.watch()) watch->synchronise(*self.warp, whole_warp);
  execute(whole.meeting);
  end_collective(cluster, self, time);
}

/// The quick way through the middle of a meeting, for all lanes but the first and the last: the lane notes that it has
/// come, and the next of the round goes on in its place. False: not so simple, and nothing has happened.
[[gnu::always_inline]] inline bool pass_baton(Thread& self, const char* operation) {
  Warp& warp = *self.warp;
  WholeWarp& whole = warp.whole;
  Collective& meeting = whole.meeting;
  const uint32_t arrived = meeting.arrived | 1u << self.id.lane;
  const uint32_t left = warp.round_left;
  Script& s = script;
  if (!whole.meets || meeting.operation != operation || arrived == whole_warp || left < 2 || s.next != s.end ||
      s.list == nullptr || warp.exited != 0 || !warp.cluster->goes_on(warp)) [[unlikely]]
    return false;
  const uint64_t time = self.time + step_cost;
  self.time = time;
  ++self.joined;
  s.beats->store(s.beats->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  meeting.arrived = arrived;
  meeting.time = std::max(meeting.time, time);
  self.state = Thread::State::meeting;
  const uint32_t place = warp.round_next, after = (place + 1) % 32;
  Thread& next = *warp.lanes[place];
  warp.round_next = after;
  warp.round_left = left - 1;
  warp.lanes[after]->fiber.prefetch();
  next.time = std::max(next.time, warp.round_time);
  warp.cluster->enter_next_lane(next);
  self.fiber.pass_to(next.fiber, warp.cluster->host());
  return true;
}

template <class Execute>
void warp_operation(Pc pc, const char* operation, const LaneArguments& arguments, Execute&& execute) {
  Thread& self = thread();
  Cluster& cluster = *self.warp->cluster;
  const bool last = meet(cluster, self, pc, operation);
  self.warp->whole.meeting.lanes[self.id.lane] = arguments;
  wait_or_execute(cluster, self, last, [&](const Collective& all) {
    for (Thread* lane : self.warp->lanes) lane->time = all.time;
    execute(all);
  });
}

[[noreturn]] inline void fail_unlike(Thread& self, Pc pc) {
  const Collective& meeting = self.warp->whole.meeting;
  self.cluster->fail(self, pc, "DIVERGENCE",
                     fmt::format("lanes {} and {} execute {} with different arguments", meeting.first_lane,
                                 self.id.lane, meeting.operation));
}

/// An operation of the whole warp whose arguments must agree in all lanes.
template <class Execute>
[[gnu::always_inline]] inline void uniform_operation(Pc pc, const char* operation, const LaneArguments& arguments,
                                                     Execute&& execute) {
  Thread& self = thread();
  Cluster& cluster = *self.warp->cluster;
  const bool last = meet(cluster, self, pc, operation);
  Collective& meeting = self.warp->whole.meeting;
  if (meeting.first_lane == self.id.lane)
    meeting.common = arguments;
  else if (meeting.common.a != arguments.a || meeting.common.b != arguments.b) [[unlikely]]
    fail_unlike(self, pc);
  wait_or_execute(cluster, self, last, [&](const Collective& all) {
    for (Thread* lane : self.warp->lanes) lane->time = all.time;
    execute(all);
  });
}

/// A collective is the n-th one this lane joins with this mask; return addresses would not do, compilers duplicate call
/// sites. The last lane to come executes it for the warp.
template <class Execute>
void collective(Pc pc, const char* operation, uint32_t mask, const LaneArguments& arguments, Execute&& execute) {
  Thread& self = thread();
  if (mask == whole_warp) {
    self.warp->whole.meeting.lanes[self.id.lane] = arguments;
    if (pass_baton(self, operation)) return;
    return warp_operation(pc, operation, arguments, execute);
  }
  Cluster& cluster = *self.cluster;
  Warp& warp = *self.warp;
  cluster.step(self, pc);
  const uint32_t lane = self.id.lane;
  if ((mask >> lane & 1) == 0)
    cluster.fail(self, pc, "DIVERGENCE",
                 fmt::format("lane {} executes {} with mask 0x{:08x}, which leaves it out", lane, operation, mask));
  auto counter = std::find_if(self.collectives.begin(), self.collectives.end(),
                              [&](const auto& entry) { return entry.first == mask; });
  if (counter == self.collectives.end()) counter = self.collectives.insert(counter, {mask, 0});
  const uint64_t sequence = counter->second++;

  auto open = std::find_if(warp.open.begin(), warp.open.end(), [&](const auto& candidate) {
    return candidate->mask == mask && candidate->sequence == sequence;
  });
  if (open == warp.open.end()) {
    open = warp.open.insert(open, std::make_unique<Collective>());
    (*open)->operation = operation;
    (*open)->mask = mask;
    (*open)->sequence = sequence;
    (*open)->first_lane = lane;
    (*open)->pc = pc;
  }
  Collective& joined = **open;
  if (std::string_view(joined.operation) != operation)
    cluster.fail(self, pc, "DIVERGENCE",
                 fmt::format("lane {} executes {} where lane {} of the same warp executes {}", lane, operation,
                             joined.first_lane, joined.operation));
  joined.lanes[lane] = arguments;
  joined.arrived |= 1u << lane;
  joined.time = std::max(joined.time, self.time);
  if (joined.arrived != mask) {
    self.wait = {.kind = WaitKind::warp_collective, .pc = pc, .operation = operation, .mask = mask};
    return cluster.park(self);
  }
  const std::unique_ptr<Collective> complete = std::move(*open);
  warp.open.erase(open);
  for (Thread* other : warp.lanes)
    if ((mask >> other->id.lane & 1) != 0) other->time = complete->time;
  if (check::Watch* watch = cluster.watch()) watch->synchronise(warp, mask);
  execute(*complete);
  if (self.state == Thread::State::parked) return cluster.leave(self);
  cluster.wake_others(self, mask, complete->time);
}

}  // namespace warploom::loom::native::front
