// The native front end: kernels compiled by the host compiler, one fiber per thread. It assembles the lanes of a warp
// collective and hands the machine one warp operation; everything else goes through lane by lane.
#include "warploom/loom/native.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "loom/observe/check/operations.hpp"
#include "loom/exec/cluster.hpp"

namespace warploom::loom::native {
namespace {

/// What ends each function of this file that a kernel calls. The exceptions of the machine are those of the standard
/// library: there is no memory. They unwind the machine, and not the kernel, which may be compiled without them.
[[noreturn, gnu::cold, gnu::noinline]] void break_off() { Cluster::current()->cluster->break_off(); }

Thread& thread() { return Cluster::calling(); }

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
    cluster.catch_up(self);
  if (self.joined++ - whole.over < whole.posted()) [[unlikely]]
    cluster.fail_beside(self, pc, operation);
  if (!whole.meets) {
    whole.meets = true;
    meeting.operation = operation;
    meeting.mask = whole_warp;
    meeting.arrived = 0;
    meeting.first_lane = self.id.lane;
    meeting.pc = pc;
    meeting.time = 0;
  } else if (meeting.operation != operation && std::string_view(meeting.operation) != operation) [[unlikely]] {
    cluster.fail_beside(self, pc, operation);
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

[[noreturn]] void fail_unlike(Thread& self, Pc pc) {
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
  if (mask == whole_warp) return warp_operation(pc, operation, arguments, execute);
  Thread& self = thread();
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

}  // namespace

namespace {
constexpr char store_shared_text[] = "st.shared", load_shared_text[] = "ld.shared";

/// Words of 2, 4, 8 and 16 bytes lie at multiples of their size.
bool misaligned(uintptr_t address, size_t bytes) { return std::has_single_bit(bytes) && (address & (bytes - 1)) != 0; }

[[noreturn, gnu::noinline]] void fail_misaligned(Thread& self, Pc pc, const char* space, size_t bytes, bool write) {
  self.cluster->fail(
      self, pc, "MISALIGNED",
      fmt::format("a {} of {} bytes in {} memory at an address that is no multiple of {}: the chip faults",
                  write ? "store" : "load", bytes, space, bytes),
      {"smaller accesses, or alignas on what is accessed, make it one the hardware has"});
}
}  // namespace

void* shared_base(size_t bytes) noexcept try {
  Thread& self = thread();
  const uint32_t launched = self.cluster->launch().config->shared_bytes;
  if (bytes > launched)
    self.cluster->fail(
        self, WARPLOOM_PLACE(shared_base), "OOB-SHARED",
        fmt::format("the kernel's storage is {} bytes, and the launch has {} bytes of shared memory", bytes, launched));
  return self.cta->alias + window_start;
} catch (...) {
  break_off();
}

uint32_t foreign_address(const void* object) noexcept try {
  (void)object;
  Thread& self = thread();
  self.cluster->fail(self, WARPLOOM_PLACE(foreign_address), "OOB-SHARED",
                     "the address of an object that is not in this CTA's shared memory");
} catch (...) {
  break_off();
}

uint32_t map_to_rank(uint32_t address, uint32_t rank) noexcept try {
  Thread& self = thread();
  if (rank >= self.cluster->size())
    self.cluster->fail(self, WARPLOOM_PLACE(map_to_rank), "OOB-SHARED",
                       fmt::format("mapa to CTA {} in a cluster of {}", rank, self.cluster->size()));
  return (address & offset_mask) | rank << rank_shift;
} catch (...) {
  break_off();
}

void* shared_memory(const void* address, size_t bytes, bool write, const void* value) noexcept try {
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(shared_memory);
  self.cluster->step(self, pc);
  const auto offset = static_cast<const std::byte*>(address) - self.cta->alias;
  if (offset < 0 || !self.cluster->inside(*self.cta, static_cast<uint64_t>(offset), bytes))
    self.cluster->fail(self, pc, "OOB-SHARED",
                       fmt::format("an access of {} bytes outside the CTA's dynamic shared memory", bytes));
  if (misaligned(static_cast<uintptr_t>(offset), bytes)) fail_misaligned(self, pc, "shared", bytes, write);
  if (check::Watch* watch = self.cluster->watch())
    watch->access(self, pc, *self.cta, static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes), write,
                  write ? store_shared_text : load_shared_text, value);
  return self.cta->window + offset;
} catch (...) {
  break_off();
}

void check_global(const void* address, size_t bytes, bool write, const void* value) noexcept try {
  Thread& self = thread();
  // What the checker is told comes in the order of the program: a meeting that lanes have run ahead of is over first.
  if (self.cluster->watch() != nullptr && self.joined != self.warp->whole.over) self.cluster->catch_up(self);
  self.cluster->count_beat(self, WARPLOOM_PLACE(check_global));
  // As numbers: a kernel may come with any address.
  const auto* const end = reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(address) + bytes);
  self.cluster->check_unfinished(self, WARPLOOM_PLACE(check_global), address, end, write);
  if (self.cluster->tensor(address, end, write) == nullptr)
    self.cluster->fail(self, WARPLOOM_PLACE(check_global), "OOB-GLOBAL",
                       fmt::format("a {} of {} bytes outside the launch's {}tensors", write ? "store" : "load", bytes,
                                   write ? "writable " : ""));
  if (misaligned(reinterpret_cast<uintptr_t>(address), bytes))
    fail_misaligned(self, WARPLOOM_PLACE(check_global), "global", bytes, write);
  if (check::Watch* watch = self.cluster->watch())
    watch->global_access(self, WARPLOOM_PLACE(check_global), address, bytes, write, value);
} catch (...) {
  break_off();
}

uint32_t fetch_add_global(uint32_t* counter, uint32_t value, MemoryOrder order, MemoryScope scope) noexcept try {
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(fetch_add_global);
  self.cluster->step(self, pc);
  const void* address = counter;
  if (!self.cluster->launch().config->talks_across_clusters)
    self.cluster->fail(
        self, pc, "GLOBAL-ATOMIC",
        "an atomic on global memory in a launch whose clusters run in any order, so that what it returns "
        "would be chance; LaunchConfig::talks_across_clusters runs them one after the other");
  if (reinterpret_cast<uintptr_t>(address) % sizeof(uint32_t) != 0)
    self.cluster->fail(self, pc, "GLOBAL-ATOMIC", "an atomic of 4 bytes at an address that is not a multiple of 4");
  self.cluster->check_unfinished(self, pc, address, counter + 1, true);
  if (self.cluster->tensor(address, counter + 1, true) == nullptr)
    self.cluster->fail(self, pc, "OOB-GLOBAL", "an atomic of 4 bytes outside the launch's writable tensors");
  self.cluster->visit(self, pc, address, "atom.global", true);
  if (check::Watch* watch = self.cluster->watch())
    watch->global_atomic(self, pc, address, sizeof(uint32_t), order, scope);
  const uint32_t old = std::exchange(*counter, *counter + value);
  self.cluster->answered(self, pc, address, "atom.global", old, value != 0);
  return old;
} catch (...) {
  break_off();
}
void fence(MemoryScope scope) noexcept try {
  Thread& self = thread();
  self.cluster->step(self, WARPLOOM_PLACE(fence));
  if (check::Watch* watch = self.cluster->watch()) watch->fence(self, scope);
} catch (...) {
  break_off();
}
void fence_shared(bool release) noexcept try {
  Thread& self = thread();
  self.cluster->step(self, WARPLOOM_PLACE(fence_shared));
  if (check::Watch* watch = self.cluster->watch(); watch != nullptr && release) watch->fence_shared_release(self);
} catch (...) {
  break_off();
}

bool elect(uint32_t mask) noexcept try {
  collective(WARPLOOM_PLACE(elect), "elect.sync", mask, {}, [](const Collective&) {});
  return thread().id.lane == static_cast<uint32_t>(std::countr_zero(mask));
} catch (...) {
  break_off();
}

namespace {
constexpr char syncwarp_text[] = "bar.warp.sync";
constexpr char wgmma_wait_text[] = "wgmma.wait_group";

[[gnu::noinline]] void sync_some(Pc pc, uint32_t mask) {
  collective(pc, syncwarp_text, mask, {}, [](const Collective&) {});
}
[[gnu::noinline]] void sync_all(Pc pc) {
  Thread& self = thread();
  Cluster& cluster = *self.warp->cluster;
  // Others may be there already, on their way to a signal.
  if (const Posted* posted = cluster.posted_for(self); posted != nullptr && posted->kind == PostedKind::sync) {
    cluster.post_sync(self, pc);
    return cluster.catch_up(self);
  }
  wait_or_execute(cluster, self, meet(cluster, self, pc, syncwarp_text), [](const Collective&) {});
}
}  // namespace

void syncwarp(uint32_t mask) noexcept try {
  if (mask != whole_warp) [[unlikely]]
    return sync_some(WARPLOOM_PLACE(syncwarp), mask);
  if (!pass_baton(thread(), syncwarp_text)) sync_all(WARPLOOM_PLACE(syncwarp));
} catch (...) {
  break_off();
}
void post_sync() noexcept try {
  Thread& self = thread();
  Cluster& cluster = *self.warp->cluster;
  // Where lanes wait in it, it is a barrier like any other.
  if (cluster.runs_ahead() && !self.warp->whole.meets) return cluster.post_sync(self, WARPLOOM_PLACE(post_sync));
  if (!pass_baton(self, syncwarp_text)) sync_all(WARPLOOM_PLACE(post_sync));
} catch (...) {
  break_off();
}

uint32_t shuffle(Shuffle mode, uint32_t mask, uint32_t value, uint32_t lane) noexcept try {
  static constexpr const char* names[] = {"shfl.sync.idx", "shfl.sync.bfly", "shfl.sync.up", "shfl.sync.down"};
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(shuffle);
  collective(pc, names[static_cast<int>(mode)], mask, {.a = value, .b = lane}, [&](const Collective& all) {
    for (Thread* to : thread().warp->lanes) {
      const uint32_t l = to->id.lane;
      if ((mask >> l & 1) == 0) continue;
      const auto by = static_cast<uint32_t>(all.lanes[l].b);
      uint32_t from = l;
      switch (mode) {
        case Shuffle::index: from = by & 31; break;
        case Shuffle::exclusive_or: from = l ^ (by & 31); break;
        case Shuffle::up: from = (by & 31) > l ? l : l - (by & 31); break;
        case Shuffle::down: from = l + (by & 31) > 31 ? l : l + (by & 31); break;
      }
      if ((mask >> from & 1) == 0)
        to->cluster->fail(
            thread(), pc, "DIVERGENCE",
            fmt::format("{} reads lane {}, which is not in mask 0x{:08x}", names[static_cast<int>(mode)], from, mask));
      to->collective_result = static_cast<uint32_t>(all.lanes[from].a);
    }
  });
  return self.collective_result;
} catch (...) {
  break_off();
}

uint32_t uniform(uint32_t value) noexcept try {
  uniform_operation(WARPLOOM_PLACE(uniform), "redux.sync.or", {.a = value}, [](const Collective&) {});
  return value;
} catch (...) {
  break_off();
}

void bar_sync(uint32_t id, uint32_t threads) noexcept try {
  const Pc pc = WARPLOOM_PLACE(bar_sync);
  uniform_operation(pc, "bar.sync", {.a = id, .b = threads},
                    [&](const Collective&) { thread().cluster->named_barrier(*thread().warp, pc, id, threads, true); });
} catch (...) {
  break_off();
}

void bar_arrive(uint32_t id, uint32_t threads) noexcept try {
  const Pc pc = WARPLOOM_PLACE(bar_arrive);
  uniform_operation(pc, "bar.arrive", {.a = id, .b = threads}, [&](const Collective&) {
    thread().cluster->named_barrier(*thread().warp, pc, id, threads, false);
  });
} catch (...) {
  break_off();
}

void syncthreads() noexcept try {
  const Pc pc = WARPLOOM_PLACE(syncthreads);
  warp_operation(pc, "bar.sync", {}, [&](const Collective&) {
    Warp& warp = *thread().warp;
    thread().cluster->named_barrier(warp, pc, 0, static_cast<uint32_t>(warp.cta->threads.size()), true, true);
  });
} catch (...) {
  break_off();
}

void cluster_arrive(bool release) noexcept try {
  thread().cluster->cluster_arrive(thread(), WARPLOOM_PLACE(cluster_arrive), release);
} catch (...) {
  break_off();
}
void cluster_wait() noexcept try {
  thread().cluster->cluster_wait(thread(), WARPLOOM_PLACE(cluster_wait));
} catch (...) {
  break_off();
}

void mbarrier_init(uint32_t barrier, uint32_t count) noexcept try {
  thread().cluster->mbarrier_init(thread(), WARPLOOM_PLACE(mbarrier_init), barrier, count);
} catch (...) {
  break_off();
}
void mbarrier_invalidate(uint32_t barrier) noexcept try {
  thread().cluster->mbarrier_invalidate(thread(), WARPLOOM_PLACE(mbarrier_invalidate), barrier);
} catch (...) {
  break_off();
}
void fence_mbarrier_init() noexcept try {
  thread().cluster->step(thread(), WARPLOOM_PLACE(fence_mbarrier_init));
  if (check::Watch* watch = thread().cluster->watch()) watch->fence_mbarrier_init(thread());
} catch (...) {
  break_off();
}
void mbarrier_arrive(uint32_t barrier, uint32_t count, bool cluster_scope) noexcept try {
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(mbarrier_arrive);
  if (self.cluster->post_arrival(self, pc, barrier, count, cluster_scope)) return;
  self.cluster->mbarrier_signal(self, pc, barrier, SignalKind::arrive, count, 0, cluster_scope);
} catch (...) {
  break_off();
}
void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes) noexcept try {
  thread().cluster->mbarrier_signal(thread(), WARPLOOM_PLACE(mbarrier_arrive_expect_tx), barrier,
                                    SignalKind::arrive_expect_tx, 1, bytes);
} catch (...) {
  break_off();
}
void mbarrier_expect_tx(uint32_t barrier, uint32_t bytes) noexcept try {
  thread().cluster->mbarrier_signal(thread(), WARPLOOM_PLACE(mbarrier_expect_tx), barrier, SignalKind::expect_tx, 0,
                                    bytes);
} catch (...) {
  break_off();
}
void mbarrier_complete_tx(uint32_t barrier, uint32_t bytes) noexcept try {
  thread().cluster->mbarrier_signal(thread(), WARPLOOM_PLACE(mbarrier_complete_tx), barrier, SignalKind::complete_tx, 0,
                                    bytes);
} catch (...) {
  break_off();
}
void mbarrier_arrive_drop(uint32_t barrier, uint32_t count) noexcept try {
  thread().cluster->mbarrier_signal(thread(), WARPLOOM_PLACE(mbarrier_arrive_drop), barrier, SignalKind::arrive_drop,
                                    count, 0);
} catch (...) {
  break_off();
}
namespace {
[[gnu::noinline]] void first_wait(Pc pc, uint32_t barrier, uint32_t phases) {
  Thread& self = thread();
  self.cluster->mbarrier_wait(self, pc, barrier, phases);
}
}  // namespace

void mbarrier_wait(uint32_t barrier, uint32_t phases) noexcept try {
  // Other lanes of a warp find what the first has found.
  Script& s = script;
  const KnownBarrier& known = s.known_barrier(barrier);
  if (known.address != barrier || (known.warps & s.warp_bit) == 0 || (s.next != s.list && !s.runs_ahead)) [[unlikely]]
    return first_wait(WARPLOOM_PLACE(mbarrier_wait), barrier, phases);
  if (*known.phase != phases) {
    if (!s.runs_ahead || *known.phase + 1 != phases) return first_wait(WARPLOOM_PLACE(mbarrier_wait), barrier, phases);
    // Here and not a few calls further down: the fewer frames a parked thread has, the less comes back with it.
    Thread& self = thread();
    auto* object = static_cast<Barrier*>(known.barrier);
    if (!self.warp->cluster->wait_at_gate(self, WARPLOOM_PLACE(mbarrier_wait), *object, phases) ||
        object->state.phase != phases || !object->live) [[unlikely]]
      return first_wait(WARPLOOM_PLACE(mbarrier_wait), barrier, phases);
  } else {
    s.thread->time = std::max(s.thread->time, *known.time);
  }
  s.thread->time += step_cost;
  s.beats->store(s.beats->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
} catch (...) {
  break_off();
}
void post_phase_wait(uint32_t barrier, uint32_t phases) noexcept try {
  Thread& self = thread();
  Cluster& cluster = *self.warp->cluster;
  // Where others wait in a meeting that should come next, something is wrong that is found in the usual way.
  if (!cluster.runs_ahead() || (self.warp->whole.meets && cluster.posted_for(self) == nullptr))
    return first_wait(WARPLOOM_PLACE(post_phase_wait), barrier, phases);
  cluster.post_phase_wait(self, WARPLOOM_PLACE(post_phase_wait), barrier, phases);
} catch (...) {
  break_off();
}
void mbarrier_wait_cluster(uint32_t barrier, uint32_t phases) noexcept try {
  thread().cluster->mbarrier_wait(thread(), WARPLOOM_PLACE(mbarrier_wait_cluster), barrier, phases, true);
} catch (...) {
  break_off();
}
bool mbarrier_test(uint32_t barrier, uint32_t phases, bool cluster_scope) noexcept try {
  return thread().cluster->mbarrier_test(thread(), WARPLOOM_PLACE(mbarrier_test), barrier, phases, cluster_scope);
} catch (...) {
  break_off();
}
Poll mbarrier_poll(uint32_t barrier, uint32_t phases, bool cluster_scope) noexcept try {
  return thread().cluster->mbarrier_poll(thread(), WARPLOOM_PLACE(mbarrier_poll), barrier, phases, cluster_scope);
} catch (...) {
  break_off();
}
void mbarrier_wait_unless(const Poll& poll, uint32_t barrier, uint32_t phases, bool cluster_scope) noexcept try {
  thread().cluster->mbarrier_wait_unless(thread(), WARPLOOM_PLACE(mbarrier_wait_unless), poll, barrier, phases,
                                         cluster_scope);
} catch (...) {
  break_off();
}

void fence_proxy_async(ProxyFence kind) noexcept try {
  thread().cluster->step(thread(), WARPLOOM_PLACE(fence_proxy_async));
  check::Watch* watch = thread().cluster->watch();
  if (watch != nullptr && kind != ProxyFence::global && kind != ProxyFence::acquire)
    watch->fence_proxy_async(thread(), kind == ProxyFence::release, kind != ProxyFence::all);
  if (watch != nullptr && (kind == ProxyFence::global || kind == ProxyFence::all)) watch->fence_proxy_global(thread());
} catch (...) {
  break_off();
}
void tcgen05_fence(bool before) noexcept try {
  thread().cluster->step(thread(), WARPLOOM_PLACE(tcgen05_fence));
  if (check::Watch* watch = thread().cluster->watch()) watch->tensor_fence(thread(), before);
} catch (...) {
  break_off();
}

void tma_load(int cta_group, uint32_t destination, const TensorMap& map, uint32_t barrier, const Coordinates& at,
              int cta_mask) noexcept try {
  thread().cluster->tma_load(thread(), WARPLOOM_PLACE(tma_load), cta_group, destination, map, barrier, at, cta_mask);
} catch (...) {
  break_off();
}
void tma_store(const TensorMap& map, uint32_t source, const Coordinates& at) noexcept try {
  thread().cluster->tma_store(thread(), WARPLOOM_PLACE(tma_store), map, source, at, {});
} catch (...) {
  break_off();
}
void tma_reduce(Reduction operation, const TensorMap& map, uint32_t source, const Coordinates& at) noexcept try {
  thread().cluster->tma_store(thread(), WARPLOOM_PLACE(tma_reduce), map, source, at, operation);
} catch (...) {
  break_off();
}
void tma_prefetch(const TensorMap& map, const Coordinates& at) noexcept try {
  thread().cluster->tma_prefetch(thread(), WARPLOOM_PLACE(tma_prefetch), map, at);
} catch (...) {
  break_off();
}
void publish_tensor_map(TensorMap* destination, uint32_t map) noexcept try {
  const Pc pc = WARPLOOM_PLACE(publish_tensor_map);
  uniform_operation(
      pc, "tensormap.cp_fenceproxy", {.a = map, .b = reinterpret_cast<uintptr_t>(destination)},
      [&](const Collective&) { thread().cluster->publish_tensor_map(*thread().warp, pc, destination, map); });
} catch (...) {
  break_off();
}
void bulk_load(uint32_t destination, const void* source, uint32_t bytes, uint32_t barrier, int cta_mask) noexcept try {
  thread().cluster->bulk_load(thread(), WARPLOOM_PLACE(bulk_load), destination, source, bytes, barrier, cta_mask);
} catch (...) {
  break_off();
}
void bulk_store(void* destination, uint32_t source, uint32_t bytes, uint16_t byte_mask,
                const BulkReduction& reduction) noexcept try {
  thread().cluster->bulk_store(thread(), WARPLOOM_PLACE(bulk_store), destination, source, bytes, byte_mask, reduction);
} catch (...) {
  break_off();
}
void bulk_send(uint32_t destination, uint32_t source, uint32_t bytes, uint32_t barrier,
               const BulkReduction& reduction) noexcept try {
  thread().cluster->bulk_send(thread(), WARPLOOM_PLACE(bulk_send), destination, source, bytes, barrier, reduction);
} catch (...) {
  break_off();
}
void bulk_prefetch(const void* source, uint32_t bytes) noexcept try {
  thread().cluster->bulk_prefetch(thread(), WARPLOOM_PLACE(bulk_prefetch), source, bytes);
} catch (...) {
  break_off();
}
void bulk_commit_group() noexcept try {
  thread().cluster->bulk_commit(thread(), WARPLOOM_PLACE(bulk_commit_group));
} catch (...) {
  break_off();
}
void bulk_wait_group(uint32_t pending, bool read_only) noexcept try {
  thread().cluster->bulk_wait(thread(), WARPLOOM_PLACE(bulk_wait_group), pending, read_only);
} catch (...) {
  break_off();
}

void cp_async(uint32_t destination, const void* source, uint32_t bytes, uint32_t source_bytes) noexcept try {
  thread().cluster->cp_async(thread(), WARPLOOM_PLACE(cp_async), destination, source, bytes, source_bytes);
} catch (...) {
  break_off();
}
void cp_async_mbarrier_arrive(uint32_t barrier, bool increment) noexcept try {
  thread().cluster->cp_async_arrive(thread(), WARPLOOM_PLACE(cp_async_mbarrier_arrive), barrier, increment);
} catch (...) {
  break_off();
}
void cp_async_commit_group() noexcept try {
  thread().cluster->cp_async_commit(thread(), WARPLOOM_PLACE(cp_async_commit_group));
} catch (...) {
  break_off();
}
void cp_async_wait_group(uint32_t pending) noexcept try {
  thread().cluster->cp_async_wait(thread(), WARPLOOM_PLACE(cp_async_wait_group), pending);
} catch (...) {
  break_off();
}

void store_async(uint32_t destination, const uint32_t (&words)[4], uint32_t barrier) noexcept try {
  thread().cluster->store_async(thread(), WARPLOOM_PLACE(store_async), destination, words, barrier);
} catch (...) {
  break_off();
}

void clc_try_cancel(uint32_t response, uint32_t barrier, bool multicast) noexcept try {
  thread().cluster->clc_try_cancel(thread(), WARPLOOM_PLACE(clc_try_cancel), response, barrier, multicast);
} catch (...) {
  break_off();
}
bool clc_is_canceled(const uint32_t (&response)[4]) noexcept try {
  return thread().cluster->clc_is_canceled(thread(), WARPLOOM_PLACE(clc_is_canceled), response);
} catch (...) {
  break_off();
}
Dim3 clc_first_cta(const uint32_t (&response)[4]) noexcept try {
  return thread().cluster->clc_first_cta(thread(), WARPLOOM_PLACE(clc_first_cta), response);
} catch (...) {
  break_off();
}

void tmem_alloc(int cta_group, uint32_t slot, uint32_t columns) noexcept try {
  const Pc pc = WARPLOOM_PLACE(tmem_alloc);
  uniform_operation(pc, "tcgen05.alloc", {.a = slot, .b = columns}, [&](const Collective&) {
    thread().cluster->tmem_alloc(*thread().warp, pc, cta_group, slot, columns);
  });
} catch (...) {
  break_off();
}
void tmem_relinquish(int cta_group) noexcept try {
  const Pc pc = WARPLOOM_PLACE(tmem_relinquish);
  warp_operation(pc, "tcgen05.relinquish_alloc_permit", {},
                 [&](const Collective&) { thread().cluster->tmem_relinquish(*thread().warp, pc, cta_group); });
} catch (...) {
  break_off();
}
void tmem_dealloc(int cta_group, uint32_t base, uint32_t columns) noexcept try {
  const Pc pc = WARPLOOM_PLACE(tmem_dealloc);
  uniform_operation(pc, "tcgen05.dealloc", {.a = base, .b = columns}, [&](const Collective&) {
    thread().cluster->tmem_dealloc(*thread().warp, pc, cta_group, base, columns);
  });
} catch (...) {
  break_off();
}
void tmem_load(const TmemForm& form, uint32_t count, uint32_t* registers, bool* in_flight, uint32_t address) noexcept
    try {
  const Pc pc = WARPLOOM_PLACE(tmem_load);
  warp_operation(pc, "tcgen05.ld", {.a = address, .p = registers, .q = in_flight}, [&](const Collective& lanes) {
    thread().cluster->tmem_access(*thread().warp, pc, lanes, form, count, address, true);
  });
} catch (...) {
  break_off();
}
void tmem_store(const TmemForm& form, uint32_t count, const uint32_t* registers, uint32_t address) noexcept try {
  const Pc pc = WARPLOOM_PLACE(tmem_store);
  warp_operation(pc, "tcgen05.st", {.a = address, .p = const_cast<uint32_t*>(registers)}, [&](const Collective& lanes) {
    thread().cluster->tmem_access(*thread().warp, pc, lanes, form, count, address, false);
  });
} catch (...) {
  break_off();
}
void tmem_wait_load() noexcept try {
  const Pc pc = WARPLOOM_PLACE(tmem_wait_load);
  warp_operation(pc, "tcgen05.wait::ld", {}, [&](const Collective&) {
    if (thread().cluster->mutate("tcgen05.wait::ld", pc, nullptr).times > 0)
      thread().cluster->tmem_wait(*thread().warp, pc, true);
  });
} catch (...) {
  break_off();
}
void tmem_wait_store() noexcept try {
  const Pc pc = WARPLOOM_PLACE(tmem_wait_store);
  warp_operation(pc, "tcgen05.wait::st", {},
                 [&](const Collective&) { thread().cluster->tmem_wait(*thread().warp, pc, false); });
} catch (...) {
  break_off();
}
void fragment_misuse(const char* what) noexcept try {
  Thread& self = thread();
  self.cluster->fail(
      self, WARPLOOM_PLACE(fragment_misuse), "FRAGMENT",
      fmt::format("a fragment is {} while its tcgen05.ld is in flight; tcgen05.wait::ld comes first", what));
} catch (...) {
  break_off();
}

void umma(MmaKind kind, int cta_group, uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, bool accumulate) noexcept
    try {
  MmaInstruction instruction;
  instruction.kind = kind;
  instruction.cta_group = cta_group;
  instruction.d = d;
  instruction.a = a;
  instruction.b = b;
  instruction.idesc = idesc;
  instruction.accumulate = accumulate;
  thread().cluster->mma(thread(), WARPLOOM_PLACE(umma), instruction);
} catch (...) {
  break_off();
}
void umma(const MmaInstruction& instruction) noexcept try {
  thread().cluster->mma(thread(), WARPLOOM_PLACE(umma), instruction);
} catch (...) {
  break_off();
}
void tmem_copy(TmemCopy shape, Expand expand, int cta_group, uint32_t destination, uint64_t source) noexcept try {
  thread().cluster->tmem_copy(thread(), WARPLOOM_PLACE(tmem_copy), shape, expand, cta_group, destination, source);
} catch (...) {
  break_off();
}
void tmem_shift_down(int cta_group, uint32_t address) noexcept try {
  thread().cluster->tmem_shift(thread(), WARPLOOM_PLACE(tmem_shift_down), cta_group, address);
} catch (...) {
  break_off();
}
void umma_commit(int cta_group, uint32_t barrier, int cta_mask) noexcept try {
  thread().cluster->commit(thread(), WARPLOOM_PLACE(umma_commit), cta_group, barrier, cta_mask);
} catch (...) {
  break_off();
}

void post_wgmma(const WgmmaForm& form, const WgmmaLane& lane) noexcept try {
  thread().cluster->post_wgmma(thread(), WARPLOOM_PLACE(post_wgmma), form, lane);
} catch (...) {
  break_off();
}
bool post_wgmma_fence() noexcept try {
  return thread().cluster->post_wgmma_fence(thread(), WARPLOOM_PLACE(post_wgmma_fence));
} catch (...) {
  break_off();
}
void post_wgmma_commit() noexcept try {
  thread().cluster->post_wgmma_commit(thread(), WARPLOOM_PLACE(post_wgmma_commit));
} catch (...) {
  break_off();
}
namespace {
[[gnu::noinline]] void wait_for_groups(Pc pc, uint32_t pending) {
  Thread& self = thread();
  Warp& warp = *self.warp;
  Cluster& cluster = *warp.cluster;
  if (const Posted* posted = cluster.posted_for(self); posted != nullptr && posted->kind == PostedKind::wait) {
    cluster.post_wgmma_wait(self, pc, pending);
    return cluster.catch_up(self);
  }
  const bool last = meet(cluster, self, pc, wgmma_wait_text);
  Collective& meeting = warp.whole.meeting;
  if (meeting.first_lane == self.id.lane)
    meeting.common.a = pending;
  else if (meeting.common.a != pending) [[unlikely]]
    fail_unlike(self, pc);
  if (!last) {
    self.state = Thread::State::meeting;
    return cluster.leave(self);
  }
  warp.whole.meets = false;
  ++warp.whole.over;
  if (check::Watch* watch = cluster.watch()) watch->synchronise(warp, whole_warp);
  if (const std::optional<uint64_t> over = cluster.wgmma_wait(warp, pc, pending)) {
    self.time = *over;
    return cluster.start_round(self, *over);
  }
  cluster.leave(self);
}
}  // namespace

void wgmma_wait_group(uint32_t pending) noexcept try {
  Thread& self = thread();
  if (self.warp->whole.meeting.common.a == pending && pass_baton(self, wgmma_wait_text)) return;
  wait_for_groups(WARPLOOM_PLACE(wgmma_wait_group), pending);
} catch (...) {
  break_off();
}
void post_wgmma_wait(uint32_t pending) noexcept try {
  Thread& self = thread();
  Cluster& cluster = *self.warp->cluster;
  if (!cluster.runs_ahead() || self.warp->whole.meets) return wgmma_wait_group(pending);
  cluster.post_wgmma_wait(self, WARPLOOM_PLACE(post_wgmma_wait), pending);
} catch (...) {
  break_off();
}
void wgmma_misuse(const char* what, const WgmmaRegisters* registers) noexcept try {
  thread().cluster->wgmma_misuse(thread(), WARPLOOM_PLACE(wgmma_misuse), what, registers);
} catch (...) {
  break_off();
}

void set_max_registers(uint32_t count, bool increase) noexcept try {
  const Pc pc = WARPLOOM_PLACE(set_max_registers);
  uniform_operation(pc, increase ? "setmaxnreg.inc" : "setmaxnreg.dec", {.a = count}, [&](const Collective&) {
    thread().cluster->set_max_registers(*thread().warp, pc, count, increase);
  });
} catch (...) {
  break_off();
}

namespace {

/// What stmatrix and ldmatrix share: move(place in shared memory, lane's register, which half of it) for every element,
/// or, where pairs of them stay together, move_pair(place, register).
template <class Move, class MovePair>
void matrix_operation(Pc pc, const char* operation, bool writes, const LaneArguments& arguments, uint32_t tiles,
                      bool transposed, Move&& move, MovePair&& move_pair) {
  warp_operation(pc, operation, arguments, [&](const Collective& lanes) {
    Thread& self = *Cluster::current();
    Cta& cta = *self.cta;
    uint32_t rows[32];
    for (uint32_t tile = 0; tile < tiles; ++tile) {
      for (uint32_t r = 0; r < 8; ++r) {
        const auto address = static_cast<uint32_t>(lanes.lanes[8 * tile + r].a);
        const uint32_t offset = address & offset_mask;
        if (self.cluster->owner(address) != &cta || offset % 16 != 0 || !self.cluster->inside(cta, offset, 16))
          self.cluster->fail(self, pc, "OOB-SHARED",
                             fmt::format("row {} of {} tile {} is at 0x{:08x}; a 16-byte aligned address of this "
                                         "CTA's shared memory is needed",
                                         r, operation, tile, address));
        std::byte* row = cta.window + offset;
        rows[8 * tile + r] = offset;
        // Lane t holds elements (t / 4, 2 * (t % 4)) and the next, of the tile or of its transpose.
        if (!transposed) {
          for (uint32_t pair = 0; pair < 4; ++pair)
            move_pair(row + 4 * pair, static_cast<uint32_t*>(lanes.lanes[4 * r + pair].p)[tile]);
          continue;
        }
        for (uint32_t column = 0; column < 8; ++column)
          move(row + 2 * column, static_cast<uint32_t*>(lanes.lanes[4 * column + r / 2].p)[tile], r % 2);
      }
    }
    if (check::Watch* watch = self.cluster->watch())
      watch->access(*self.warp, pc, {rows, size_t{8} * tiles}, 16, writes, operation);
  });
}

}  // namespace

void store_matrix(uint32_t row, const uint32_t* registers, uint32_t tiles, bool transposed) noexcept try {
  matrix_operation(
      WARPLOOM_PLACE(store_matrix), "stmatrix", true, {.a = row, .p = const_cast<uint32_t*>(registers)}, tiles,
      transposed,
      [](std::byte* place, const uint32_t& word, uint32_t which) {
        const auto half = static_cast<uint16_t>(word >> 16 * which);
        std::memcpy(place, &half, sizeof(half));
      },
      [](std::byte* place, const uint32_t& word) { std::memcpy(place, &word, sizeof(word)); });
} catch (...) {
  break_off();
}
void load_matrix(uint32_t row, uint32_t* registers, uint32_t tiles, bool transposed) noexcept try {
  matrix_operation(
      WARPLOOM_PLACE(load_matrix), "ldmatrix", false, {.a = row, .p = registers}, tiles, transposed,
      [](const std::byte* place, uint32_t& word, uint32_t which) {
        std::memcpy(reinterpret_cast<uint16_t*>(&word) + which, place, sizeof(uint16_t));
      },
      [](const std::byte* place, uint32_t& word) { std::memcpy(&word, place, sizeof(word)); });
} catch (...) {
  break_off();
}

void grid_dependency_wait() noexcept try {
  thread().cluster->grid_dependency_wait(thread(), WARPLOOM_PLACE(grid_dependency_wait));
} catch (...) {
  break_off();
}
void grid_launch_dependents() noexcept try {
  thread().cluster->grid_launch_dependents(thread(), WARPLOOM_PLACE(grid_launch_dependents));
} catch (...) {
  break_off();
}

void name_barriers(uint32_t first, uint32_t count, const char* ring, uint8_t side, const char* signalled_by) noexcept
    try {
  thread().cluster->name_barriers(thread(), WARPLOOM_PLACE(name_barriers), first, count, ring, side, signalled_by);
} catch (...) {
  break_off();
}
void name_role(const char* role) noexcept try { thread().cluster->name_role(thread(), role); } catch (...) {
  break_off();
}
void name_named_barrier(uint32_t id, const char* name) noexcept try {
  if (id < 16) thread().cta->named[id].name = name;
} catch (...) {
  break_off();
}
void trace_point(TracePoint point, const char* label) noexcept try {
  thread().cluster->trace_point(thread(), point, label);
} catch (...) {
  break_off();
}

}  // namespace warploom::loom::native
