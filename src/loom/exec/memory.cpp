// Which addresses are memory of the launch.
#include "loom/exec/memory.hpp"

#include <fmt/format.h>

#include "loom/exec/cluster.hpp"
#include "loom/isa/grid_dependency.hpp"

namespace warploom::loom {

bool inside(const Cta& cta, uint64_t offset, uint64_t bytes) {
  Cluster& cluster = *cta.cluster;
  (void)cta;
  return offset >= window_start && offset + bytes <= window_start + cluster.launch().config->shared_bytes;
}

const TensorRef* tensor(const Cluster& cluster, const void* begin, const void* end, bool write) {
  for (const TensorRef& ref : cluster.launch().tensors) {
    const auto* base = static_cast<const std::byte*>(ref.pointer);
    // An end before the beginning: one past the end of all addresses.
    if (begin >= base && begin <= end && end <= base + ref.bytes && (!write || ref.access == Access::write))
      return &ref;
  }
  return nullptr;
}

void check_global(Thread& thread, Pc pc, const char* operation, const void* begin, const void* end, bool write) {
  isa::check_unfinished(thread, pc, begin, end, write);
  check_tensor(thread, pc, operation, begin, end, write);
}

void check_tensor(Thread& thread, Pc pc, const char* operation, const void* begin, const void* end, bool write) {
  Cluster& cluster = *thread.cluster;
  if (tensor(cluster, begin, end, write) == nullptr)
    cluster.fail(thread, pc, "OOB-GLOBAL",
                 fmt::format("{} {} global memory outside the launch's {}tensors", operation,
                             write ? "writes" : "reads", write ? "writable " : ""));
}

}  // namespace warploom::loom
