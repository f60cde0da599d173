// A CTA's shared memory is gone when its last thread has left. Whatever reads, writes or signals there must be known to
// be over to a thread of that CTA before it leaves: else another schedule has it come too late. It is followed by the
// memory it works on, from its issue on, whether or not anybody is told of its end.
#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/watch.hpp"

namespace warploom::loom::check {

void WatchMemory::came_into(const Cta& cta, const Incoming& incoming) {
  // The latest of each agent speaks for those before it.
  std::vector<Incoming>& list = incoming_[rank_of(cta)];
  const auto same = [&](const Incoming& other) {
    return other.stamp.slot == incoming.stamp.slot && other.stamp.lane == incoming.stamp.lane;
  };
  const auto known = std::find_if(list.begin(), list.end(), same);
  if (known == list.end())
    list.push_back(incoming);
  else
    *known = incoming;
}

void WatchMemory::came_into(const AsyncOp& op, const char* operation) {
  const bool own = op.kind == AsyncOp::Kind::cp_async || op.kind == AsyncOp::Kind::cp_async_arrive;
  const Incoming incoming{op.work->stamp,
                          op.pc,
                          op.issuer->warp,
                          1u << op.issuer->id.lane,
                          operation,
                          own ? "EXIT-PENDING" : "EXIT-REMOTE",
                          op.barrier_cta == nullptr ? nullptr : isa::find_barrier(*op.barrier_cta, op.barrier_offset)};
  if (op.barrier_cta != nullptr) came_into(*op.barrier_cta, incoming);
  if (op.destination != nullptr && op.destination != op.barrier_cta) came_into(*op.destination, incoming);
  if (op.kind == AsyncOp::Kind::bulk_send) came_into(*op.issuer->cta, incoming);
}

void Watch::exited(const Thread& thread) {
  settle_stores();
  std::vector<Incoming>& list = incoming_[rank_of(*thread.cta)];
  if (list.empty()) return;
  const Agent me = agent(thread);
  std::erase_if(list, [&](const Incoming& incoming) { return order_.covers(me, Plane::happened, incoming.stamp); });
  if (thread.cta->alive != 0 || list.empty()) return;
  const Incoming& left = list.front();
  const std::string completing = left.barrier == nullptr ? std::string()
                                                         : fmt::format(" (completing on {} of CTA {})",
                                                                       left.barrier->name(), left.barrier->cta->rank);
  stop(cluster_, left.warp, left.lanes, left.pc, left.code,
       fmt::format("{}{} works on the shared memory of CTA {}, and no thread there waits for its end before "
                   "the CTA exits: in another schedule it comes too late",
                   left.operation, completing, thread.cta->rank),
       {"a drain, a wait for the last slots or copies, or a cluster barrier at the end keeps the CTA there"}, {});
}

}  // namespace warploom::loom::check
