// What bulk copies with and without tensor map share: stores belong to a thread's bulk groups, and reductions into
// global memory need clusters that run one after the other.
#pragma once

#include <memory>

#include "loom/exec/cluster.hpp"

namespace warploom::loom::isa {

void check_global_reduction(Thread& thread, Pc pc);
/// Adds the store to the thread's open bulk group, and issues it.
void issue_store(Thread& thread, Pc pc, uint32_t offset, std::unique_ptr<AsyncOp> op);
/// A load, with a tensor map or without one, has arrived.
void land_tma_load(AsyncOp& op);
/// Writes what a store without tensor map has read.
void write_bulk(const AsyncOp& op);
/// The thread looks again whether the groups it waits for are done.
void wake_bulk_waiters(Thread& thread);

}  // namespace warploom::loom::isa
