// Which addresses are memory of the launch: its tensors, and the dynamic shared memory of its CTAs.
//
//   if (!inside(*thread.cta, offset, 16)) cluster.fail(thread, pc, "OOB-SHARED", ...);
//   check_global(thread, pc, "cp.async.bulk", from, from + bytes, false);
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

/// True when [offset, offset + bytes) is inside the CTA's dynamic shared memory.
bool inside(const Cta& cta, uint64_t offset, uint64_t bytes);
/// The tensor that these bytes are of, or null.
const TensorRef* tensor(const Cluster& cluster, const void* begin, const void* end, bool write);
/// Reports an access of `operation` outside the launch's tensors.
void check_global(Thread& thread, Pc pc, const char* operation, const void* begin, const void* end, bool write);
/// The same of a hint, which reads nothing that the kernel sees: earlier grids may still work there.
void check_tensor(Thread& thread, Pc pc, const char* operation, const void* begin, const void* end, bool write);

}  // namespace warploom::loom
