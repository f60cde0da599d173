// Clock and power of the current GPU, from the driver's management library where there is one.
#pragma once

#include <optional>
#include <string>

namespace warploom::bench {

class Nvml {
 public:
  Nvml();
  bool there() const { return device_ != nullptr; }

  struct Sample {
    double clock_mhz = 0, watts = 0, celsius = 0;
  };
  std::optional<Sample> sample() const;

 private:
  void* device_ = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*power_)(void*, unsigned*) = nullptr;
  int (*temperature_)(void*, int, unsigned*) = nullptr;
};

}  // namespace warploom::bench
