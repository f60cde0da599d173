// Which of the operations whose result a schedule may change it really may: those that nothing orders with what they
// find out. They are what stands between one run and a verdict over all (P4 of docs/verdict.md).
#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/observe/check/watch.hpp"

namespace warploom::loom::check {
namespace {

/// Of a point that no schedule can name.
constexpr Decision nothing_decided{.cluster = 0, .point = ~0u, .choice = Choice::go};

}  // namespace

size_t WatchNotes::add_point(Pc pc, const char* operation, const Decision& decision) {
  points_.push_back({pc, operation, decision, false, false, false});
  return points_.size() - 1;
}

/// Over all schedules, so many phases may be complete when a test is made as lie between those its thread knows of and
/// those whose end does not wait for it. The answer is the same in all of them only where that is one number: of two
/// neighbours, one has the parity and the other has not.
void WatchBarriers::tested(Thread& thread, Pc pc, const Barrier& barrier, const Asked& asked, bool answer,
                           const Decision& decision) {
  settle_stores();
  const Agent me = agent(thread);
  const Order::BarrierId id = barrier.watched;
  usable(pc, *thread.warp, 1u << thread.id.lane, barrier, Viewpoint(order_, me), false, "a test");
  const uint64_t complete = order_.phases(id), least = order_.least_phases(me, id);
  const size_t point = add_point(pc, "mbarrier.test_wait", decision);
  const bool passed = (complete & 1) == (asked.phases & 1);
  points_[point].matters = least < complete || passed != answer;
  points_[point].may_refuse = passed && points_[point].matters;
  for (uint64_t phases = least; phases < complete; ++phases) note_alias(id, asked, phases, order_.now(me), pc);
  if (asked.by_token) note_alias(id, asked, complete, order_.now(me), pc);
  if (answer) return;
  order_.asked(me, id, pc);
  barriers_[id].tests.push_back({order_.mark(me), point, asked, pc});
}

/// A test that is answered by the parity of a phase it does not ask for.
void WatchBarriers::note_alias(Order::BarrierId id, const Asked& asked, uint64_t phases, const Stamp& by, Pc pc) {
  const bool passes = (phases & 1) == (asked.phases & 1) && phases != asked.phases;
  const bool stale = asked.by_token && phases != asked.phases && phases + 1 != asked.phases;
  if ((passes || stale) && order_.violated) order_.violated({PhaseRule::test_answered, id, asked.phases - 1, by, pc});
}

void WatchBarriers::settle_tests(Order::BarrierId id) {
  std::vector<BarrierNotes::Test>& tests = barriers_[id].tests;
  if (tests.empty()) return;
  // Who completes the phase knows of the test: it always comes too early, for this phase and all that follow.
  std::erase_if(tests, [&](const BarrierNotes::Test& test) { return order_.current_covers(id, test.stamp); });
  const uint64_t complete = order_.phases(id) + 1;
  const std::vector<BarrierNotes::Test> left = tests;  // a finding does not return: the list may change meanwhile
  for (const BarrierNotes::Test& test : left) {
    points_[test.point].matters = points_[test.point].may_hold = true;
    note_alias(id, test.asked, complete, test.stamp, test.pc);
  }
  // Two phases on, all that can be said of it has been.
  std::erase_if(tests, [&](const BarrierNotes::Test& test) { return complete >= test.asked.phases + 2; });
}

void Watch::visited(Thread& thread, Pc pc, const VisitOf& visit, const Decision& decision) {
  settle_stores();
  const Agent me = agent(thread);
  const size_t point = add_point(pc, visit.operation, decision);
  points_[point].matters = (visit.of_launch && answers(visit.update)) || decision.choice != Choice::go;
  const auto mine = [&](const Visit& other) { return other.agent.warp == me.warp && other.agent.lane == me.lane; };
  const Stamp now = order_.mark(me);
  const auto first = reinterpret_cast<uintptr_t>(visit.object);
  for (uintptr_t at = first / visit_unit * visit_unit; at < first + visit.bytes; at += visit_unit) {
    std::vector<Visit>& visits = visits_[at];
    for (const Visit& other : visits) {
      if (mine(other) || commute(other.update, visit.update)) continue;
      if (order_.covers(me, Plane::happened, other.stamp)) continue;
      points_[other.point].matters = points_[other.point].may_hold = true;
      points_[point].matters = true;
    }
    // The latest of each thread: those before it could only be overtaken by overtaking that one, too. One that commutes
    // with others leaves those of other kinds to be asked for.
    std::erase_if(visits, [&](const Visit& other) {
      return mine(other) && (other.update == visit.update || !commute(visit.update, visit.update));
    });
    visits.push_back({me, now, point, visit.update});
  }
}

void Watch::answered(Pc pc, const Decision& decision) {
  const size_t point = add_point(pc, "clusterlaunchcontrol.try_cancel", decision);
  points_[point].matters = points_[point].may_refuse = true;
}

// A reduction does not wait for a decision: it lands when its engine comes to it. Of a thread's operation, the point
// that it came to is known by the word, unless it was that of a cluster that is gone.
void WatchMemory::updated(const void* word, uint32_t bytes, Pc pc, const char* operation, bool by_thread) {
  bool known = false;
  const auto first = reinterpret_cast<uintptr_t>(word);
  for (uintptr_t at = first / visit_unit * visit_unit; by_thread && at < first + bytes; at += visit_unit) {
    const auto found = visits_.find(at);
    if (found == visits_.end()) continue;
    known = known || !found->second.empty();
    for (const Visit& visit : found->second) points_[visit.point].matters = points_[visit.point].may_hold = true;
  }
  if (!known) depends(pc, operation);
}

void WatchMemory::updated(const Conflict& conflict, const Shadow& shadow) {
  const Cta& cta = cluster_.cta(static_cast<uint32_t>(&shadow - shared_.data()));
  if (!order_shows(conflict.earlier.update, conflict.later.update)) return;
  for (const Record* record : {&conflict.earlier, &conflict.later}) {
    const Site& site = sites_[record->site];
    updated(cta.window + conflict.at, 1, site.pc, site.operation, record->proxy == Proxy::generic);
  }
}

void WatchMemory::updated(const GlobalConflict& conflict) {
  for (const GlobalAccess* access : {&conflict.earlier, &conflict.later}) {
    const GlobalSite& site = global_->site(access->site);
    updated(reinterpret_cast<const void*>(conflict.address), conflict.bytes, site.pc, site.operation,
            access->by_thread && access->cluster == cluster_.index());
  }
}

void Watch::cancel_asked(Thread& thread, Pc pc) {
  settle_stores();
  const Agent me = agent(thread);
  std::vector<Incoming>& list = cancels_[rank_of(*thread.cta)];
  std::erase_if(list, [&](const Incoming& other) { return order_.covers(me, Plane::happened, other.stamp); });
  list.push_back({.stamp = order_.mark(me), .pc = pc, .warp = thread.warp, .lanes = 1u << thread.id.lane});
}

void Watch::cancel_refused(Thread& thread, Pc pc) {
  settle_stores();
  for (const Incoming& asked : cancels_[rank_of(*thread.cta)]) {
    if (order_.covers(agent(thread), Plane::happened, asked.stamp)) continue;
    stop(cluster_, asked.warp, asked.lanes, asked.pc, "CLC-AFTER-FAILURE",
         "try_cancel that nothing orders before the moment at which its CTA sees a request fail: in another "
         "schedule it comes after that, and then none may follow",
         {"one thread of a CTA asks, and asks again only when it has seen the answer before"},
         {{"sees a request fail", thread.warp, 1u << thread.id.lane, pc}});
  }
}

void Watch::grid_waited(const Thread& thread) {
  settle_stores();
  grid_waits_[rank_of(*thread.cta)].push_back(order_.mark(agent(thread)));
}

bool Watch::knows_grid_wait(const Thread& thread) const {
  return std::ranges::any_of(grid_waits_[rank_of(*thread.cta)],
                             [&](const Stamp& wait) { return order_.covers(agent(thread), Plane::happened, wait); });
}

// ---- setmaxnreg
//
// The registers that a CTA has to spare are a lock: an increase waits until others have given enough back. It is
// granted in every schedule if what is given back before it, or without waiting for any increase, is enough for it and
// for all increases that may come before it. Otherwise it is a point.

void Watch::registers_asked(const Warp& warp, Pc pc, uint32_t count) {
  settle_stores();
  RegisterPool& pool = pools_[rank_of(*warp.cta)];
  const Agent me = agent(warp);
  RegisterPool::Change mine;
  mine.count = mine.demand = count;
  for (RegisterPool::Change& other : pool.increases) {
    mine.demand += other.count;
    if (!order_.covers(me, Plane::happened, other.stamp)) other.demand += count;
  }
  for (const RegisterPool::Change& given : pool.decreases)
    if (given.depends && order_.covers(me, Plane::happened, given.stamp)) mine.supply += given.count;
  mine.point = add_point(pc, "setmaxnreg.inc", nothing_decided);
  mine.stamp = order_.mark(me);
  pool.increases.push_back(mine);
}

void Watch::registers_given(const Warp& warp, uint32_t count) {
  settle_stores();
  RegisterPool& pool = pools_[rank_of(*warp.cta)];
  const Agent me = agent(warp);
  RegisterPool::Change mine;
  mine.count = count;
  mine.depends = std::ranges::any_of(pool.increases, [&](const RegisterPool::Change& taken) {
    return order_.covers(me, Plane::happened, taken.stamp);
  });
  mine.stamp = order_.mark(me);
  pool.decreases.push_back(mine);
}

void Watch::settle_registers() {
  for (const RegisterPool& pool : pools_) {
    uint64_t independent = 0;
    for (const RegisterPool::Change& given : pool.decreases) independent += given.depends ? 0 : given.count;
    for (const RegisterPool::Change& taken : pool.increases)
      if (taken.demand > independent + taken.supply) points_[taken.point].matters = true;
  }
}

bool WatchBarriers::knows_end(const Thread& thread, const Barrier& barrier) const {
  return order_.knows_of_last_phase(agent(thread), barrier.watched);
}

uint64_t WatchBarriers::least_phases(const Thread& thread, const Barrier& barrier) const {
  return order_.least_phases(agent(thread), barrier.watched);
}

void WatchNotes::depends(Pc pc, const char* operation) {
  for (const PointNote& point : points_)
    if (point.pc == pc && point.operation == operation) return;
  points_[add_point(pc, operation, nothing_decided)].matters = true;
}

}  // namespace warploom::loom::check
