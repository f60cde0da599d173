// What an instrumented GPU leaves for the host: plain data, the same to nvcc and to a host compiler. Device code writes
// it (watchdog.hpp, trace.hpp beside this file), include/warploom/gpu/ reads it.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define WARPLOOM_HOST_DEVICE __host__ __device__
#else
#define WARPLOOM_HOST_DEVICE
#endif

namespace warploom::gpu {

/// Text in device memory: `length` characters and a zero follow.
struct DeviceText {
  uint32_t length;

  WARPLOOM_HOST_DEVICE const char* characters() const { return reinterpret_cast<const char*>(this + 1); }
};

// ---- watchdog

/// How long a wait may take, in nanoseconds.
#ifndef WARPLOOM_WATCHDOG_NS
#define WARPLOOM_WATCHDOG_NS 1000000000
#endif

/// What cannot be seen of a barrier's arrivals: the hardware makes them.
enum Unobservable : uint32_t { unobservable_nothing = 0, unobservable_bytes = 1, unobservable_commits = 2 };

/// One waiter that was given up on.
struct StuckWait {
  uint32_t written;  ///< 1 once all the rest is there
  uint32_t block[3];
  uint32_t cluster_rank, sm, warp, lane;
  uint32_t waited_ms;
  uint32_t barrier;  ///< shared-memory address
  uint32_t side;     ///< arch::RingSide
  uint32_t stage;
  uint32_t phase;         ///< the phase waited for, from 0
  uint32_t expected;      ///< arrivals that complete a phase
  uint32_t seen;          ///< thread arrivals since `seen_phases` phases were complete
  uint32_t seen_phases;   ///< equal to `phase`: those of this phase
  uint32_t unobservable;  ///< Unobservable, or-ed
  char role[40], ring[40], signalled_by[160];
};

/// The text of a report, for printf on either side; its strings come from elsewhere on the GPU.
#define WARPLOOM_STUCK_WAIT_FORMAT                                                                        \
  "warploom watchdog: cta %u,%u,%u (cluster rank %u, sm %u) warp %u lane %u, role %s, has waited %u ms\n" \
  "  for %s%s[%u] (mbarrier at 0x%x), phase %u: %u arrivals expected, %u by threads seen %s phase %u\n"   \
  "  signalled by %s%s%s\n"
#define WARPLOOM_STUCK_WAIT_ARGUMENTS(wait, role, ring, signalled_by)                                                \
  (wait).block[0], (wait).block[1], (wait).block[2], (wait).cluster_rank, (wait).sm, (wait).warp, (wait).lane, role, \
      (wait).waited_ms, ring,                                                                                        \
      (wait).side == 0   ? ".full"                                                                                   \
      : (wait).side == 1 ? ".empty"                                                                                  \
                         : "",                                                                                       \
      (wait).stage, (wait).barrier, (wait).phase, (wait).expected, (wait).seen,                                      \
      (wait).seen_phases == (wait).phase ? "in" : "since the end of",                                                \
      (wait).seen_phases == (wait).phase ? (wait).phase : (wait).seen_phases - 1, signalled_by,                      \
      ((wait).unobservable & ::warploom::gpu::unobservable_bytes) != 0 ? "; TMA's bytes are not observable" : "",    \
      ((wait).unobservable & ::warploom::gpu::unobservable_commits) != 0 ? "; tcgen05 commits are not observable" : ""

constexpr uint32_t max_stuck_waits = 64;

/// In host memory that the GPU can write: it outlives the trap.
struct StuckWaits {
  StuckWait waits[max_stuck_waits];
};

// ---- trace

enum class TraceKind : uint8_t { begin, end, instant, wait };

struct TraceRecord {
  uint64_t clock;        ///< %clock64 of the SM
  uint64_t nanoseconds;  ///< %globaltimer at the same moment, which ticks coarsely
  uint64_t label;        ///< address of a DeviceText
  uint32_t cycles;       ///< of a wait
  uint32_t phase;        ///< of a wait
  uint16_t stage;        ///< of a wait
  uint8_t side;          ///< of a wait
  TraceKind kind;
  uint16_t sm;
  uint16_t lane;
};
static_assert(sizeof(TraceRecord) == 40);

/// One per warp of the grid.
struct TraceRegion {
  uint32_t attempts;  ///< records made; those beyond the capacity are lost, but counted
  uint32_t cluster_rank;
  uint64_t role;  ///< address of a DeviceText, or 0
};

/// What device code needs to find its region. Regions, then `capacity` records for each.
struct TraceBuffer {
  TraceRegion* regions;
  TraceRecord* records;
  uint32_t blocks, warps;  ///< of the grid, per block
  uint32_t capacity;       ///< records per warp
  uint32_t strangers;      ///< records of warps outside blocks x warps
};

}  // namespace warploom::gpu
