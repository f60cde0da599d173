#include "loom/allocations/operators.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// Allocations until one fails; below zero: none does.
std::atomic<int64_t> until_failure{-1};
std::atomic<bool> goes_on_failing{false};
std::atomic<uint64_t> count{0}, failed{0};

bool fails() {
  ++count;
  if (until_failure.load(std::memory_order_relaxed) < 0) return false;
  const int64_t left = until_failure.fetch_sub(1);
  if (left > 0) return false;
  if (left < 0 && !goes_on_failing) return false;
  if (goes_on_failing) until_failure = 0;
  ++failed;
  return true;
}

void* allocate(size_t bytes, size_t alignment) {
  void* const memory = fails() ? nullptr
                       : alignment == 0
                           ? std::malloc(bytes == 0 ? 1 : bytes)
                           : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes, 0); }
void* operator new[](size_t bytes) { return allocate(bytes, 0); }
void* operator new(size_t bytes, std::align_val_t alignment) { return allocate(bytes, static_cast<size_t>(alignment)); }
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace warploom {

void fail_allocation(int64_t n, bool goes_on) {
  goes_on_failing = goes_on;
  if (n >= 0) failed = 0;
  until_failure = n;
}
uint64_t allocations() { return count; }
uint64_t failures() { return failed; }

}  // namespace warploom
