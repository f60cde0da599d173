// A CTA's shared memory is gone when its last thread has left. Whatever others do there, and whatever lands there, must
// be known to be over to a thread of that CTA before it leaves: else another schedule has it come too late.
#include <fmt/format.h>

#include <algorithm>

#include "loom/check/watch.hpp"
#include "loom/machine.hpp"

namespace warploom::loom::check {

void Watch::came_into(const Cta& cta, const Stamp& stamp, Pc pc, const Warp& warp, uint32_t lanes,
                      const char* operation, const Barrier* barrier) {
  // The latest of each agent speaks for those before it.
  std::vector<Incoming>& list = incoming_[rank_of(cta)];
  const auto same = [&](const Incoming& other) {
    return other.stamp.slot == stamp.slot && other.stamp.lane == stamp.lane;
  };
  const auto known = std::find_if(list.begin(), list.end(), same);
  const Incoming incoming{stamp, pc, &warp, lanes, operation, barrier};
  if (known == list.end())
    list.push_back(incoming);
  else
    *known = incoming;
}

void Watch::exited(const Thread& thread) {
  settle_stores();
  std::vector<Incoming>& list = incoming_[rank_of(*thread.cta)];
  if (list.empty()) return;
  const Agent me = agent(thread);
  std::erase_if(list, [&](const Incoming& incoming) { return order_.covers(me, Plane::happened, incoming.stamp); });
  if (thread.cta->alive != 0 || list.empty()) return;
  const Incoming& left = list.front();
  cluster_.stop(
      left.warp, left.lanes, left.pc, "EXIT-REMOTE",
      fmt::format("{} reaches {}CTA {}, and no thread there waits for it before the CTA exits: in another "
                  "schedule it comes too late",
                  left.operation, left.barrier != nullptr ? left.barrier->name() + " of " : "", thread.cta->rank),
      {"a drain, a wait for the last slots, or a cluster barrier at the end keeps the CTA there"}, {});
}

}  // namespace warploom::loom::check
