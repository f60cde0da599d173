// Memory of a worker (worker_memory.hpp).
#include "loom/exec/worker_memory.hpp"

#include <algorithm>
#include <new>

#include "loom/state/addresses.hpp"
#include "sys/mman.h"

namespace warploom::loom {

AliasWindows::AliasWindows(uint32_t ctas, uint32_t bytes)
    : stride_((bytes + size_t{4095}) / 4096 * 4096 + margin), bytes_(margin + ctas * stride_) {
  void* const memory = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(memory);
}

AliasWindows::~AliasWindows() { munmap(base_, bytes_); }

uint32_t AliasWindows::rank_at(const void* address) const {
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - base_);
  // Half of what lies between two windows belongs to each.
  const size_t rank = (offset - std::min(offset, margin / 2)) / stride_;
  return static_cast<uint32_t>(std::min(rank, (bytes_ - margin) / stride_ - 1));
}

WorkerMemory::WorkerMemory(const LaunchConfig& config, Heartbeat& heart)
    : heartbeat(heart),
      window_bytes(window_start + static_cast<uint32_t>((config.shared_bytes + 1023) / 1024 * 1024)),
      aliases(config.cluster.count(), window_bytes) {
  for (uint32_t i = 0; i < config.cluster.count(); ++i) {
    windows.emplace_back(static_cast<std::byte*>(std::aligned_alloc(1024, window_bytes)));
    if (windows.back() == nullptr) throw std::bad_alloc();
    tmem.emplace_back(tmem_lane_count * tmem_column_count);
  }
}

WorkerMemory::~WorkerMemory() {
  heartbeat.in_kernel.store(false, std::memory_order_relaxed);  // after an exception, too: the watchdog leaves it alone
}

}  // namespace warploom::loom
