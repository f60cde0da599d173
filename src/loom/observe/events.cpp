// Recorded events, and the roles of warps among them.
#include "loom/observe/events.hpp"

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

void name_role(Thread& thread, const char* role) {
  thread.warp->role = role;
  thread.warp->role_since = thread.time;
}

void close_role(Warp& warp, uint64_t time) {
  Cluster& cluster = *warp.cluster;
  if (cluster.recording() && warp.role[0] != '\0' && !warp.role_closed)
    record(EventKind::role, *warp.cta, warp.index, warp.role_since, time, 0, warp.role);
  if (!warp.role_closed) close_trace(warp, time);
  warp.role_closed = true;
}

void record(EventKind kind, const Cta& cta, uint32_t warp, uint64_t begin, uint64_t end, int64_t value,
            std::string_view name) {
  Cluster& cluster = *cta.cluster;
  if (!cluster.recording()) return;
  const auto [entry, added] =
      cluster.events.names.try_emplace(std::string(name), static_cast<uint32_t>(cluster.events.log.names.size()));
  if (added) cluster.events.log.names.emplace_back(name);
  cluster.events.log.events.push_back({kind, cluster.index(), cta.rank, warp, begin, end, value, entry->second});
}

}  // namespace warploom::loom
