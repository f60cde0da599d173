// What a traced GPU run recorded, as a list of events on one clock, and as a Chrome trace (chrome://tracing, Perfetto).
// Plain C++, of libwarploom: gpu/trace.hpp fetches the records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warploom/arch/gpu/instrument_records.hpp"

namespace warploom::gpu {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

struct TraceEvent {
  TraceKind kind = TraceKind::instant;
  uint32_t block = 0, warp = 0, lane = 0, sm = 0;
  double begin_ns = 0;  ///< since the first event
  double length_ns = 0;
  std::string name;    ///< the label; for a wait "ring.full[2]"
  uint32_t phase = 0;  ///< of a wait
};

struct TraceWarp {
  uint32_t block = 0, warp = 0, cluster_rank = 0, sm = 0;
  std::string role;  ///< "" when it has not said
};

struct TraceLog {
  std::vector<TraceWarp> warps;  ///< those that recorded anything
  std::vector<TraceEvent> events;
  uint64_t lost = 0;  ///< records for which there was no room
};

/// The records of a run, as they lie in memory.
struct TraceMemory {
  uint32_t warps_per_block = 1;
  uint32_t capacity = 0;             ///< records per warp
  std::vector<TraceRegion> regions;  ///< one per warp
  std::vector<TraceRecord> records;  ///< `capacity` per region
  uint32_t strangers = 0;
};

/// The text of a DeviceText at an address of the GPU.
struct TraceTexts {
  virtual std::string at(uint64_t address) = 0;

 protected:
  ~TraceTexts() = default;
};
TraceLog make_trace_log(const TraceMemory& memory, TraceTexts& texts, double nominal_ns_per_cycle);

/// A process is a CTA, a thread a warp of it, times are microseconds.
std::string to_chrome_json(const TraceLog& log);

#pragma GCC visibility pop
}  // namespace warploom::gpu
