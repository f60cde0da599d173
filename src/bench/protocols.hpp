// How launches are timed. All contenders of a case run in one loop and take turns, so that they meet the same clocks.
//
//   auto timings = time_cold(contenders, {.repeat = 30}, flush, stream);       // one per contender, in their order
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/device.hpp"
#include "bench/nvml.hpp"

namespace warploom::bench {

enum class Protocol : uint8_t { cold, rotating, sustained };
const char* to_string(Protocol protocol);

struct Contender {
  std::string name;
  std::string detail = {};  ///< configuration or algorithm
  /// Enqueues one launch over the operands of this set: "" or what went wrong.
  std::function<std::string(int set, cudaStream_t stream)> launch;
};

struct Timing {
  double microseconds = 0;  ///< median of single launches, or mean of launches back to back
  double fastest = 0, slowest = 0;
  int launches = 0;
  double clock_mhz = 0, watts = 0;  ///< sustained: means over the run
};

struct ProtocolOptions {
  int repeat = 30;
  int sets = 1;         ///< of operands, in other places; rotating: together larger than twice the L2 cache
  double seconds = 2;   ///< sustained: per contender
  double pause_ms = 0;  ///< cold: the chip idles before each launch, and is not yet at its power limit
};

/// Single launches with events around them, all enqueued before the first of them happens; `flush` bytes are written
/// before each, so that L2 holds none of the operands, and then the chip idles for a while.
std::vector<Timing> time_cold(const std::vector<Contender>& contenders, const ProtocolOptions& options,
                              const Buffer& flush, cudaStream_t stream);
/// Rounds over the sets, back to back; weights come from memory, as in a model of many layers.
std::vector<Timing> time_rotating(const std::vector<Contender>& contenders, const ProtocolOptions& options,
                                  cudaStream_t stream);
/// Seconds of back-to-back launches: the clock that the chip can hold.
std::vector<Timing> time_sustained(const std::vector<Contender>& contenders, const ProtocolOptions& options,
                                   const Nvml& nvml, cudaStream_t stream);

}  // namespace warploom::bench
