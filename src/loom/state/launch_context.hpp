// What all clusters of a launch share, and the queue of clusters that launch control takes from.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "warploom/loom/launch.hpp"

namespace warploom::loom {

namespace check {
class GlobalMemory;
}

/// The clusters of one virtual processor that wait to be launched there: every `stride`-th of the launch.
struct ProcessorQueue {
  uint32_t next = 0;
  uint32_t stride = 1;
  uint32_t end = 0;

  bool empty() const { return next >= end; }
  uint32_t pop() { return std::exchange(next, next + stride); }
};

/// A grid that may not have ended yet.
struct PriorGrid {
  const char* kernel = "";
  std::span<const TensorRef> tensors;
};

/// What all clusters of a launch share; read-only while they run.
struct LaunchContext {
  const LaunchConfig* config = nullptr;
  Entry entry = nullptr;
  const void* params = nullptr;
  std::span<const TensorRef> tensors;
  const Options* options = nullptr;
  Dim3 clusters;
  std::vector<PriorGrid> unfinished;      ///< until a cluster that started early continues
  check::GlobalMemory* global = nullptr;  ///< of all clusters, where they talk and are checked
  uint32_t first_cluster = 0;             ///< of the grids before it that are one program with it, in Decisions
};

}  // namespace warploom::loom
