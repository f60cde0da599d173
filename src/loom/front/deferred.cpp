// Operations of the whole warp that lanes post without waiting for each other (warploom/loom/posted.hpp).
#include "loom/front/deferred.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/isa/wgmma.hpp"
#include "warploom/loom/parity.hpp"

namespace warploom::loom {

thread_local constinit native::Script native::script;

const char* name_of(PostedKind kind) {
  switch (kind) {
    case PostedKind::fence: return "wgmma.fence";
    case PostedKind::wgmma: return "wgmma.mma_async";
    case PostedKind::commit: return "wgmma.commit_group";
    case PostedKind::wait: return "wgmma.wait_group";
    case PostedKind::sync: return "bar.warp.sync";
    case PostedKind::phase: return "mbarrier.wait";
  }
  return "";
}

/// How many phases a posted wait waits for: one by parity for what the barrier says when it is its turn.
static uint32_t phases_of(const Posted& posted) {
  if ((posted.b_descriptor & native::posted_parity) == 0) return static_cast<uint32_t>(posted.b_descriptor);
  const uint64_t complete = static_cast<const Barrier*>(posted.barrier)->state.phase;
  return static_cast<uint32_t>(complete + static_cast<uint64_t>((complete & 1) == (posted.b_descriptor & 1)));
}

void fail_beside(Thread& thread, Pc pc, const char* operation) {
  Cluster& cluster = *thread.cluster;
  const WholeWarp& whole = thread.warp->whole;
  const uint64_t place = thread.joined - 1 - whole.over;
  const bool posted = place < whole.posted();
  const char* other = posted ? name_of(whole[place].kind) : whole.meeting.operation;
  const uint32_t lane = posted ? whole[place].first_lane : whole.meeting.first_lane;
  cluster.fail(thread, pc, "DIVERGENCE",
               fmt::format("lane {} executes {} where lane {} of the same warp executes {}", thread.id.lane, operation,
                           lane, other));
}

Posted& post(Thread& thread, Pc pc, PostedKind kind) {
  Cluster& cluster = *thread.cluster;
  WholeWarp& whole = thread.warp->whole;
  if (thread.joined - whole.over == whole.posted() && whole.full()) catch_up(thread);
  cluster.count_step(thread, pc);
  const uint64_t place = thread.joined++ - whole.over;
  if (place < whole.posted()) {
    Posted& posted = whole[place];
    if (posted.kind != kind) fail_beside(thread, pc, name_of(kind));
    return posted;
  }
  if (whole.meets) fail_beside(thread, pc, name_of(kind));
  Posted& posted = whole.push();
  posted.kind = kind;
  posted.executes = true;
  posted.accumulate = false;
  posted.k = posted.pending = 0;
  posted.form = nullptr;
  posted.ends = 0;
  posted.begun = false;
  posted.time = 0;
  posted.pc = pc;
  posted.first_lane = static_cast<uint8_t>(thread.id.lane);
  return posted;
}

void arrive(Thread& thread, Posted& posted) {
  Cluster& cluster = *thread.cluster;
  posted.begun = true;
  thread.warp->whole.come(thread.id.lane, posted, 1);
  posted.time = std::max(posted.time, thread.time);
  execute_posted(*thread.warp);
  cluster.look_up(thread);
}

void account_for_posted(Thread& thread) {
  Cluster& cluster = *thread.cluster;
  native::Script& script = native::script;
  const auto count = static_cast<uint64_t>(script.next - script.accounted);
  thread.warp->whole.come(thread.id.lane, script.next[-1], count);
  thread.joined += count;
  thread.time += native::step_cost * count;
  cluster.add_beats(count);
  script.accounted = script.next;
  if (thread.warp->whole.came != whole_warp) return;
  for (uint32_t i = 0; i < thread.warp->whole.posted(); ++i) {
    Posted& posted = thread.warp->whole[i];
    posted.time = std::max(posted.time, thread.time);
  }
  execute_posted(*thread.warp);
  cluster.look_up(thread);
}

namespace {

void forget_packed(Cluster& cluster) {
  for (const auto& cta : cluster.ctas) cta->packed_b.forget();
}

/// While one lasts, the machine executes what warps have posted, and no thread runs: what wgmmas read of shared memory
/// does not change, unless work lands there (the queue of asynchronous work).
class MachineTurn {
 public:
  explicit MachineTurn(Cluster& cluster) : cluster_(cluster) {
    if (cluster_.deferred.turn_depth++ == 0) forget_packed(cluster_);
  }
  ~MachineTurn() {
    if (--cluster_.deferred.turn_depth == 0) forget_packed(cluster_);
  }
  MachineTurn(const MachineTurn&) = delete;
  MachineTurn& operator=(const MachineTurn&) = delete;

 private:
  Cluster& cluster_;
};

bool phase_complete(Warp& warp, const Posted& posted) {
  check::Watch* const watch = warp.cluster->watch();
  auto& barrier = *static_cast<Barrier*>(posted.barrier);
  const uint32_t phases = phases_of(posted);
  if (!barrier.state.parity_passed((phases + 1) & 1)) {
    barrier.posted.push_back(&warp);
    return false;
  }
  isa::check_phase(*warp.lanes[posted.first_lane], posted.pc, barrier, phases);
  if (watch) watch->passed(warp, posted.pc, barrier, phases, false);
  return true;
}

void deliver_arrivals(Warp& warp) {
  WholeWarp& whole = warp.whole;
  while (whole.arrival_is_due()) {
    const PostedArrival arrival = whole.next_arrival();
    isa::signal_barrier(*warp.lanes[arrival.lane], arrival.pc, arrival.address, SignalKind::arrive, arrival.count, 0,
                        arrival.cluster_scope);
  }
}

}  // namespace

// Lanes come to what is posted in its order, so what all have come to is always the oldest.
void execute_posted(Warp& warp) {
  Cluster& cluster = *warp.cluster;
  check::Watch* const watch = cluster.watch();
  WholeWarp& whole = warp.whole;
  if (whole.held_up || whole.came != whole_warp) return;
  const MachineTurn turn(cluster);
  while (!whole.held_up && whole.came == whole_warp) {
    const Posted& posted = whole[0];
    if (watch && posted.kind != PostedKind::phase) watch->synchronise(warp, whole_warp);
    switch (posted.kind) {
      case PostedKind::fence:
      case PostedKind::sync: break;
      case PostedKind::wgmma: isa::wgmma(warp, posted); break;
      case PostedKind::commit:
        if (posted.executes) warp.wgmma.commit();
        if (watch) watch->wgmma_commit(warp);
        break;
      case PostedKind::wait:
        warp.wgmma.pending = posted.pending;
        if (isa::wgmma_covered(warp)) {
          isa::release_wgmma(warp);
          break;
        }
        warp.wgmma.waiting = whole.held_up = true;
        continue;
      case PostedKind::phase:
        if (phase_complete(warp, posted)) break;
        whole.held_up = true;
        continue;
    }
    whole.pop();
    ++whole.over;
    if (whole.arrival_is_due()) deliver_arrivals(warp);
  }
  if (whole.catching_up == 0 || whole.over < whole.caught_up_at) return;
  whole.caught_up_at = ~uint64_t{0};
  for (Thread* lane : warp.lanes) {
    const uint32_t bit = 1u << lane->id.lane;
    if ((whole.catching_up & bit) == 0) continue;
    if (lane->joined > whole.over) {
      whole.caught_up_at = std::min(whole.caught_up_at, lane->joined);
      continue;
    }
    whole.catching_up &= ~bit;
    if (!warp.queued) cluster.queue_first(warp);
    cluster.wake(*lane, lane->time);
  }
}

/// What the oldest posted operation waits for has come.
void go_on_with_posted(Warp& warp) {
  WholeWarp& whole = warp.whole;
  whole.held_up = false;
  execute_posted(warp);
}

void continue_each(Cluster& cluster) {
  if (cluster.deferred.continues || cluster.running() == nullptr)
    return;  // one after the other, and on a thread: an error ends it there
  cluster.deferred.continues = true;
  const MachineTurn turn(cluster);
  while (!cluster.deferred.continuing.empty()) {
    Warp& warp = *cluster.deferred.continuing.front();
    cluster.deferred.continuing.erase(cluster.deferred.continuing.begin());
    go_on_with_posted(warp);
  }
  cluster.deferred.continues = false;
}

void post_phase_wait(Thread& thread, Pc pc, uint32_t address, uint64_t phases) {
  Cluster& cluster = *thread.cluster;
  Posted& posted = post(thread, pc, PostedKind::phase);
  if (!posted.begun) {
    Barrier& barrier = isa::barrier_at(thread, pc, address, true);
    isa::check_side(thread, pc, barrier);
    posted.barrier = &barrier;
    posted.a_descriptor = address;
    posted.b_descriptor = phases;
  } else if (posted.a_descriptor != address || posted.b_descriptor != phases) {
    cluster.fail(thread, pc, "DIVERGENCE",
                 fmt::format("lanes {} and {} execute {} with different arguments", posted.first_lane, thread.id.lane,
                             name_of(PostedKind::phase)));
  }
  arrive(thread, posted);
}

bool post_arrival(Thread& thread, Pc pc, uint32_t address, uint32_t count, bool cluster_scope) {
  Cluster& cluster = *thread.cluster;
  WholeWarp& whole = thread.warp->whole;
  if (!cluster.mode.runs_ahead || thread.joined == whole.over) return false;
  cluster.count_step(thread, pc);
  whole.post({.after = thread.joined,
              .lane = thread.id.lane,
              .address = address,
              .count = count,
              .pc = pc,
              .cluster_scope = cluster_scope});
  return true;
}

void post_sync(Thread& thread, Pc pc) {
  Posted& posted = post(thread, pc, PostedKind::sync);
  arrive(thread, posted);
}

void post_wgmma_wait(Thread& thread, Pc pc, uint32_t pending) {
  Cluster& cluster = *thread.cluster;
  Posted& posted = post(thread, pc, PostedKind::wait);
  if (!posted.begun) posted.pending = static_cast<uint8_t>(pending);
  if (posted.pending != pending)
    cluster.fail(thread, pc, "DIVERGENCE",
                 fmt::format("lanes {} and {} execute {} with different arguments", posted.first_lane, thread.id.lane,
                             name_of(PostedKind::wait)));
  arrive(thread, posted);
}

void note_oldest_posted(Thread& thread) {
  const WholeWarp& whole = thread.warp->whole;
  const Posted& oldest = whole[0];
  if (whole.held_up && oldest.kind == PostedKind::phase) {
    const uint32_t phases = phases_of(oldest);
    thread.wait = {.kind = WaitKind::mbarrier,
                   .pc = oldest.pc,
                   .barrier = static_cast<Barrier*>(oldest.barrier),
                   .phases = phases,
                   .parity = (phases + 1) & 1};
    return;
  }
  thread.wait = {.kind = whole.held_up ? WaitKind::wgmma_group : WaitKind::warp_collective,
                 .pc = oldest.pc,
                 .id = oldest.pending,
                 .operation = name_of(oldest.kind),
                 .mask = whole_warp};
}

void catch_up(Thread& thread) {
  Cluster& cluster = *thread.cluster;
  WholeWarp& whole = thread.warp->whole;
  while (thread.joined > whole.over) {
    note_oldest_posted(thread);
    whole.caught_up_at = whole.catching_up == 0 ? thread.joined : std::min(whole.caught_up_at, thread.joined);
    whole.catching_up |= 1u << thread.id.lane;
    cluster.park(thread);
  }
}

}  // namespace warploom::loom
