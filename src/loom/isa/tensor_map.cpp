// tensormap.replace, its publication and its fence (hardware.md §2.2). A map that a kernel published is used by no
// thread that has not executed the fence since; which launch wrote it does not matter, a kernel's end is fence enough.
#include "loom/isa/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"
#include "loom/units/tensor_map_edit.hpp"

namespace warploom::loom {

namespace isa {
namespace {

TensorMap& draft_at(Thread& thread, Pc pc, uint32_t address, bool write, const char* operation) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  const uint32_t offset = address & offset_mask;
  if (cluster.owner(address) != thread.cta || offset % alignof(TensorMap) != 0 ||
      !inside(*thread.cta, offset, sizeof(TensorMap)))
    cluster.fail(thread, pc, "TMA-RULE",
                 fmt::format("a tensor map is changed in 128 aligned bytes of the CTA's shared memory, not at 0x{:08x}",
                             address));
  if (watch) watch->access(thread, pc, *thread.cta, offset, sizeof(TensorMap), write, operation);
  return *reinterpret_cast<TensorMap*>(thread.cta->window + offset);
}

void tensor_map_replace(Thread& thread, Pc pc, uint32_t address, TensorMapField field, uint32_t which, uint64_t value) {
  Cluster& cluster = *thread.cluster;
  if (!replace_field(draft_at(thread, pc, address, true, "tensormap.replace"), field, which, value))
    cluster.fail(thread, pc, "TMA-RULE",
                 "tensormap.replace of bytes that are no tensor map and not zeros; copy one there first");
}

void tensor_map_replace_global(Thread& thread, Pc pc, TensorMap& map, TensorMapField field, uint32_t which,
                               uint64_t value) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  if (reinterpret_cast<uintptr_t>(&map) % alignof(TensorMap) != 0)
    cluster.fail(thread, pc, "TMA-RULE", "a tensor map in global memory lies at a multiple of 128 bytes");
  check_global(thread, pc, "tensormap.replace", &map, &map + 1, true);
  if (!replace_field(map, field, which, value))
    cluster.fail(thread, pc, "TMA-RULE",
                 "tensormap.replace of bytes that are no tensor map and not zeros; copy one there first");
  ChangedMap& changed = cluster.changed_maps[&map];
  changed = {};
  if (watch) changed.at = watch->map_changed(thread, pc, &map, false);
}

void publish_tensor_map(Thread& thread, Pc pc, TensorMap* destination, uint32_t address) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  const TensorMap& draft = draft_at(thread, pc, address, false, "tensormap.cp_fenceproxy");
  if (reinterpret_cast<uintptr_t>(destination) % alignof(TensorMap) != 0)
    cluster.fail(thread, pc, "TMA-RULE", "a tensor map in global memory lies at a multiple of 128 bytes");
  check_global(thread, pc, "tensormap.cp_fenceproxy", destination, destination + 1, true);
  *destination = draft;
  ChangedMap& changed = cluster.changed_maps[destination];
  changed = {.released = true, .at = {}, .fences = {}};
  if (!watch) return;
  changed.at = watch->map_changed(thread, pc, destination, true);
  watch->synchronise(*thread.warp, whole_warp);  // it is the work of all lanes
}

void release_tensor_maps(Thread& thread, Pc pc) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  std::optional<check::Stamp> now;
  if (watch) now = watch->map_release(thread);
  for (auto& [map, changed] : cluster.changed_maps) {
    if (changed.released || (watch && !watch->knows(thread, *changed.at))) continue;
    changed.released = true;
    changed.at = now;
  }
}

void acquire_tensor_map(Thread& thread, Pc pc, const TensorMap& map) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  ChangedMap::Fence fence{&thread};
  if (watch) fence.at = watch->map_acquire(thread, &map);
  const auto entry = cluster.changed_maps.find(&map);
  if (entry == cluster.changed_maps.end() || !entry->second.released) return;
  // One that nothing orders behind the publication comes too early in another schedule.
  if (!watch || watch->knows(thread, *entry->second.at)) entry->second.fences.push_back(fence);
}

}  // namespace

TensorMapArgs usable_map(Thread& thread, Pc pc, const TensorMap& map) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  const auto* bytes = reinterpret_cast<const std::byte*>(&map);
  for (const auto& cta : cluster.ctas)
    if (bytes >= cta->alias && bytes < cta->alias + cta->window_bytes)
      cluster.fail(thread, pc, "TMA-RULE",
                   "a tensor map in shared memory cannot be used; publish_tensor_map copies it out");
  // What is not checked knows no order: a fence by any thread of the CTA will do.
  const auto seen = [&](const ChangedMap::Fence& fence) {
    return fence.thread == &thread || (fence.thread->cta == thread.cta && (!watch || watch->knows(thread, *fence.at)));
  };
  if (const auto entry = cluster.changed_maps.find(&map); entry != cluster.changed_maps.end()) {
    if (!entry->second.released)
      cluster.fail(thread, pc, "TMA-RULE",
                   "a tensor map that this kernel changed in global memory is used without "
                   "fence.proxy.tensormap::generic.release behind the change");
    if (std::none_of(entry->second.fences.begin(), entry->second.fences.end(), seen))
      cluster.fail(
          thread, pc, "TMA-RULE",
          "a tensor map that this kernel changed is used without fence.proxy.tensormap (acquire_tensor_map) behind the "
          "publication: in the same thread, or in one of its CTA that it synchronises with");
  }
  if (watch) watch->map_used(thread, pc, map);
  DecodedTensorMap decoded = decode_tensor_map(map);
  if (!decoded.valid)
    cluster.fail(
        thread, pc, "TMA-RULE",
        decoded.broken.empty() ? "the tensor map was not made by encode_tensor_map" : std::move(decoded.broken));
  return decoded.args;
}

}  // namespace isa

namespace native {

using namespace front;

void tensor_map_replace(uint32_t map, TensorMapField field, uint32_t which, uint64_t value) noexcept {
  Thread& self = thread();
  isa::tensor_map_replace(self, WARPLOOM_PLACE(tensor_map_replace), map, field, which, value);
}

void tensor_map_replace_global(TensorMap* map, TensorMapField field, uint32_t which, uint64_t value) noexcept {
  Thread& self = thread();
  isa::tensor_map_replace_global(self, WARPLOOM_PLACE(tensor_map_replace_global), *map, field, which, value);
}

void acquire_tensor_map(const TensorMap& map) noexcept {
  Thread& self = thread();
  isa::acquire_tensor_map(self, WARPLOOM_PLACE(acquire_tensor_map), map);
}

void release_tensor_maps() noexcept {
  Thread& self = thread();
  isa::release_tensor_maps(self, WARPLOOM_PLACE(release_tensor_maps));
}

void publish_tensor_map(TensorMap* destination, uint32_t map) noexcept try {
  const Pc pc = WARPLOOM_PLACE(publish_tensor_map);
  uniform_operation(pc, "tensormap.cp_fenceproxy", {.a = map, .b = reinterpret_cast<uintptr_t>(destination)},
                    [&](const Collective&) { isa::publish_tensor_map(thread(), pc, destination, map); });
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
