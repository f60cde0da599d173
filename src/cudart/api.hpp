// What the files of the interface have in common: how its functions are written.
//
//   WARPLOOM_CUDA(cudaFree, (void* pointer)) {
//     return guarded([&](Device& device) { return device.memory.release(pointer, ...) ? ... ; });
//   }
#pragma once

#include "cudart/device.hpp"

/// A function of the runtime. Its result is a cudaError_t, an int to the caller.
#define WARPLOOM_CUDA(name, parameters) \
  extern "C" __attribute__((visibility("default"))) warploom::cudart::Status name parameters

/// The same under another name: variants for the default stream of each thread, which is like any other here.
#define WARPLOOM_CUDA_ALSO(other, name) \
  extern "C" __attribute__((visibility("default"), alias(#name))) decltype(name) other
