#include "bench/device.hpp"

#include <cstdio>
#include <cstdlib>

namespace warploom::bench {

void give_up(const std::string& sentence) {
  std::fflush(stdout);
  std::fprintf(stderr, "warploom: %s\n", sentence.c_str());
  std::_Exit(2);
}

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) give_up(std::string(what) + ": " + cudaGetErrorString(error));
}

void check(const std::string& trouble, const char* what) {
  if (!trouble.empty()) give_up(std::string(what) + ": " + trouble);
}

Buffer::Buffer(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const cudaError_t error = cudaMalloc(&data_, bytes);
  if (error != cudaSuccess)
    give_up("no memory for " + std::to_string(bytes >> 20) + " MB: " + cudaGetErrorString(error));
}
Buffer::~Buffer() { cudaFree(data_); }
void Buffer::reserve(size_t bytes) {
  if (bytes > bytes_) {
    *this = Buffer();
    *this = Buffer(bytes);
  }
}

Event::Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
Event::~Event() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}
void Event::record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
double Event::since(const Event& earlier) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
  return 1e3 * static_cast<double>(milliseconds);
}

Chip this_chip() {
  Chip chip;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  chip.name = properties.name;
  chip.sms = properties.multiProcessorCount;
  chip.l2_bytes = static_cast<size_t>(properties.l2CacheSize);
  int kilohertz = 0, driver = 0, runtime = 0;
  cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, device);
  chip.bytes_per_second = 2e3 * kilohertz * properties.memoryBusWidth / 8;
  if (kilohertz == 0) chip.bytes_per_second = 4.8e12;  // the driver does not say: that of an H200
  // 4096 operations per SM and clock; 989 TFLOP/s of an H100 or H200 with 132 SMs.
  chip.bf16_flops = 989e12 * chip.sms / 132;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const auto version = [](int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  };
  chip.driver = version(driver);
  chip.runtime = version(runtime);
  return chip;
}

}  // namespace warploom::bench
