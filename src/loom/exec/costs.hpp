// Nominal costs, in cycles, of the loom's clock. They give timelines a sensible shape (what overlaps what) and nothing
// more: no chip was measured for them.
#pragma once

#include "warploom/loom/posted.hpp"

namespace warploom::loom::cost {

inline constexpr uint64_t operation = native::step_cost;  // any call
inline constexpr uint64_t tma_latency = 500;              // issue to first byte
inline constexpr uint64_t tma_bytes = 64;                 // bytes per cycle
inline constexpr uint64_t mma_macs = 8192;                // e4m3 multiply-adds per cycle and SM; half for 16-bit types
inline constexpr uint64_t wgmma_macs = 4096;              // the same for wgmma
inline constexpr uint64_t commit_latency = 30;
inline constexpr uint64_t launch_control_latency = 700;
inline constexpr uint64_t remote_store_latency = 200;
inline constexpr uint64_t tmem_latency = 20;
inline constexpr uint64_t tmem_register = 2;  // per register loaded, the arithmetic on it included

}  // namespace warploom::loom::cost
