// The event stream of a run. Times are nominal cycles of the loom's own clock: they follow data dependences, so that
// the schedule hardly shows in them, and they are no prediction of a chip's time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warploom::loom {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

enum class EventKind : uint8_t {
  role,      ///< a warp took a role, from `begin` to its exit at `end`; name = role
  wait,      ///< a warp was blocked; name = object
  tma_load,  ///< from issue to landing; name = destination barrier
  tma_store,
  mma,     ///< from start to completion on the tensor core
  commit,  ///< arrival of a tcgen05.commit
  tmem_load,
  tmem_store,
  arrive,   ///< a thread's arrival on a barrier
  phase,    ///< a barrier completed a phase; value = phase
  span,     ///< from a kernel's trace_begin to its trace_end; name = label
  instant,  ///< a kernel's trace_instant; name = label
};
const char* to_string(EventKind kind);

struct Event {
  EventKind kind = EventKind::role;
  uint32_t cluster = 0;
  uint32_t cta = 0;   ///< rank in the cluster
  uint32_t warp = 0;  ///< for engines: the issuing warp
  uint64_t begin = 0;
  uint64_t end = 0;
  int64_t value = 0;  ///< bytes, columns or phase
  uint32_t name = 0;  ///< index into EventLog::names
};

struct EventLog {
  std::vector<Event> events = {};  ///< in the order of clusters, then as they happened
  std::vector<std::string> names = {};
};

struct TimelineOptions {
  uint32_t cluster = 0;
  uint32_t width = 100;  ///< columns of the time axis
  bool color = false;
};

/// Roles and engines x time in block characters.
std::string render_timeline(const EventLog& log, const TimelineOptions& options);

#pragma GCC visibility pop
}  // namespace warploom::loom
