// What threads and barriers tell the checker.
#include "loom/observe/check/watch_barriers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/observe/check/watch.hpp"

namespace warploom::loom::check {
namespace {

constexpr uint32_t all_lanes = ~0u, lane_count = 32;
constexpr uint32_t mbarrier_bytes = 8;

}  // namespace

void WatchBarriers::fence_proxy_async(Thread& thread, bool release, bool own_cta) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->fence_proxy(thread);
  order_.fence_proxy_async(agent(thread), own_cta ? rank_of(*thread.cta) : every_memory);
  released_[first_thread(*thread.warp) + thread.id.lane] = release;
  fence_mbarrier_init(thread);
}

void WatchBarriers::fence_shared_release(Thread& thread) {
  settle_stores();
  released_[first_thread(*thread.warp) + thread.id.lane] = true;
}

void WatchBarriers::tensor_fence(Thread& thread, bool before) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->tensor_fence(thread, before);
  if (before)
    order_.tensor_fence_before(agent(thread));
  else
    order_.tensor_fence_after(agent(thread));
}

void WatchBarriers::fence_mbarrier_init(Thread& thread) {
  settle_stores();
  if (fresh_inits_.empty()) return;
  const Agent me = agent(thread);
  std::erase_if(fresh_inits_, [&](const auto& fresh) {
    if (fresh.second.slot != me.warp || fresh.second.lane != me.lane) return false;
    barriers_[fresh.first].fenced = order_.note(me);
    return true;
  });
}

void WatchBarriers::write_barrier(Thread& thread, Pc pc, const Barrier& barrier, const char* operation) {
  const Viewpoint view(order_, agent(thread));
  touch(pc, *thread.warp, shared_[rank_of(*barrier.cta)], barrier.offset, mbarrier_bytes, true, view,
        view.record(Proxy::generic, site(pc, *thread.warp, 1u << thread.id.lane, operation)), false);
}

void WatchBarriers::invalidate(Thread& thread, Pc pc, const Barrier& barrier) {
  settle_stores();
  std::optional<std::pair<Stamp, Pc>> left;
  if (!order_.over(agent(thread), barrier.watched, left)) {
    std::vector<OtherSide> sides;
    if (left) sides.push_back({"waits", &warp_of(left->first.slot), 1u << left->first.lane, left->second});
    stop(cluster_, thread.warp, 1u << thread.id.lane, pc, "BAR-REINIT",
         fmt::format("mbarrier.inval of {}, and nothing orders {} before it", barrier.name(),
                     left ? "this wait" : "its arrivals"),
         {"everybody who uses the barrier synchronises with the thread that invalidates it first"}, std::move(sides));
  }
  write_barrier(thread, pc, barrier, "mbarrier.inval");
  live_[rank_of(*barrier.cta)].remove(barrier);
  BarrierNotes& notes = barriers_[barrier.watched];
  notes.ended_by = thread.warp;
  notes.ended_lane = 1u << thread.id.lane;
  notes.ended_at = pc;
}

void WatchBarriers::init(Thread& thread, Pc pc, Barrier& barrier) {
  settle_stores();
  write_barrier(thread, pc, barrier, "mbarrier.init");
  barrier.watched = order_.make_barrier();
  live_[rank_of(*barrier.cta)].add(barrier);
  const Stamp now = order_.note(agent(thread));
  barriers_.push_back({.barrier = &barrier, .init = now, .init_at = pc});
  fresh_inits_.emplace_back(barrier.watched, now);
}

void WatchBarriers::usable(Pc pc, const Warp& warp, uint32_t lanes, const Barrier& barrier, const Viewpoint& view,
                           bool async, const char* operation) {
  BarrierNotes& notes = barriers_[barrier.watched];
  if (notes.ended_by != nullptr)
    stop(cluster_, &warp, lanes, pc, "BAR-REINIT",
         fmt::format("{} of {}, which nothing orders before its mbarrier.inval", operation, barrier.name()),
         {"everybody who uses the barrier synchronises with the thread that invalidates it first"},
         {{"mbarrier.inval", notes.ended_by, notes.ended_lane, notes.ended_at}});
  if (!notes.init) return;
  const bool elsewhere = async || barrier.cta != warp.cta;
  std::vector<uint32_t>& known_to = notes.known_to[elsewhere];
  if (known_to.empty()) known_to.resize(order_.warps());
  uint32_t& known = known_to[agent(warp).warp];
  if ((lanes & ~known) == 0) return;
  const auto covered = [&](Plane plane, const Stamp& stamp) {
    return view.covers(plane, Record::of(stamp, 1u << stamp.lane));
  };
  const bool fenced = notes.fenced && covered(Plane::happened, *notes.fenced);
  const bool seen = fenced || covered(Plane::visible, *notes.init);
  if (seen && (fenced || !elsewhere)) {
    known |= lanes;
    return;
  }
  const Stamp& init = *notes.init;
  const OtherSide first{"mbarrier.init", &warp_of(init.slot), 1u << init.lane, notes.init_at};
  stop(cluster_, &warp, lanes, pc, "BAR-UNINIT",
       fmt::format("{} of {}, whose mbarrier.init {}", operation, barrier.name(),
                   !seen   ? "nothing orders before it"
                   : async ? "no fence makes known to the async proxy"
                           : "no fence makes known to other CTAs"),
       {!seen ? "after the init, fence_mbarrier_init() and a __syncthreads or cluster barrier that everybody passes"
              : "the thread that initialises the barriers executes fence_mbarrier_init() before it synchronises"},
       {first}, seen ? Concern::unfenced_init : Concern::any);
  if (seen) known |= lanes;  // where that is a warning: said once
}

void WatchBarriers::signal(Thread& thread, Pc pc, const Barrier& barrier, SignalKind kind, uint32_t arrivals,
                           int64_t bytes, bool cluster_scope, bool not_last) {
  settle_stores();
  const Agent me = agent(thread);
  usable(pc, *thread.warp, 1u << thread.id.lane, barrier, Viewpoint(order_, me), false, "an arrival");
  const Order::BarrierId id = barrier.watched;
  const bool tells = barrier.cta == thread.cta || cluster_scope;
  if (recorder_ != nullptr) recorder_->signal(thread, barrier, kind, arrivals, bytes, tells);
  const bool remote = barrier.cta != thread.cta;
  const auto arrive = [&] {
    return !tells     ? order_.arrive_relaxed(me, id, pc)
           : remote   ? order_.arrive_remote(me, id, pc)
           : not_last ? order_.arrive_not_last(me, id, pc)
                      : order_.arrive(me, id, pc);
  };
  if (bytes != 0) order_.count_bytes(me, id, kind == SignalKind::complete_tx ? -bytes : bytes, pc);
  Stamp moment;
  switch (kind) {
    case SignalKind::expect_tx: moment = order_.expect(me, id, pc); break;
    case SignalKind::complete_tx: moment = order_.complete_tx(me, id, pc); break;
    case SignalKind::arrive_expect_tx:
      order_.expect(me, id, pc);
      moment = arrive();
      break;
    default: moment = arrive();
  }
  if (remote)
    came_into(*barrier.cta, {.stamp = moment,
                             .pc = pc,
                             .warp = thread.warp,
                             .lanes = 1u << thread.id.lane,
                             .operation = "a signal",
                             .barrier = &barrier});
  if (!tells) note_mute(me.warp, {pc, 1u << thread.id.lane, id});
}

void WatchBarriers::increment(Thread& thread, Pc pc, const Barrier& barrier) {
  settle_stores();
  order_.increment(agent(thread), barrier.watched, pc);
}

void WatchBarriers::phase_completed(const Barrier& barrier) {
  settle_tests(barrier.watched);
  order_.phase_completed(barrier.watched);
}

void WatchBarriers::passed(Thread& thread, Pc pc, const Barrier& barrier, uint64_t phases, bool cluster_scope) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->passed(thread, barrier, phases);
  const Agent me = agent(thread);
  usable(pc, *thread.warp, 1u << thread.id.lane, barrier, Viewpoint(order_, me), false, "a wait");
  order_.passed(me, barrier.watched, phases, pc, cluster_scope);
}

void WatchBarriers::passed(const Warp& warp, Pc pc, const Barrier& barrier, uint64_t phases, bool cluster_scope) {
  settle_stores();
  if (recorder_ != nullptr)
    for (Thread* lane : warp.lanes) recorder_->passed(*lane, barrier, phases);
  const Agent me = agent(warp);
  if (order_.alike(me.warp))
    usable(pc, warp, all_lanes, barrier, Viewpoint(order_, me), false, "a wait");
  else
    for (uint8_t lane = 0; lane < lane_count; ++lane)
      usable(pc, warp, 1u << lane, barrier, Viewpoint(order_, agent(warp, lane)), false, "a wait");
  order_.passed_all(me.warp, barrier.watched, phases, pc, cluster_scope);
}

void WatchBarriers::polled(Thread& thread, Pc pc, const Barrier& barrier, uint64_t phases) {
  settle_stores();
  const Agent me = agent(thread);
  usable(pc, *thread.warp, 1u << thread.id.lane, barrier, Viewpoint(order_, me), false, "a poll");
  order_.polled(me, barrier.watched, phases, pc);
  order_.asked(me, barrier.watched, pc);
}

Order::BarrierId WatchBarriers::number_of(const NamedBarrier& barrier) {
  const auto [entry, added] = named_.try_emplace(&barrier, 0);
  if (added) {
    entry->second = order_.make_barrier(false, false);
    barriers_.push_back({.name = barrier.name[0] != '\0' ? fmt::format("named barrier \"{}\"", barrier.name)
                                                         : std::string("a named barrier")});
  }
  return entry->second;
}

void WatchBarriers::arrive(const Warp& warp, Pc pc, const NamedBarrier& barrier) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->arrive(warp, barrier);
  order_.arrive(agent(warp), number_of(barrier), pc);
}

void WatchBarriers::completed(const Cta& cta, const NamedBarrier& barrier, std::span<Warp* const> waiting) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->completed(barrier, waiting);
  const Order::BarrierId id = number_of(barrier);
  // __syncthreads waits for the threads that have not exited.
  if (const auto& exits = exits_[rank_of(cta)]; barrier.whole && exits) order_.behind_exits(id, *exits);
  order_.phase_completed(id);
  for (const Warp* warp : waiting) order_.passed_all(agent(*warp).warp, id, order_.phases(id));
}

void WatchBarriers::cluster_arrive(Thread& thread, Pc pc, bool release) {
  settle_stores();
  const bool tells = release || released_[first_thread(*thread.warp) + thread.id.lane];
  if (recorder_ != nullptr) recorder_->cluster_arrive(thread, tells);
  if (tells)
    order_.arrive(agent(thread), cluster_barrier_, pc);
  else
    order_.arrive_relaxed(agent(thread), cluster_barrier_, pc);
  if (!tells) note_mute(agent(thread).warp, {pc, 1u << thread.id.lane, cluster_barrier_});
}

void WatchBarriers::cluster_completed() { order_.phase_completed(cluster_barrier_); }

void WatchBarriers::left_barriers(const Thread& thread, bool arrived) {
  settle_stores();
  order_.leave(agent(thread), cluster_barrier_, arrived);
  // Which later phases of barrier 0 are those of a __syncthreads shows when they complete.
  std::optional<Order::BarrierId>& exits = exits_[rank_of(*thread.cta)];
  if (!exits) {
    exits = order_.make_barrier(true);
    barriers_.push_back({.name = "exits"});
  }
  order_.leave(agent(thread), *exits);
}

void WatchBarriers::cluster_passed(Thread& thread, Pc pc) {
  settle_stores();
  if (recorder_ != nullptr) recorder_->cluster_passed(thread);
  order_.passed(agent(thread), cluster_barrier_, order_.phases(cluster_barrier_), pc);
}

}  // namespace warploom::loom::check
