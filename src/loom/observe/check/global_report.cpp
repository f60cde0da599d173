#include "loom/observe/check/global_report.hpp"

#include <fmt/format.h>

namespace warploom::loom::check {
namespace {

const char* verb(const GlobalAccess& access) {
  if (!access.writes()) return "reads";
  return access.touch == Touch::write || access.update == Update::store ? "writes" : "updates";
}

const char* scope_text(MemoryScope scope) {
  constexpr const char* names[] = {".cta", ".cluster", ".gpu", ".sys"};
  return names[static_cast<size_t>(scope)];
}

const char* code_of(GlobalConflict::Kind kind) {
  switch (kind) {
    case GlobalConflict::Kind::no_proxy_fence:
    case GlobalConflict::Kind::no_map_fence: return "PROXY";
    case GlobalConflict::Kind::not_visible: return "NOT-VISIBLE";
    default: return "RACE-GLOBAL";
  }
}

std::string why(const GlobalConflict& conflict) {
  switch (conflict.kind) {
    case GlobalConflict::Kind::race: return "nothing orders the two";
    case GlobalConflict::Kind::not_visible:
      return "the first is over, but nothing makes its writes visible to the second";
    case GlobalConflict::Kind::no_proxy_fence:
      return "they are ordered, but the second goes through the async proxy and no fence.proxy.async lies between them";
    case GlobalConflict::Kind::no_map_fence:
      return "they are ordered, but the second goes through the tensormap proxy, and no pair of "
             "fence.proxy.tensormap::generic.release and .acquire lies between them";
    case GlobalConflict::Kind::not_waited:
      return "nobody has waited for the end of that copy: its bytes may land at any time";
    case GlobalConflict::Kind::update_order:
    case GlobalConflict::Kind::equal_stores: break;  // no findings
    case GlobalConflict::Kind::narrow_scope:
      return fmt::format("atomics of scope {} and {} do not see each other there", scope_text(conflict.earlier.scope),
                         scope_text(conflict.later.scope));
  }
  return "";
}

std::string fix(const GlobalConflict& conflict) {
  const bool across = conflict.earlier.cluster != conflict.later.cluster;
  switch (conflict.kind) {
    case GlobalConflict::Kind::race:
      return across ? "the first cluster releases at an atomic of scope gpu after its access (fetch_add_global with "
                      "acq_rel or release, or fence_gpu() before a relaxed one); the second acquires at the same word "
                      "(acq_rel or acquire, or fence_gpu() after a relaxed one) before its own; or each cluster has "
                      "bytes of its own"
                    : "the second waits for a barrier at which the first, or its completion, arrives";
    case GlobalConflict::Kind::not_visible:
      return "pass it on with an arrival that releases to the cluster, and a wait that acquires from it "
             "(Scope::cluster), or through a barrier of the CTA";
    case GlobalConflict::Kind::no_proxy_fence:
      return "fence_proxy_async_global() after the store, before what tells of it; or after that is heard of, before "
             "the copy is issued";
    case GlobalConflict::Kind::no_map_fence:
      return "release_tensor_maps() after the change, by its thread or one that it tells; then "
             "acquire_tensor_map(map) by a thread of the CTA that uses the map, behind that and before the use";
    case GlobalConflict::Kind::not_waited:
      return "the thread that issued it executes bulk_wait_group<0>() before it tells others; bulk_wait_group_read "
             "only "
             "says that shared memory may be used again";
    case GlobalConflict::Kind::update_order:
    case GlobalConflict::Kind::equal_stores: break;  // no findings
    case GlobalConflict::Kind::narrow_scope:
      return "between clusters an atomic has scope gpu, between CTAs of one cluster cluster or gpu";
  }
  return "";
}

Agents agents_of(const GlobalSite& site, const GlobalAccess& access, uint8_t lane) {
  Agents agents = site.agents;
  if (access.by_thread) agents.lanes = 1u << lane;
  return agents;
}

}  // namespace

GlobalFinding describe(const GlobalConflict& conflict, const GlobalMemory& first, const GlobalMemory& second) {
  const GlobalSite& earlier = first.site(conflict.earlier.site);
  const GlobalSite& later = second.site(conflict.later.site);
  const std::string elsewhere = conflict.earlier.cluster != conflict.later.cluster
                                    ? fmt::format(" in cluster {}", conflict.earlier.cluster)
                                    : std::string();
  GlobalFinding finding;
  finding.code = code_of(conflict.kind);
  finding.message = fmt::format("{} {} {}, which {} {}{}: {}", later.operation, verb(conflict.later),
                                second.place_of(conflict.address), earlier.operation, verb(conflict.earlier), elsewhere,
                                why(conflict));
  finding.fix = fix(conflict);
  finding.first = fmt::format("{} {}{}{}", earlier.operation, verb(conflict.earlier),
                              conflict.earlier.proxy == Proxy::async ? ", async proxy" : "", elsewhere);
  finding.first_agents = agents_of(earlier, conflict.earlier, conflict.earlier_lane);
  finding.second_agents = agents_of(later, conflict.later, conflict.later_lane);
  finding.first_pc = earlier.pc;
  finding.second_pc = later.pc;
  return finding;
}

}  // namespace warploom::loom::check
