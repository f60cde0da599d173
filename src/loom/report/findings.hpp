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

#include "loom/report/severity.hpp"
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
  std::map<std::pair<std::string_view, std::vector<Pc>>, size_t> warned;  ///< code and places of each warning
};

void add_finding(Cluster& cluster, Thread* thread, Pc pc, const char* code, std::string message,
                 std::vector<std::string> notes);
/// The same from wherever the checker looks on: returns if no thread is running. Only the first finding counts.
void stop(Cluster& cluster, const Warp* warp, uint32_t lanes, Pc pc, const char* code, std::string message,
          std::vector<std::string> notes, std::vector<OtherSide> sides, Concern concern = Concern::any);
/// The same for work in flight, which no thread executes: the caller must return.
void fail_async(const AsyncOp& op, const char* code, std::string message);
/// Of the thread, after which the machine could go on. False: it is a warning (severity.hpp), and it does.
bool ends_run(Thread& thread, Pc pc, const char* code, std::string message, std::vector<std::string> notes = {});
bool warns(const Cluster& cluster, const char* code, Concern concern);
void add_warning(Cluster& cluster, const Warp* warp, uint32_t lanes, Pc pc, const char* code, Concern concern,
                 std::string message, std::vector<std::string> notes, std::vector<OtherSide> sides);
void locate_warnings(Cluster& cluster);
void locate_findings(Cluster& cluster);
void deadlock(Cluster& cluster);

}  // namespace warploom::loom
