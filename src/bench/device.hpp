// Device memory and events of the measurements. A CUDA error ends the program with a sentence: after it nothing that
// would be measured means anything.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>

namespace warploom::bench {

/// Prints the sentence and leaves with status 2.
[[noreturn]] void give_up(const std::string& sentence);
void check(cudaError_t error, const char* what);
/// For the functions of the library, which answer "" or what went wrong.
void check(const std::string& trouble, const char* what);

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t bytes() const { return bytes_; }
  /// Makes it at least so large; the contents are lost when it grows.
  void reserve(size_t bytes);

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

class Event {
 public:
  Event();
  ~Event();
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  void record(cudaStream_t stream);
  /// Microseconds from `earlier` to this one, both of which have happened.
  double since(const Event& earlier) const;

 private:
  cudaEvent_t event_ = nullptr;
};

/// What the GPU is, and what it could do at best.
struct Chip {
  std::string name;
  std::string driver, runtime;
  int sms = 0;
  size_t l2_bytes = 0;
  double bytes_per_second = 0;  ///< of its memory, from clock and width
  double bf16_flops = 0;        ///< dense, at the clock of the data sheet; FP8 twice that
};
Chip this_chip();

}  // namespace warploom::bench
