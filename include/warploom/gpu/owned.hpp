// Memory that a function of the CUDA runtime gives back: cudaFree, cudaFreeHost. What std::unique_ptr would do, without
// <memory>, which costs a .cu file more time than its kernel.
#pragma once

#include <cuda_runtime.h>

namespace warploom::gpu {

template <class T, cudaError_t (*release)(void*)>
class Owned {
 public:
  explicit Owned(T* memory = nullptr) : memory_(memory) {}
  Owned(Owned&& other) noexcept : memory_(other.memory_) { other.memory_ = nullptr; }
  Owned& operator=(Owned&& other) noexcept {
    T* const mine = memory_;
    memory_ = other.memory_;
    other.memory_ = mine;
    return *this;
  }
  ~Owned() {
    if (memory_ != nullptr) (void)release(memory_);
  }

  T* get() const { return memory_; }

 private:
  T* memory_;
};

}  // namespace warploom::gpu
