// Trace points of a kernel become events of its run.
#include "loom/observe/trace_points.hpp"

#include <algorithm>

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

void Cluster::trace_point(Thread& thread, native::TracePoint point, const char* label) {
  if (!recording()) return;
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
void Cluster::close_trace(Warp& warp, uint64_t time) {
  for (TraceLabel& trace : warp.trace.labels) {
    for (const uint64_t begin : trace.open)
      record(EventKind::span, *warp.cta, warp.index, begin, std::max(begin, time), 0, trace.name);
    trace.open.clear();
  }
}

}  // namespace warploom::loom
