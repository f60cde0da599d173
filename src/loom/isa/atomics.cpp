// atom and red, on shared memory of the cluster and on global memory (hardware.md §6.2, §6.11).
#include "warploom/loom/atomics.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "loom/exec/choices.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/deferred.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/cluster_memory.hpp"
#include "loom/isa/grid_dependency.hpp"
#include "loom/isa/ordered_access.hpp"
#include "loom/observe/check/operations.hpp"
#include "loom/units/reduction.hpp"
#include "loom/units/unconfirmed.hpp"

namespace warploom::loom::native {
namespace {

/// One value: `place` op= `operand`.
void perform(const AtomicForm& form, bool global, std::byte* place, const std::byte* operand,
             const std::byte* expected) {
  static_assert(static_cast<int>(Atomic::bit_xor) == static_cast<int>(Reduction::bit_xor));
  const uint32_t bytes = size_of(form.type);
  if (form.operation == Atomic::exchange ||
      (form.operation == Atomic::compare_exchange && std::memcmp(place, expected, bytes) == 0))
    std::memcpy(place, operand, bytes);
  if (form.operation >= Atomic::exchange) return;
  ReductionType type = element_of(form.type);
  if (unconfirmed::global_f32_atomics_flush && global && type == ReductionType::f32) type = ReductionType::f32_ftz;
  reduce(static_cast<Reduction>(form.operation), type, place, operand, bytes);
}

/// Tells the checker, does it, and lets others run where a thread asks the same again and again.
void execute(Thread& self, Pc pc, const AtomicForm& form, std::byte* place, Cta* owner, uint32_t offset,
             const char* operation, const void* operand, const void* expected, void* old) {
  Cluster& cluster = *self.cluster;
  const uint32_t bytes = size_of(form.type), all = size_of(form);
  const check::Watch::Strong strong{check::update_of(form), form.order, form.scope, operation};
  const char* const point = owner == nullptr ? operation
                            : form.returns   ? "atom.shared::cluster"
                                             : "red.shared::cluster";
  visit(self, pc, {place, all, strong.update, point, owner == nullptr && form.returns});
  if (check::Watch* watch = cluster.watch()) {
    for (uint32_t at = 0; at < all; at += bytes) {
      if (owner == nullptr)
        watch->global_atomic(self, pc, place + at, bytes, strong);
      else
        watch->shared_atomic(self, pc, *owner, offset + at, bytes, strong);
    }
  }
  std::byte before[16];
  std::memcpy(before, place, all);
  for (uint32_t at = 0; at < all; at += bytes)
    perform(form, owner == nullptr, place + at, static_cast<const std::byte*>(operand) + at,
            expected == nullptr ? nullptr : static_cast<const std::byte*>(expected) + at);
  if (old != nullptr) std::memcpy(old, before, all);
  const bool changed = std::memcmp(before, place, all) != 0;
  if (form.returns)
    answered(self, pc, place, point, digest(before, all), changed);
  else if (changed)
    word_changed(cluster, place);
}

}  // namespace

void atomic_shared(const AtomicForm& form, uint32_t address, const void* operand, const void* expected,
                   void* old) noexcept try {
  Thread& self = Cluster::calling();
  const Pc pc = WARPLOOM_PLACE(atomic_shared);
  std::byte* const place = isa::cluster_memory(self, pc, address, size_of(form), ClusterAccess::atomic);
  Cta* const owner = self.cluster->owner(address);
  const char* const operation = form.returns        ? owner == self.cta ? "atom.shared" : "atom.shared::cluster"
                                : owner == self.cta ? "red.shared"
                                                    : "red.shared::cluster";
  execute(self, pc, form, place, owner, address & offset_mask, operation, operand, expected, old);
} catch (...) {
  Cluster::current()->cluster->break_off();
}

void atomic_global(const AtomicForm& form, void* address, const void* operand, const void* expected, void* old) noexcept
    try {
  Thread& self = Cluster::calling();
  const Pc pc = WARPLOOM_PLACE(atomic_global);
  self.cluster->step(self, pc);
  const uint32_t bytes = size_of(form);
  check_talks(self, pc, "an atomic");
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    self.cluster->fail(self, pc, "GLOBAL-ATOMIC",
                       fmt::format("an atomic of {} bytes at an address that is not a multiple of {}", bytes, bytes));
  check_place(self, pc, "an atomic", address, bytes, true);
  execute(self, pc, form, static_cast<std::byte*>(address), nullptr, 0, form.returns ? "atom.global" : "red.global",
          operand, expected, old);
} catch (...) {
  Cluster::current()->cluster->break_off();
}

}  // namespace warploom::loom::native
