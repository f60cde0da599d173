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
    cluster.fail(thread, pc, "TMA-RULE", "tensormap.replace of bytes that are no tensor map; copy one there first");
}

void publish_tensor_map(Thread& thread, Pc pc, TensorMap* destination, uint32_t address) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  const TensorMap& draft = draft_at(thread, pc, address, false, "tensormap.cp_fenceproxy");
  if (reinterpret_cast<uintptr_t>(destination) % alignof(TensorMap) != 0)
    cluster.fail(thread, pc, "TMA-RULE", "a tensor map in global memory lies at a multiple of 128 bytes");
  check_global(thread, pc, "tensormap.cp_fenceproxy", destination, destination + 1, true);
  *destination = draft;
  PublishedMap& published = cluster.published[destination];
  published.fenced.clear();
  if (watch) published.at = watch->published(thread, pc, destination, sizeof(TensorMap));
}

void acquire_tensor_map(Thread& thread, Pc pc, const TensorMap& map) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  const auto entry = cluster.published.find(&map);
  if (entry == cluster.published.end()) return;
  // One that nothing orders behind the publication comes too early in another schedule.
  if (!watch || watch->knows(thread, *entry->second.at)) entry->second.fenced.push_back(&thread);
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
  if (const auto entry = cluster.published.find(&map);
      entry != cluster.published.end() &&
      std::find(entry->second.fenced.begin(), entry->second.fenced.end(), &thread) == entry->second.fenced.end())
    cluster.fail(
        thread, pc, "TMA-RULE",
        "a tensor map that this kernel changed is used without fence.proxy.tensormap (acquire_tensor_map) in the same "
        "thread, behind the publication");
  if (watch) watch->global_access(thread, pc, &map, sizeof(map), false);
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

void acquire_tensor_map(const TensorMap& map) noexcept {
  Thread& self = thread();
  isa::acquire_tensor_map(self, WARPLOOM_PLACE(acquire_tensor_map), map);
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
