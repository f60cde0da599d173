// Trace points of a kernel become events of its run.
#include "loom/observe/trace_points.hpp"

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

void trace_point(Thread& thread, native::TracePoint point, const char* label) {
  Cluster& cluster = *thread.cluster;
  if (!cluster.recording()) return;
  Warp& warp = *thread.warp;
  TraceLabel& trace = warp.trace.label(label);
  const uint32_t lane = thread.id.lane;
  switch (point) {
    case native::TracePoint::begin:
      if (trace.begins.first(lane)) trace.open.push_back(thread.time);
      break;
    case native::TracePoint::end:
      if (!trace.ends.first(lane)) break;
      if (trace.open.empty()) {
        record(EventKind::instant, *thread.cta, warp.index, thread.time, thread.time, 0,
               std::string(label) + " (end without begin)");
        break;
      }
      // Another lane may have begun it, a little later on its own clock.
      record(EventKind::span, *thread.cta, warp.index, trace.open.back(), std::max(trace.open.back(), thread.time), 0,
             label);
      trace.open.pop_back();
      break;
    case native::TracePoint::instant:
      if (trace.instants.first(lane))
        record(EventKind::instant, *thread.cta, warp.index, thread.time, thread.time, 0, label);
      break;
  }
}

/// What has begun and not ended lasts until the warp's exit.
void close_trace(Warp& warp, uint64_t time) {
  for (TraceLabel& trace : warp.trace.labels) {
    for (const uint64_t begin : trace.open)
      record(EventKind::span, *warp.cta, warp.index, begin, std::max(begin, time), 0, trace.name);
    trace.open.clear();
  }
}

namespace native {

using namespace front;

void name_role(const char* role) noexcept try { name_role(thread(), role); } catch (...) {
  break_off();
}

void trace_point(TracePoint point, const char* label) noexcept try {
  trace_point(thread(), point, label);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
