// The recorded events of a cluster: what happened from when to when, for timelines. Nothing is kept unless the launch
// asks for it (Options::record_events).
//
//   record(EventKind::mma, cta, warp.index, begin, end, columns, "mma");
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "loom/state/cta.hpp"
#include "warploom/loom/event.hpp"

namespace warploom::loom {

struct EventRecorder {
  EventLog log;
  std::unordered_map<std::string, uint32_t> names;
};

void record(EventKind kind, const Cta& cta, uint32_t warp, uint64_t begin, uint64_t end, int64_t value,
            std::string_view name);
void name_role(Thread& thread, const char* role);
void close_role(Warp& warp, uint64_t time);
void trace_point(Thread& thread, native::TracePoint point, const char* label);
void close_trace(Warp& warp, uint64_t time);

}  // namespace warploom::loom
