// What the loom found: rule violations, and, when nothing can make progress, who waits where for whom.
//
// A report holds facts only; text and JSON are made from it (to_text, to_json). Addresses have become source lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warploom::loom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

struct SourceLine {
  std::string file = {};  ///< as short as it stays readable: the path below the source tree
  uint32_t line = 0;
  std::string function = {};
};

/// Where an operation was issued: the innermost frame outside the library, and the library frame that issued it.
struct Location {
  SourceLine user = {};
  SourceLine library = {};
};

/// Threads that do the same thing, collapsed: warps of one CTA in one role.
struct Agents {
  uint32_t cta = 0;  ///< rank in the cluster
  uint32_t first_warp = 0;
  uint32_t last_warp = 0;
  uint32_t lanes = 0xffffffffu;
  std::string role = {};  ///< "" when the kernel named none
};

enum class SignalKind : uint8_t { arrive, expect_tx, arrive_expect_tx, complete_tx, commit, arrive_drop };
const char* to_string(SignalKind kind);

/// Signals of one kind from one place to one barrier in one phase, added up.
struct Contribution {
  SignalKind kind = SignalKind::arrive;
  Agents agents = {};
  Location at = {};
  uint32_t times = 0;
  uint32_t arrivals = 0;
  int64_t bytes = 0;
};

enum class WaitKind : uint8_t {
  mbarrier,
  named_barrier,
  cluster_barrier,
  warp_collective,
  bulk_group,
  tmem_alloc,
  wgmma_group,
  registers,
  grid_dependency,
  held,   ///< by the schedule
  atomic  ///< asks an atomic over and over, and finds the same each time
};
const char* to_string(WaitKind kind);

struct Waiter {
  WaitKind kind = WaitKind::mbarrier;
  std::vector<Agents> agents = {};
  Location at = {};
  std::string object = {};  ///< "input.full[2]", "named barrier 1 (tmem hand-off)", "tcgen05.alloc"
  std::string owner = {};   ///< for mbarriers, the CTA that holds it: "cta 0"
  uint64_t phase = 0;       ///< the phase waited for, counted from 0
  uint64_t current = 0;     ///< the phase the object is in
  uint32_t arrived = 0;
  uint32_t expected = 0;
  int64_t bytes_armed = 0;
  int64_t bytes_landed = 0;
  std::string signalled_by = {};                 ///< in words, from the ring's policies
  std::vector<Contribution> contributions = {};  ///< to the current phase
  std::vector<Contribution> previous = {};       ///< to the phase before: who brought it then
  std::vector<std::string> causes = {};          ///< what is missing and who should have brought it
};

/// Another operation that a finding is about: the access that came first, say.
struct FindingSide {
  std::string what = {};  ///< "a TMA load writes, async proxy, for input.full[2]"
  Agents agent = {};
  Location at = {};
};

/// Of foreign code (Options::foreign), what only relies on more than the manual promises is a warning: the run goes on.
enum class Severity : uint8_t { error, warning };
const char* to_string(Severity severity);

struct Finding {
  std::string code = {};     ///< "DEADLOCK", "ARRIVE-OVERFLOW", "PHASE", ... (docs/reports.md)
  std::string message = {};  ///< one sentence
  Agents agent = {};
  Location at = {};
  std::vector<std::string> notes = {};
  std::vector<FindingSide> sides = {};
  Severity severity = Severity::error;
  std::string clause = {};  ///< of a warning: what the manual says
  uint64_t times = 1;       ///< of a warning: how often, from these places
};

struct Report {
  std::string kernel = {};
  uint32_t cluster = 0;  ///< the cluster all of this is about: the first that failed
  std::vector<Finding> findings = {};
  std::vector<Waiter> waiting = {};    ///< filled when the run stood still or met a limit
  std::string schedule = {};           ///< replays the run
  std::string mutation = {};           ///< the mutation in force, "" for the kernel as written
  std::vector<Finding> warnings = {};  ///< of all clusters, each place once; they end no run and fail none

  bool clean() const { return findings.empty(); }
};

std::string to_text(const Report& report, bool color = false);
std::string to_json(const Report& report);  ///< one JSON object

#pragma GCC visibility pop
}  // namespace warploom::loom
