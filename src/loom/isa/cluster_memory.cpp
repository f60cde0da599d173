// What threads do in the shared memory of other CTAs without the async proxy: loads and stores (hardware.md §6.2;
// atomics are in atomics.cpp), and the addresses of it.
#include "loom/isa/cluster_memory.hpp"

#include <fmt/format.h>

#include <utility>

#include "loom/exec/choices.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"
#include "loom/units/reduction.hpp"

namespace warploom::loom {

namespace isa {

std::byte* cluster_memory(Thread& thread, Pc pc, uint32_t address, uint32_t bytes, native::ClusterAccess access) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  using Kind = native::ClusterAccess;
  const char* what = access == Kind::load || access == Kind::ordered_load     ? "a load"
                     : access == Kind::store || access == Kind::ordered_store ? "a store"
                                                                              : "an atomic";
  cluster.step(thread, pc);
  Cta* const cta = cluster.owner(address);
  const uint32_t offset = address & offset_mask;
  if (cta == nullptr || offset % bytes != 0 || !inside(*cta, offset, bytes))
    cluster.fail(thread, pc, "OOB-SHARED",
                 fmt::format("{} of {} bytes at 0x{:08x}; aligned shared memory of a CTA of the cluster is needed",
                             what, bytes, address));
  if (cta->alive == 0)
    cluster.fail(thread, pc, "EXIT-REMOTE",
                 fmt::format("{} in the shared memory of CTA {}, which has exited", what, cta->rank),
                 {"a cluster barrier at the end keeps every CTA there until the last access"});
  if (watch && (access == Kind::load || access == Kind::store))
    watch->access(thread, pc, *cta, offset, bytes, access == Kind::store,
                  access == Kind::store ? "st.shared::cluster" : "ld.shared::cluster");
  return cta->window + offset;
}

}  // namespace isa

namespace native {

using namespace front;

uint32_t rank_of(uint32_t address) noexcept {
  Thread& self = thread();
  if (self.cluster->owner(address) == nullptr)
    self.cluster->fail(self, WARPLOOM_PLACE(rank_of), "OOB-SHARED",
                       fmt::format("getctarank of 0x{:08x}, which names no CTA of the cluster", address));
  return address >> rank_shift;
}

uint32_t map_to_rank(uint32_t address, uint32_t rank) noexcept try {
  Thread& self = thread();
  if (rank >= self.cluster->size())
    self.cluster->fail(self, WARPLOOM_PLACE(map_to_rank), "OOB-SHARED",
                       fmt::format("mapa to CTA {} in a cluster of {}", rank, self.cluster->size()));
  return (address & offset_mask) | rank << rank_shift;
} catch (...) {
  break_off();
}

void* cluster_memory(uint32_t address, uint32_t bytes, bool write) noexcept {
  return isa::cluster_memory(thread(), WARPLOOM_PLACE(cluster_memory), address, bytes,
                             write ? ClusterAccess::store : ClusterAccess::load);
}

}  // namespace native
}  // namespace warploom::loom
