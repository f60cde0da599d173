// tensormap.replace, its publication and its fence (hardware.md §2.2). A map that a kernel published is used by no
// thread that has not executed the fence since; which launch wrote it does not matter, a kernel's end is fence enough.
#include "loom/units/tensor_map_edit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/observe/check/operations.hpp"
#include "loom/exec/cluster.hpp"

namespace warploom::loom {

TensorMap& Cluster::draft_at(Thread& thread, Pc pc, uint32_t address, bool write, const char* operation) {
  step(thread, pc);
  const uint32_t offset = address & offset_mask;
  if (owner(address) != thread.cta || offset % alignof(TensorMap) != 0 ||
      !inside(*thread.cta, offset, sizeof(TensorMap)))
    fail(thread, pc, "TMA-RULE",
         fmt::format("a tensor map is changed in 128 aligned bytes of the CTA's shared memory, not at 0x{:08x}",
                     address));
  if (watch_) watch_->access(thread, pc, *thread.cta, offset, sizeof(TensorMap), write, operation);
  return *reinterpret_cast<TensorMap*>(thread.cta->window + offset);
}

void Cluster::tensor_map_replace(Thread& thread, Pc pc, uint32_t address, TensorMapField field, uint32_t which,
                                 uint64_t value) {
  if (!replace_field(draft_at(thread, pc, address, true, "tensormap.replace"), field, which, value))
    fail(thread, pc, "TMA-RULE", "tensormap.replace of bytes that are no tensor map; copy one there first");
}

void Cluster::publish_tensor_map(Warp& /*warp*/, Pc pc, TensorMap* destination, uint32_t address) {
  Thread& thread = *running_;
  const TensorMap& draft = draft_at(thread, pc, address, false, "tensormap.cp_fenceproxy");
  if (reinterpret_cast<uintptr_t>(destination) % alignof(TensorMap) != 0)
    fail(thread, pc, "TMA-RULE", "a tensor map in global memory lies at a multiple of 128 bytes");
  check_global(thread, pc, "tensormap.cp_fenceproxy", destination, destination + 1, true);
  *destination = draft;
  PublishedMap& published = published_[destination];
  published.fenced.clear();
  if (watch_) published.at = watch_->published(thread, pc, destination, sizeof(TensorMap));
}

void Cluster::acquire_tensor_map(Thread& thread, Pc pc, const TensorMap& map) {
  step(thread, pc);
  const auto entry = published_.find(&map);
  if (entry == published_.end()) return;
  // One that nothing orders behind the publication comes too early in another schedule.
  if (!watch_ || watch_->knows(thread, *entry->second.at)) entry->second.fenced.push_back(&thread);
}

TensorMapArgs Cluster::usable_map(Thread& thread, Pc pc, const TensorMap& map) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&map);
  for (const auto& cta : ctas_)
    if (bytes >= cta->alias && bytes < cta->alias + cta->window_bytes)
      fail(thread, pc, "TMA-RULE", "a tensor map in shared memory cannot be used; publish_tensor_map copies it out");
  if (const auto entry = published_.find(&map);
      entry != published_.end() &&
      std::find(entry->second.fenced.begin(), entry->second.fenced.end(), &thread) == entry->second.fenced.end())
    fail(thread, pc, "TMA-RULE",
         "a tensor map that this kernel changed is used without fence.proxy.tensormap (acquire_tensor_map) in the same "
         "thread, behind the publication");
  if (watch_) watch_->global_access(thread, pc, &map, sizeof(map), false);
  DecodedTensorMap decoded = decode_tensor_map(map);
  if (!decoded.valid)
    fail(thread, pc, "TMA-RULE",
         decoded.broken.empty() ? "the tensor map was not made by encode_tensor_map" : std::move(decoded.broken));
  return decoded.args;
}

namespace native {

void tensor_map_replace(uint32_t map, TensorMapField field, uint32_t which, uint64_t value) noexcept {
  Thread& self = Cluster::calling();
  self.cluster->tensor_map_replace(self, WARPLOOM_PLACE(tensor_map_replace), map, field, which, value);
}
void acquire_tensor_map(const TensorMap& map) noexcept {
  Thread& self = Cluster::calling();
  self.cluster->acquire_tensor_map(self, WARPLOOM_PLACE(acquire_tensor_map), map);
}

}  // namespace native
}  // namespace warploom::loom
