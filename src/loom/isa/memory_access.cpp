// ld and st of shared and global memory.
#include <fmt/format.h>

#include <bit>
#include <utility>

#include "loom/exec/choices.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/deferred.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/grid_dependency.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace native {

using namespace front;

namespace {

constexpr char store_shared_text[] = "st.shared", load_shared_text[] = "ld.shared";

/// Words of 2, 4, 8 and 16 bytes lie at multiples of their size.
bool misaligned(uintptr_t address, size_t bytes) { return std::has_single_bit(bytes) && (address & (bytes - 1)) != 0; }

[[noreturn, gnu::noinline]] void fail_misaligned(Thread& self, Pc pc, const char* space, size_t bytes, bool write) {
  self.cluster->fail(
      self, pc, "MISALIGNED",
      fmt::format("a {} of {} bytes in {} memory at an address that is no multiple of {}: the chip faults",
                  write ? "store" : "load", bytes, space, bytes),
      {"smaller accesses, or alignas on what is accessed, make it one the hardware has"});
}

}  // namespace

void* shared_base(size_t bytes) noexcept try {
  Thread& self = thread();
  const uint32_t launched = self.cluster->launch().config->shared_bytes;
  if (bytes > launched)
    self.cluster->fail(
        self, WARPLOOM_PLACE(shared_base), "OOB-SHARED",
        fmt::format("the kernel's storage is {} bytes, and the launch has {} bytes of shared memory", bytes, launched));
  return self.cta->alias + window_start;
} catch (...) {
  break_off();
}

uint32_t foreign_address(const void* object) noexcept try {
  (void)object;
  Thread& self = thread();
  self.cluster->fail(self, WARPLOOM_PLACE(foreign_address), "OOB-SHARED",
                     "the address of an object that is not in this CTA's shared memory");
} catch (...) {
  break_off();
}

void* shared_memory(const void* address, size_t bytes, bool write, const void* value) noexcept try {
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(shared_memory);
  self.cluster->step(self, pc);
  const auto offset = static_cast<const std::byte*>(address) - self.cta->alias;
  if (offset < 0 || !inside(*self.cta, static_cast<uint64_t>(offset), bytes))
    self.cluster->fail(self, pc, "OOB-SHARED",
                       fmt::format("an access of {} bytes outside the CTA's dynamic shared memory", bytes));
  if (misaligned(static_cast<uintptr_t>(offset), bytes)) fail_misaligned(self, pc, "shared", bytes, write);
  if (check::Watch* watch = self.cluster->watch())
    watch->access(self, pc, *self.cta, static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes), write,
                  write ? store_shared_text : load_shared_text, value);
  return self.cta->window + offset;
} catch (...) {
  break_off();
}

void check_global(const void* address, size_t bytes, bool write, const void* value) noexcept try {
  Thread& self = thread();
  // What the checker is told comes in the order of the program: a meeting that lanes have run ahead of is over first.
  if (self.cluster->watch() != nullptr && self.joined != self.warp->whole.over) catch_up(self);
  self.cluster->count_beat(self, WARPLOOM_PLACE(check_global));
  // As numbers: a kernel may come with any address.
  const auto* const end = reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(address) + bytes);
  isa::check_unfinished(self, WARPLOOM_PLACE(check_global), address, end, write);
  if (tensor(*self.cluster, address, end, write) == nullptr)
    self.cluster->fail(self, WARPLOOM_PLACE(check_global), "OOB-GLOBAL",
                       fmt::format("a {} of {} bytes outside the launch's {}tensors", write ? "store" : "load", bytes,
                                   write ? "writable " : ""));
  if (misaligned(reinterpret_cast<uintptr_t>(address), bytes))
    fail_misaligned(self, WARPLOOM_PLACE(check_global), "global", bytes, write);
  if (check::Watch* watch = self.cluster->watch())
    watch->global_access(self, WARPLOOM_PLACE(check_global), address, bytes, write, value);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
