// bar.sync, bar.arrive and __syncthreads: barriers of whole warps of one CTA.
#include "loom/isa/named_barrier.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
void complete_named_barrier(Cta& cta, uint32_t id) {
  Cluster& cluster = *cta.cluster;
  check::Watch* const watch = cluster.watch();
  NamedBarrier& barrier = cta.named[id];
  std::vector<Warp*> waiting;
  waiting.swap(barrier.waiting);
  if (watch) watch->completed(cta, barrier, waiting);
  const uint32_t result = barrier.result();
  barrier.members.clear();
  barrier.arrived = 0;
  for (Warp* other : waiting) {
    if (barrier.reduction != native::BarReduction::none)
      for (Thread* lane : other->lanes) lane->collective_result = result;
    other->named_passed |= static_cast<uint16_t>(1u << id);
    if (cluster.recording() && barrier.time > other->lanes[0]->time)
      record(EventKind::wait, cta, other->index, other->lanes[0]->time, barrier.time, 0,
             fmt::format("named barrier {}", id));
    if (cluster.running() != nullptr && other == cluster.running()->warp) {
      for (Thread* lane : other->lanes) lane->time = std::max(lane->time, barrier.time);
    } else {
      cluster.wake_warp(*other, barrier.time);
    }
  }
}

namespace {

const char* name_of(native::BarReduction reduction) {
  switch (reduction) {
    case native::BarReduction::none: return "bar.sync or bar.arrive";
    case native::BarReduction::popc: return "bar.red.popc";
    case native::BarReduction::bit_and: return "bar.red.and";
    case native::BarReduction::bit_or: return "bar.red.or";
  }
  return "";
}

void enter_named_barrier(Warp& warp, Pc pc, uint32_t id, uint32_t threads, bool sync, bool whole, const BarVote& vote) {
  Cluster& cluster = *warp.cluster;
  check::Watch* const watch = cluster.watch();
  Thread& thread = *cluster.running();
  Cta& cta = *warp.cta;
  if (id >= 16)
    cluster.fail(thread, pc, "NAMED-BAR", fmt::format("named barrier {} does not exist; ids are 0 to 15", id));
  NamedBarrier& barrier = cta.named[id];
  if (threads == 0 || threads % 32 != 0 || threads > cta.threads.size())
    cluster.fail(thread, pc, "NAMED-BAR",
                 fmt::format("named barrier {} with {} threads; a multiple of 32 up to the CTA's {} is needed", id,
                             threads, cta.threads.size()));
  if (barrier.arrived == 0) {
    barrier.expected = threads;
    barrier.whole = whole;
    barrier.time = 0;
    barrier.reduction = vote.reduction;
    barrier.yes = 0;
  }
  if (barrier.reduction != vote.reduction)
    cluster.fail(
        thread, pc, "NAMED-BAR",
        fmt::format("{} was entered with {} and now with {}: a phase with a reduction is one of that reduction for "
                    "all its threads",
                    barrier.text(id), name_of(barrier.reduction), name_of(vote.reduction)));
  barrier.yes += vote.yes;
  // One arrival with a count is enough for all of them to be counted, whichever comes first.
  barrier.whole = barrier.whole && whole;
  if (barrier.expected != threads)
    cluster.fail(
        thread, pc, "NAMED-BAR",
        fmt::format("{} was entered for {} threads and now for {}", barrier.text(id), barrier.expected, threads));
  if (std::find(barrier.members.begin(), barrier.members.end(), &warp) != barrier.members.end())
    cluster.fail(thread, pc, "NAMED-BAR",
                 fmt::format("warp {} arrives twice at {} before it completes", warp.index, barrier.text(id)));
  barrier.members.push_back(&warp);
  barrier.arrived += 32;
  barrier.time = std::max(barrier.time, thread.time);
  if (sync) barrier.waiting.push_back(&warp);
  if (watch) watch->arrive(warp, pc, barrier);
  if (!all_here(cta, barrier)) {
    if (sync) cluster.park_warp(warp, {.kind = WaitKind::named_barrier, .pc = pc, .id = id});
    return;
  }
  complete_named_barrier(cta, id);
}

}  // namespace

void named_barrier(Warp& warp, Pc pc, uint32_t id, uint32_t threads, bool sync, bool whole, const BarVote& vote) {
  Cluster& cluster = *warp.cluster;
  const Mutated mutated = mutate(cluster, sync ? "bar.sync" : "bar.arrive", pc, nullptr);
  if (mutated.times == 0) return;
  threads += static_cast<uint32_t>(mutated.count);
  if (mutated.wrong_stage) ++id;
  if (mutated.times == 2) enter_named_barrier(warp, pc, id, threads, false, whole, vote);
  enter_named_barrier(warp, pc, id, threads, sync, whole, vote);
}

}  // namespace isa

namespace native {

using namespace front;

void bar_sync(uint32_t id, uint32_t threads) noexcept try {
  const Pc pc = WARPLOOM_PLACE(bar_sync);
  uniform_operation(pc, "bar.sync", {.a = id, .b = threads},
                    [&](const Collective&) { isa::named_barrier(*thread().warp, pc, id, threads, true); });
} catch (...) {
  break_off();
}

void bar_arrive(uint32_t id, uint32_t threads) noexcept try {
  const Pc pc = WARPLOOM_PLACE(bar_arrive);
  uniform_operation(pc, "bar.arrive", {.a = id, .b = threads},
                    [&](const Collective&) { isa::named_barrier(*thread().warp, pc, id, threads, false); });
} catch (...) {
  break_off();
}

void syncthreads() noexcept try {
  const Pc pc = WARPLOOM_PLACE(syncthreads);
  warp_operation(pc, "bar.sync", {}, [&](const Collective&) {
    Warp& warp = *thread().warp;
    isa::named_barrier(warp, pc, 0, static_cast<uint32_t>(warp.cta->threads.size()), true, true);
  });
} catch (...) {
  break_off();
}

void name_named_barrier(uint32_t id, const char* name) noexcept try {
  if (id < 16) thread().cta->named[id].name = name;
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
