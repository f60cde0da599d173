// What threads do in the shared memory of other CTAs without the async proxy: loads, stores and atomics (hardware.md
// §6.2), and the addresses of it.
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
namespace {

std::byte* cluster_memory(Thread& thread, Pc pc, uint32_t address, uint32_t bytes, native::ClusterAccess access) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  const char* what = access == native::ClusterAccess::load    ? "a load"
                     : access == native::ClusterAccess::store ? "a store"
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
  if (watch && access != native::ClusterAccess::atomic)
    watch->access(thread, pc, *cta, offset, bytes, access == native::ClusterAccess::store,
                  access == native::ClusterAccess::store ? "st.shared::cluster" : "ld.shared::cluster");
  return cta->window + offset;
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

namespace {

uint32_t answered(Pc pc, const uint32_t& word, uint32_t old) {
  answered(thread(), pc, &word, "atom.shared::cluster", old, word != old);
  return old;
}

uint32_t& word_at(Pc pc, uint32_t address) {
  std::byte* const place = isa::cluster_memory(thread(), pc, address, sizeof(uint32_t), ClusterAccess::atomic);
  visit(thread(), pc, place, "atom.shared::cluster", false);
  if (check::Watch* watch = thread().cluster->watch())
    watch->shared_atomic(thread(), pc, *thread().cluster->owner(address), address & offset_mask, sizeof(uint32_t));
  return *reinterpret_cast<uint32_t*>(place);
}

}  // namespace

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

uint32_t fetch_cluster(Reduction operation, uint32_t address, uint32_t value) noexcept {
  const Pc pc = WARPLOOM_PLACE(fetch_cluster);
  uint32_t& word = word_at(pc, address);
  const uint32_t old = word;
  reduce(operation, ReductionType::u32, reinterpret_cast<std::byte*>(&word), reinterpret_cast<const std::byte*>(&value),
         sizeof(word));
  return answered(pc, word, old);
}

uint32_t exchange_cluster(uint32_t address, uint32_t value) noexcept {
  const Pc pc = WARPLOOM_PLACE(exchange_cluster);
  uint32_t& word = word_at(pc, address);
  return answered(pc, word, std::exchange(word, value));
}

uint32_t compare_exchange_cluster(uint32_t address, uint32_t expected, uint32_t desired) noexcept {
  const Pc pc = WARPLOOM_PLACE(compare_exchange_cluster);
  uint32_t& word = word_at(pc, address);
  const uint32_t old = word;
  if (old == expected) word = desired;
  return answered(pc, word, old);
}

}  // namespace native
}  // namespace warploom::loom
