// The queue of asynchronous work. An instruction fills in an AsyncOp and issues it; the queue calls op.land when the
// schedule has it complete, and that delivers what the work owes to its barrier.
//
//   auto op = asynchronous(thread, pc, AsyncOp::Kind::store_async, land_store);
//   op->destination = ...
//   issue(std::move(op));
#pragma once

#include <memory>
#include <string>

#include "loom/exec/cluster.hpp"

namespace warploom::loom {

/// A new one of the thread, to be filled in and issued. `land`: what it does when the schedule has it complete.
inline std::unique_ptr<AsyncOp> asynchronous(Thread& thread, Pc pc, AsyncOp::Kind kind, void (*land)(AsyncOp& op)) {
  auto op = std::make_unique<AsyncOp>();
  op->kind = kind;
  op->land = land;
  op->issuer = &thread;
  op->pc = pc;
  op->issued = thread.time;
  return op;
}

void issue(std::unique_ptr<AsyncOp> op);
/// The work that has this moment with the checker, if it has not ended.
const AsyncOp* in_flight(const Cluster& cluster, const check::Stamp& work);
/// Completes one of the pending operations that the schedule lets complete. False: there is none.
bool complete_one(Cluster& cluster, bool forced);
/// The signal that finished work owes to its barrier; null and a finding when that cannot take it.
const Barrier* deliver(const AsyncOp& op, SignalKind kind, const char* what);
/// The one that asynchronous work signals.
std::string barrier_name(const AsyncOp& op);

}  // namespace warploom::loom
