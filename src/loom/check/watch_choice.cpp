// Which of the operations whose result a schedule may change it really may: those that nothing orders with what they
// find out. They are what stands between one run and a verdict over all (P4 of docs/verdict.md).
#include <algorithm>

#include "loom/check/watch.hpp"
#include "loom/machine.hpp"

namespace warploom::loom::check {

size_t Watch::add_point(Pc pc, const char* operation, const Decision& decision) {
  points_.push_back({pc, operation, decision, false, false, false});
  return points_.size() - 1;
}

void Watch::tested(Thread& thread, Pc pc, const Barrier& barrier, bool complete, bool answer,
                   const Decision& decision) {
  settle_stores();
  const Agent me = agent(thread);
  const size_t point = add_point(pc, "mbarrier.test_wait", decision);
  if (complete) {
    // Where the thread knows of the end already, there is nothing to find out.
    points_[point].matters = points_[point].may_refuse = !answer || !order_.knows_of_last_phase(me, barrier.watched);
    return;
  }
  BarrierNotes& notes = barriers_[barrier.watched];
  notes.tests.emplace_back(order_.mark(me), point);
}

void Watch::settle_tests(Order::BarrierId id) {
  for (const auto& [stamp, point] : barriers_[id].tests) {
    // Who completes the phase knows of the test: it always comes too early.
    if (order_.current_covers(id, stamp)) continue;
    points_[point].matters = points_[point].may_hold = true;
  }
  barriers_[id].tests.clear();
}

void Watch::visited(Thread& thread, Pc pc, const void* object, const char* operation, bool of_launch,
                    const Decision& decision) {
  settle_stores();
  const Agent me = agent(thread);
  const size_t point = add_point(pc, operation, decision);
  points_[point].matters = of_launch || decision.choice != Choice::go;
  std::vector<Visit>& visits = visits_[object];
  for (const Visit& visit : visits) {
    if (visit.agent.warp == me.warp && visit.agent.lane == me.lane) continue;
    if (order_.covers(me, Plane::happened, visit.stamp)) continue;
    points_[visit.point].matters = points_[visit.point].may_hold = true;
    points_[point].matters = true;
  }
  // The latest of each thread: those before it could only be overtaken by overtaking that one, too.
  std::erase_if(visits, [&](const Visit& v) { return v.agent.warp == me.warp && v.agent.lane == me.lane; });
  visits.push_back({me, order_.mark(me), point});
}

void Watch::answered(Pc pc, const Decision& decision) {
  const size_t point = add_point(pc, "clusterlaunchcontrol.try_cancel", decision);
  points_[point].matters = points_[point].may_refuse = true;
}

bool Watch::knows_end(const Thread& thread, const Barrier& barrier) const {
  return order_.knows_of_last_phase(agent(thread), barrier.watched);
}

void Watch::depends(Pc pc, const char* operation) {
  for (const PointNote& point : points_)
    if (point.pc == pc && point.operation == operation) return;
  points_[add_point(pc, operation, {})].matters = true;
}

}  // namespace warploom::loom::check
