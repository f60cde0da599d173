#include "bench/nvml.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>

namespace warploom::bench {

// The few functions used, as the library's documentation declares them; a status of 0 is success.
Nvml::Nvml() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  const auto find = reinterpret_cast<int (*)(const char*, void**)>(dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
  clock_ = reinterpret_cast<decltype(clock_)>(dlsym(library, "nvmlDeviceGetClockInfo"));
  power_ = reinterpret_cast<decltype(power_)>(dlsym(library, "nvmlDeviceGetPowerUsage"));
  temperature_ = reinterpret_cast<decltype(temperature_)>(dlsym(library, "nvmlDeviceGetTemperature"));
  if (init == nullptr || find == nullptr || clock_ == nullptr || power_ == nullptr || temperature_ == nullptr) return;
  int device = 0;
  char bus[32] = {};
  if (init() != 0 || cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetPCIBusId(bus, sizeof(bus), device) != cudaSuccess)
    return;
  void* handle = nullptr;
  if (find(bus, &handle) == 0) device_ = handle;
}

std::optional<Nvml::Sample> Nvml::sample() const {
  if (device_ == nullptr) return std::nullopt;
  constexpr int sm_clock = 1, gpu_die = 0;
  unsigned megahertz = 0, milliwatts = 0, celsius = 0;
  if (clock_(device_, sm_clock, &megahertz) != 0 || power_(device_, &milliwatts) != 0) return std::nullopt;
  temperature_(device_, gpu_die, &celsius);
  return Sample{static_cast<double>(megahertz), milliwatts / 1e3, static_cast<double>(celsius)};
}

}  // namespace warploom::bench
