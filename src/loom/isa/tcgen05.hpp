// What the instructions of the tensor core and of tensor memory share.
#pragma once

#include "loom/exec/cluster.hpp"

namespace warploom::loom::isa {

/// Does the instruction set order these two, if both are tcgen05 work?
bool tcgen05_ordered(const AsyncOp& earlier, const AsyncOp& later);
/// All tcgen05 work of a kernel has one cta_group; reports another.
void note_cta_group(Thread& thread, Pc pc, int cta_group);
/// Before anything but a tcgen05.mma of such a chain reads or writes the CTA's tensor memory.
void settle_tensor_memory(const Cta& cta);
/// The first CTA of the group that the thread's tcgen05 work of this cta_group runs on.
inline uint32_t first_of_group(const Thread& thread, int cta_group) {
  const auto group = static_cast<uint32_t>(cta_group);
  return thread.cta->rank / group * group;
}

}  // namespace warploom::loom::isa
