#include "warploom/gpu/trace_log.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>

namespace warploom::gpu {

namespace {

/// SM clocks on the common time. Every record has both, but the common one ticks coarsely (up to a microsecond): the
/// rate comes from the longest stretch of any SM, and since a coarse clock is late, never early, the latest reading of
/// it on an SM fixes that SM's offset.
class Clocks {
 public:
  void add(const TraceRecord& record) {
    Sm& sm = sms_[record.sm];
    if (sm.readings++ == 0 || record.clock < sm.first.clock) sm.first = record;
    if (sm.readings == 1 || record.clock > sm.last.clock) sm.last = record;
  }
  /// After every add(); `nominal` nanoseconds per cycle are used when the run was too short to measure.
  void measure(double nominal) {
    rate_ = nominal;
    double longest = 20'000;  // ns: below that the coarse clock says little
    for (const auto& [index, sm] : sms_) {
      const auto ns = static_cast<double>(sm.last.nanoseconds - sm.first.nanoseconds);
      const auto cycles = static_cast<double>(sm.last.clock - sm.first.clock);
      if (sm.last.nanoseconds > sm.first.nanoseconds && ns > longest && cycles > 0) {
        longest = ns;
        rate_ = ns / cycles;
      }
    }
  }
  void offset(const TraceRecord& record) {
    Sm& sm = sms_[record.sm];
    const double ahead =
        static_cast<double>(static_cast<int64_t>(record.nanoseconds - sm.first.nanoseconds)) - since_first(sm, record);
    sm.offset = std::max(sm.offset, ahead);
    start_ = std::min(start_, sm.first.nanoseconds);
  }
  /// Nanoseconds since the earliest reading of the common clock.
  double time(const TraceRecord& record) const {
    const Sm& sm = sms_.at(record.sm);
    return static_cast<double>(sm.first.nanoseconds - start_) + sm.offset + since_first(sm, record);
  }
  double rate() const { return rate_; }

 private:
  struct Sm {
    TraceRecord first{}, last{};
    uint64_t readings = 0;
    double offset = 0;
  };
  double since_first(const Sm& sm, const TraceRecord& record) const {
    return static_cast<double>(record.clock - sm.first.clock) * rate_;
  }

  std::map<uint16_t, Sm> sms_;
  double rate_ = 1;
  uint64_t start_ = ~uint64_t{0};
};

std::string json_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace

TraceLog make_trace_log(const TraceMemory& memory, TraceTexts& texts, double nominal_ns_per_cycle) {
  std::map<uint64_t, std::string> known;
  const auto text = [&](uint64_t address) -> const std::string& {
    const auto [entry, added] = known.try_emplace(address);
    if (added && address != 0) entry->second = texts.at(address);
    return entry->second;
  };
  const auto each_record = [&](auto&& visit) {
    for (size_t region = 0; region < memory.regions.size(); ++region)
      for (uint32_t i = 0; i < std::min(memory.regions[region].attempts, memory.capacity); ++i)
        visit(region, memory.records[region * memory.capacity + i]);
  };

  TraceLog log;
  log.lost = memory.strangers;
  for (const TraceRegion& region : memory.regions)
    if (region.attempts > memory.capacity) log.lost += region.attempts - memory.capacity;

  Clocks clocks;
  each_record([&](size_t, const TraceRecord& record) { clocks.add(record); });
  clocks.measure(nominal_ns_per_cycle);
  each_record([&](size_t, const TraceRecord& record) { clocks.offset(record); });

  size_t described = ~size_t{0};
  each_record([&](size_t region, const TraceRecord& record) {
    const auto block = static_cast<uint32_t>(region / memory.warps_per_block);
    const auto warp = static_cast<uint32_t>(region % memory.warps_per_block);
    if (described != region) {
      log.warps.push_back(
          {block, warp, memory.regions[region].cluster_rank, record.sm, text(memory.regions[region].role)});
      described = region;
    }
    TraceEvent event{record.kind, block, warp, record.lane, record.sm, clocks.time(record), 0, text(record.label), 0};
    if (record.kind == TraceKind::wait) {
      if (record.side == 0) event.name += ".full";
      if (record.side == 1) event.name += ".empty";
      event.name.append("[").append(std::to_string(record.stage)).append("]");
      event.phase = record.phase;
      event.length_ns = record.cycles * clocks.rate();
    }
    log.events.push_back(event);
  });
  double start = std::numeric_limits<double>::infinity();
  for (const TraceEvent& event : log.events) start = std::min(start, event.begin_ns);
  for (TraceEvent& event : log.events) event.begin_ns -= start;
  return log;
}

std::string to_chrome_json(const TraceLog& log) {
  std::string json =
      "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"lost\": " + std::to_string(log.lost) + "}, \"traceEvents\": [";
  const char* separator = "\n";
  const auto add = [&](const std::string& event) {
    json += separator + event;
    separator = ",\n";
  };
  const auto where = [](uint32_t block, uint32_t warp) {
    return "\"pid\": " + std::to_string(block) + ", \"tid\": " + std::to_string(warp);
  };
  for (const TraceWarp& warp : log.warps) {
    add("{\"ph\": \"M\", \"name\": \"process_name\", " + where(warp.block, 0) + ", \"args\": {\"name\": \"cta " +
        std::to_string(warp.block) + ", sm " + std::to_string(warp.sm) + ", cluster rank " +
        std::to_string(warp.cluster_rank) + "\"}}");
    std::string name = "warp " + std::to_string(warp.warp);
    if (!warp.role.empty()) name.append(" ").append(warp.role);
    add("{\"ph\": \"M\", \"name\": \"thread_name\", " + where(warp.block, warp.warp) +
        ", \"args\": {\"name\": " + json_string(name) + "}}");
  }
  for (const TraceEvent& event : log.events) {
    char times[80];
    const char* kind = "i";
    std::snprintf(times, sizeof(times), "\"ts\": %.3f", event.begin_ns / 1000);
    std::string more;
    switch (event.kind) {
      case TraceKind::begin: kind = "B"; break;
      case TraceKind::end: kind = "E"; break;
      case TraceKind::instant: more = ", \"s\": \"t\""; break;
      case TraceKind::wait:
        kind = "X";
        std::snprintf(times, sizeof(times), "\"ts\": %.3f, \"dur\": %.3f", event.begin_ns / 1000,
                      event.length_ns / 1000);
        more.append(", \"args\": {\"phase\": ").append(std::to_string(event.phase)).append("}");
        break;
    }
    std::string line = "{\"ph\": \"";
    line.append(kind).append("\", \"cat\": \"").append(event.kind == TraceKind::wait ? "wait" : "point");
    line.append("\", \"name\": ").append(json_string(event.name)).append(", ").append(where(event.block, event.warp));
    add(line.append(", ").append(times).append(more).append("}"));
  }
  return json + "\n]}\n";
}

}  // namespace warploom::gpu
