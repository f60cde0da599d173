// Memory that a worker keeps from one cluster to the next: stacks, windows of shared memory and the addresses that
// kernels take for them, tensor memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "loom/exec/fiber.hpp"
#include "loom/exec/guard.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/loom/quick_memory.hpp"

namespace warploom::loom {

/// Address space for the shared memory of a cluster's CTAs, as kernels see it. It cannot be touched: the machine finds
/// the bytes elsewhere, and a plain access of the kernel faults.
class AliasWindows {
 public:
  AliasWindows(uint32_t ctas, uint32_t bytes);
  ~AliasWindows();
  AliasWindows(const AliasWindows&) = delete;
  AliasWindows& operator=(const AliasWindows&) = delete;

  std::byte* of(uint32_t rank) const { return base_ + margin + rank * stride_; }
  /// Whether it is one of these addresses, or close to them.
  bool holds(const void* address) const { return address >= base_ && address < base_ + bytes_; }
  /// The CTA in whose window it is, or next to whose window.
  uint32_t rank_at(const void* address) const;

 private:
  static constexpr size_t margin = 16 << 20;  ///< a plain access that misses by no more is still seen for what it is
  size_t stride_;
  size_t bytes_;
  std::byte* base_;
};

/// Memory a worker keeps from one cluster to the next.
class WorkerMemory {
 public:
  WorkerMemory(const LaunchConfig& config, Heartbeat& heart);
  ~WorkerMemory();
  WorkerMemory(const WorkerMemory&) = delete;
  WorkerMemory& operator=(const WorkerMemory&) = delete;

  WorkerGuard guard;
  Heartbeat& heartbeat;
  StackPool stacks;
  FiberHost host;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> windows;
  std::vector<std::vector<uint32_t>> tmem;
  uint32_t window_bytes = 0;
  AliasWindows aliases;
  native::QuickMemory quick;
  bool has_run = false;  ///< a cluster has begun
};

}  // namespace warploom::loom
