// ld.{relaxed,acquire}, st.{relaxed,release} and .volatile, on shared memory of the cluster and on global memory; and
// which memory a generic address belongs to.
#include "loom/isa/ordered_access.hpp"

#include <fmt/format.h>

#include <cstring>

#include "loom/exec/choices.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/deferred.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/cluster_memory.hpp"
#include "loom/isa/grid_dependency.hpp"
#include "loom/observe/check/operations.hpp"
#include "warploom/loom/atomics.hpp"

namespace warploom::loom::native {

void check_talks(Thread& self, Pc pc, const char* what) {
  if (self.cluster->launch().config->talks_across_clusters) return;
  self.cluster->fail(
      self, pc, "GLOBAL-ATOMIC",
      fmt::format("{} on global memory in a launch whose clusters run in any order, so that what it returns would be "
                  "chance; LaunchConfig::talks_across_clusters runs them one after the other",
                  what));
}

void check_place(Thread& self, Pc pc, const char* what, const void* address, uint32_t bytes, bool write) {
  const auto* const end = reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(address) + bytes);
  isa::check_unfinished(self, pc, address, end, write);
  if (tensor(*self.cluster, address, end, write) == nullptr)
    self.cluster->fail(
        self, pc, "OOB-GLOBAL",
        fmt::format("{} of {} bytes outside the launch's {}tensors", what, bytes, write ? "writable " : ""));
}

uint64_t digest(const void* bytes, uint32_t count) {
  uint64_t hash = 0;
  for (uint32_t at = 0; at < count; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(bytes) + at, std::min(count - at, 8u));
    hash = hash * 0x9e3779b97f4a7c15u + word;
  }
  return hash;
}

namespace {

/// The names that reports use. Orders of PTX: a load relaxes or acquires, a store relaxes or releases.
struct Names {
  const char* relaxed;
  const char* ordered;
};
constexpr Names shared_loads{"ld.relaxed.shared", "ld.acquire.shared"},
    remote_loads{"ld.relaxed.shared::cluster", "ld.acquire.shared::cluster"},
    global_loads{"ld.relaxed.global", "ld.acquire.global"};
constexpr Names shared_stores{"st.relaxed.shared", "st.release.shared"},
    remote_stores{"st.relaxed.shared::cluster", "st.release.shared::cluster"},
    global_stores{"st.relaxed.global", "st.release.global"};

const char* name_of(const OrderedAccess& access, const Names& names) {
  return access.order == MemoryOrder::relaxed ? names.relaxed : names.ordered;
}

std::byte* shared_place(Thread& self, Pc pc, const OrderedAccess& access, uint32_t address, ClusterAccess kind) {
  return isa::cluster_memory(self, pc, address, uint32_t{access.bytes} * access.count, kind);
}

void check_global_place(Thread& self, Pc pc, const OrderedAccess& access, const void* address, bool write) {
  const char* const what = write ? "a store with an order" : "a load with an order";
  const uint32_t bytes = uint32_t{access.bytes} * access.count;
  self.cluster->step(self, pc);
  check_talks(self, pc, what);
  check_place(self, pc, what, address, bytes, write);
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    self.cluster->fail(self, pc, "MISALIGNED",
                       fmt::format("{} of {} bytes in global memory at an address that is no multiple of {}: the chip "
                                   "faults",
                                   what, bytes, bytes));
}

/// Tells the checker of each value.
void tell(Thread& self, Pc pc, const OrderedAccess& access, const check::Watch::Strong& strong, const std::byte* place,
          const Cta* owner, uint32_t offset) {
  Cluster& cluster = *self.cluster;
  visit(self, pc, {place, uint32_t{access.bytes} * access.count, strong.update, strong.operation, false});
  check::Watch* const watch = cluster.watch();
  for (uint32_t i = 0; watch != nullptr && i < access.count; ++i) {
    const uint32_t at = i * access.bytes;
    if (owner == nullptr)
      watch->global_atomic(self, pc, place + at, access.bytes, strong);
    else
      watch->shared_atomic(self, pc, *owner, offset + at, access.bytes, strong);
  }
}

void load(Thread& self, Pc pc, const OrderedAccess& access, const char* operation, const std::byte* place,
          void* value) {
  const uint32_t bytes = uint32_t{access.bytes} * access.count;
  std::memcpy(value, place, bytes);
  answered(self, pc, place, operation, digest(value, bytes), false);
}

void store(Thread& self, const OrderedAccess& access, std::byte* place, const void* value) {
  const uint32_t bytes = uint32_t{access.bytes} * access.count;
  const bool changes = std::memcmp(place, value, bytes) != 0;
  std::memcpy(place, value, bytes);
  if (changes) word_changed(*self.cluster, place);
}

}  // namespace

void load_ordered_shared(const OrderedAccess& access, uint32_t address, void* value) noexcept try {
  Thread& self = Cluster::calling();
  const Pc pc = WARPLOOM_PLACE(load_ordered_shared);
  const std::byte* const place = shared_place(self, pc, access, address, ClusterAccess::ordered_load);
  Cta* const owner = self.cluster->owner(address);
  const char* const operation = name_of(access, owner == self.cta ? shared_loads : remote_loads);
  tell(self, pc, access, {check::Update::load, access.order, access.scope, operation}, place, owner,
       address & offset_mask);
  load(self, pc, access, operation, place, value);
} catch (...) {
  Cluster::current()->cluster->break_off();
}

void store_ordered_shared(const OrderedAccess& access, uint32_t address, const void* value) noexcept try {
  Thread& self = Cluster::calling();
  const Pc pc = WARPLOOM_PLACE(store_ordered_shared);
  std::byte* const place = shared_place(self, pc, access, address, ClusterAccess::ordered_store);
  Cta* const owner = self.cluster->owner(address);
  const char* const operation = name_of(access, owner == self.cta ? shared_stores : remote_stores);
  tell(self, pc, access, {check::Update::store, access.order, access.scope, operation}, place, owner,
       address & offset_mask);
  store(self, access, place, value);
} catch (...) {
  Cluster::current()->cluster->break_off();
}

void load_ordered_global(const OrderedAccess& access, const void* address, void* value) noexcept try {
  Thread& self = Cluster::calling();
  const Pc pc = WARPLOOM_PLACE(load_ordered_global);
  check_global_place(self, pc, access, address, false);
  const auto* const place = static_cast<const std::byte*>(address);
  const char* const operation = name_of(access, global_loads);
  // What no grid of the launch writes is the same in every schedule.
  if (tensor(*self.cluster, place, place + size_t{access.bytes} * access.count, true) != nullptr)
    tell(self, pc, access, {check::Update::load, access.order, access.scope, operation}, place, nullptr, 0);
  load(self, pc, access, operation, place, value);
} catch (...) {
  Cluster::current()->cluster->break_off();
}

void store_ordered_global(const OrderedAccess& access, void* address, const void* value) noexcept try {
  Thread& self = Cluster::calling();
  const Pc pc = WARPLOOM_PLACE(store_ordered_global);
  check_global_place(self, pc, access, address, true);
  auto* const place = static_cast<std::byte*>(address);
  tell(self, pc, access, {check::Update::store, access.order, access.scope, name_of(access, global_stores)}, place,
       nullptr, 0);
  store(self, access, place, value);
} catch (...) {
  Cluster::current()->cluster->break_off();
}

// ---- generic addresses

AddressSpace space_of(const void* address) noexcept {
  Thread& self = *Cluster::current();
  const auto* const at = static_cast<const std::byte*>(address);
  if (static_cast<size_t>(at - self.cta->alias) < self.cta->window_bytes) return AddressSpace::shared_cta;
  if (static_cast<size_t>(at - self.fiber.stack().bottom) < self.fiber.stack().bytes) return AddressSpace::local;
  if (!self.cluster->aliases().holds(address)) return AddressSpace::global;
  for (uint32_t rank = 0; rank < self.cluster->size(); ++rank)
    if (const Cta& cta = self.cluster->cta(rank); static_cast<size_t>(at - cta.alias) < cta.window_bytes)
      return AddressSpace::shared_cluster;
  return AddressSpace::global;
}

uint32_t window_address(const void* address) noexcept try {
  Thread& self = Cluster::calling();
  const auto* const at = static_cast<const std::byte*>(address);
  for (uint32_t rank = 0; rank < self.cluster->size(); ++rank) {
    const auto offset = static_cast<size_t>(at - self.cluster->cta(rank).alias);
    if (offset < self.cluster->cta(rank).window_bytes) return rank << rank_shift | static_cast<uint32_t>(offset);
  }
  self.cluster->fail(self, WARPLOOM_PLACE(window_address), "OOB-SHARED",
                     fmt::format("cvta.to.shared of {}, which is in no shared memory of the cluster", address));
} catch (...) {
  Cluster::current()->cluster->break_off();
}

void* generic_address(uint32_t address) noexcept try {
  Thread& self = Cluster::calling();
  Cta* const cta = self.cluster->owner(address);
  if (cta == nullptr)
    self.cluster->fail(self, WARPLOOM_PLACE(generic_address), "OOB-SHARED",
                       fmt::format("cvta.shared of 0x{:08x}, which names no CTA of the cluster", address));
  return cta->alias + (address & offset_mask);
} catch (...) {
  Cluster::current()->cluster->break_off();
}

}  // namespace warploom::loom::native
