// Findings of a cluster's run. Whoever meets a broken rule says so here, and the cluster stops:
//
//   cluster.fail(thread, pc, "MMA-RULE", "...");      // of the running thread, which never goes on
//   fail_async(op, "EXIT-REMOTE", "...");             // of work in flight: the caller returns
//   stop(cluster, warp, lanes, pc, code, ...);        // of whoever looks on, with the other sides
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loom/state/async_op.hpp"
#include "warploom/loom/report.hpp"

namespace warploom::loom {

struct OtherSide;

struct Findings {
  Report report;
  bool dead = false;  ///< there is one: nothing goes on
  std::vector<Pc> pcs;
  std::vector<std::vector<Pc>> side_pcs;  ///< of each finding
  uint64_t let_pass_count = 0;            ///< findings that Options::suppressed names
  std::map<std::pair<std::string_view, std::vector<Pc>>, bool> passed_by;
};

void add_finding(Cluster& cluster, Thread* thread, Pc pc, const char* code, std::string message,
                 std::vector<std::string> notes);
/// The same from wherever the checker looks on: returns if no thread is running. Only the first finding counts.
void stop(Cluster& cluster, const Warp* warp, uint32_t lanes, Pc pc, const char* code, std::string message,
          std::vector<std::string> notes, std::vector<OtherSide> sides);
/// The same for work in flight, which no thread executes: the caller must return.
void fail_async(const AsyncOp& op, const char* code, std::string message);
void locate_findings(Cluster& cluster);
void deadlock(Cluster& cluster);

}  // namespace warploom::loom
