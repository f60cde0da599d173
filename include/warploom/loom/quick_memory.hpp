// What a thread may do in memory without a call into the machine: where nothing watches, records or shuffles, a load or
// store in a tensor of the launch, or in its CTA's shared memory, is only an address to check. Who uses it: code that
// makes millions of plain accesses, as translated PTX does (warploom/ptx/memory.hpp). Everyone else calls native.hpp.
//
//   if (std::byte* place = quick_shared(offset, 4)) memcpy(value, place, 4); else ...  // native::shared_memory
#pragma once

#include "warploom/loom/native.hpp"

namespace warploom::loom::native {
#pragma GCC visibility push(default)  // the shared library exports what is declared here

/// Of one worker. Tensors enter it by `learn_global`, after an access that the machine has allowed; under a checker,
/// and while grids before this one may still run, none do.
struct QuickMemory {
  struct Range {
    uintptr_t begin = 0;
    size_t bytes = 0;
  };
  static constexpr uint32_t slots = 64;
  Range readable[slots], writable[slots];
  // Shared memory of the CTA that runs: its bytes from `shared_begin` on; none where every access must be seen.
  std::byte* shared = nullptr;
  uint32_t shared_begin = 0, shared_bytes = 0;

  static constexpr uint32_t slot(uintptr_t address) {
    return static_cast<uint32_t>(address >> 12 ^ address >> 18) % slots;
  }
};
extern thread_local constinit QuickMemory* quick_memory;

/// Notes the tensor of an access that was allowed.
void learn_global(const void* address, bool write) noexcept;

/// The thread is where its lane is: nothing that it has posted is left to be done. And of 1024 steps one is the
/// machine's, which looks whether there are too many.
WARPLOOM_FN bool quick_step() noexcept {
  const Script& s = script;
  if (s.next != s.list) [[unlikely]]
    return false;
  const uint64_t beat = s.beats->load(std::memory_order_relaxed) + 1;
  s.beats->store(beat, std::memory_order_relaxed);
  return beat % 1024 != 0;
}
/// False: ask the machine. `bytes` is a power of two.
WARPLOOM_FN bool quick_global(uintptr_t address, size_t bytes, bool write) noexcept {
  const QuickMemory& quick = *quick_memory;
  const uint32_t slot = QuickMemory::slot(address);
  const QuickMemory::Range& range = write ? quick.writable[slot] : quick.readable[slot];
  return address - range.begin < range.bytes && (address & (bytes - 1)) == 0 &&
         address - range.begin + bytes <= range.bytes && quick_step();
}
/// Null: ask the machine. `offset` in the CTA's window.
WARPLOOM_FN std::byte* quick_shared(uint32_t offset, uint32_t bytes) noexcept {
  const QuickMemory& quick = *quick_memory;
  if (offset - quick.shared_begin >= quick.shared_bytes || (offset & (bytes - 1)) != 0 ||
      offset - quick.shared_begin + bytes > quick.shared_bytes || !quick_step())
    return nullptr;
  script.thread->time += step_cost;
  return quick.shared + offset;
}

#pragma GCC visibility pop
}  // namespace warploom::loom::native
