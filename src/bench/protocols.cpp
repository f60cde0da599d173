#include "bench/protocols.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/device_kernels.hpp"
#include "bench/statistics.hpp"

namespace warploom::bench {
namespace {

void enqueue(const Contender& contender, int set, cudaStream_t stream) {
  check(contender.launch(set, stream), contender.name.c_str());
}

Timing summary(const std::vector<double>& times) {
  Timing timing;
  timing.microseconds = median(times);
  timing.fastest = *std::min_element(times.begin(), times.end());
  timing.slowest = *std::max_element(times.begin(), times.end());
  timing.launches = static_cast<int>(times.size());
  return timing;
}

}  // namespace

const char* to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::cold: return "cold";
    case Protocol::rotating: return "rotating";
    case Protocol::sustained: return "sustained";
  }
  return "?";
}

std::vector<Timing> time_cold(const std::vector<Contender>& contenders, const ProtocolOptions& options,
                              const Buffer& flush, cudaStream_t stream) {
  const size_t count = contenders.size();
  Event before, after;  // the same two for all: nothing differs but the kernel
  Gate gate;
  std::vector<std::vector<double>> times(count);
  // One round more than counts: the first meets cold instruction caches and idle clocks.
  for (int round = -1; round < options.repeat; ++round) {
    for (size_t turn = 0; turn < count; ++turn) {
      // Odd rounds go the other way: nobody always follows the same one.
      const size_t who = round % 2 == 0 ? turn : count - 1 - turn;
      const int set = (round + 2) / 2 % options.sets;  // each of them in either order
      check(cudaMemsetAsync(flush.data(), round & 0xff, flush.bytes(), stream), "cudaMemset");
      gate.close(stream);
      before.record(stream);
      enqueue(contenders[who], set, stream);
      after.record(stream);
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options.pause_ms));
      gate.open();
      check(cudaStreamSynchronize(stream), "a launch");
      if (!gate.held()) give_up("the GPU waited too long for the host; the machine is too busy to measure");
      if (round >= 0) times[who].push_back(after.since(before));
    }
  }
  std::vector<Timing> timings;
  for (const std::vector<double>& all : times) timings.push_back(summary(all));
  return timings;
}

std::vector<Timing> time_rotating(const std::vector<Contender>& contenders, const ProtocolOptions& options,
                                  cudaStream_t stream) {
  const size_t count = contenders.size();
  Event before, after;
  std::vector<std::vector<double>> times(count);
  // Enough launches between two events that their own cost vanishes.
  const int launches = (16 + options.sets - 1) / options.sets * options.sets;
  for (int round = -1; round < options.repeat; ++round)
    for (size_t turn = 0; turn < count; ++turn) {
      const size_t who = round % 2 == 0 ? turn : count - 1 - turn;
      before.record(stream);
      for (int i = 0; i < launches; ++i) enqueue(contenders[who], i % options.sets, stream);
      after.record(stream);
      check(cudaStreamSynchronize(stream), "launches");
      if (round >= 0) times[who].push_back(after.since(before) / launches);
    }
  std::vector<Timing> timings;
  for (const std::vector<double>& all : times) {
    timings.push_back(summary(all));
    timings.back().launches *= launches;
  }
  return timings;
}

std::vector<Timing> time_sustained(const std::vector<Contender>& contenders, const ProtocolOptions& options,
                                   const Nvml& nvml, cudaStream_t stream) {
  using Clock = std::chrono::steady_clock;
  std::vector<Timing> timings;
  Event before, after;
  for (const Contender& contender : contenders) {
    // How many launches make a tenth of a second.
    before.record(stream);
    for (int i = 0; i < 4; ++i) enqueue(contender, i % options.sets, stream);
    after.record(stream);
    check(cudaStreamSynchronize(stream), "launches");
    const int batch = std::clamp(static_cast<int>(1e5 * 4 / std::max(after.since(before), 1.0)), 1, 20000);

    Timing timing;
    double clock = 0, watts = 0, total = 0;
    int samples = 0;
    std::vector<double> times;
    const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
    while (Clock::now() < end) {
      before.record(stream);
      for (int i = 0; i < batch; ++i) enqueue(contender, i % options.sets, stream);
      after.record(stream);
      if (const auto sample = nvml.sample()) {  // while they run
        clock += sample->clock_mhz;
        watts += sample->watts;
        ++samples;
      }
      check(cudaStreamSynchronize(stream), "launches");
      times.push_back(after.since(before) / batch);
      total += after.since(before);
      timing.launches += batch;
    }
    timing.fastest = *std::min_element(times.begin(), times.end());
    timing.slowest = *std::max_element(times.begin(), times.end());
    timing.microseconds = total / timing.launches;
    if (samples > 0) {
      timing.clock_mhz = clock / samples;
      timing.watts = watts / samples;
    }
    timings.push_back(timing);
  }
  return timings;
}

}  // namespace warploom::bench
