// Asynchronous work in flight: issued by an instruction, completed when the schedule says so, within the order that the
// hardware guarantees (hardware.md §4.5).
#include "loom/exec/async_queue.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/isa/tcgen05.hpp"

namespace warploom::loom {

namespace {

constexpr uint32_t reluctance_odds = 4;  // random policy: one in so many operations completes as late as possible

/// Does `later` wait for `earlier`? Only the pairs the instruction set orders; everything else may overtake.
bool ordered(const AsyncOp& earlier, const AsyncOp& later) {
  if (later.kind == AsyncOp::Kind::cp_async_arrive)
    return earlier.kind == AsyncOp::Kind::cp_async && earlier.issuer == later.issuer;
  if (earlier.kind == AsyncOp::Kind::wgmma && later.kind == AsyncOp::Kind::wgmma)
    return earlier.issuer->cta == later.issuer->cta && earlier.issuer->warp->index == later.issuer->warp->index;
  return isa::tcgen05_ordered(earlier, later);
}

/// Work that other work is ordered behind at all.
bool may_be_waited_for(const AsyncOp& op) {
  return op.kind == AsyncOp::Kind::mma || op.kind == AsyncOp::Kind::cp_async || op.kind == AsyncOp::Kind::wgmma ||
         op.kind == AsyncOp::Kind::tmem_copy || op.kind == AsyncOp::Kind::tmem_shift;
}

/// ... and work that is ordered behind other work.
bool may_wait(const AsyncOp& op) {
  return op.kind == AsyncOp::Kind::mma || op.kind == AsyncOp::Kind::commit ||
         op.kind == AsyncOp::Kind::cp_async_arrive || op.kind == AsyncOp::Kind::wgmma ||
         op.kind == AsyncOp::Kind::tmem_copy || op.kind == AsyncOp::Kind::tmem_shift;
}

bool writes_shared(const AsyncOp& op) {
  return op.kind == AsyncOp::Kind::tma_load || op.kind == AsyncOp::Kind::cp_async ||
         op.kind == AsyncOp::Kind::store_async || op.kind == AsyncOp::Kind::try_cancel ||
         op.kind == AsyncOp::Kind::bulk_send;
}

bool only_signals(const AsyncOp& op) {
  return op.kind == AsyncOp::Kind::commit || op.kind == AsyncOp::Kind::cp_async_arrive ||
         op.kind == AsyncOp::Kind::wgmma;
}

void erase_pending(Cluster& cluster, size_t index) {
  const std::unique_ptr<AsyncOp> done = std::move(cluster.pending[index]);
  cluster.pending.erase(cluster.pending.begin() + static_cast<std::ptrdiff_t>(index));
  if (!may_be_waited_for(*done)) return;
  for (size_t i = index; i < cluster.pending.size(); ++i)
    if (may_wait(*cluster.pending[i]) && ordered(*done, *cluster.pending[i])) --cluster.pending[i]->behind;
}

/// A store reads first and writes later; everything else is done at once.
void progress(AsyncOp& op, bool& done) {
  done = op.kind != AsyncOp::Kind::tma_store || op.read_done;
  if (writes_shared(op)) op.destination->packed_b.forget();
  op.land(op);
}

void complete(Cluster& cluster, size_t index) {
  check::Watch* const watch = cluster.watch();
  bool done = false;
  AsyncOp& op = *cluster.pending[index];
  if (Cluster::current() != nullptr) {
    progress(op, done);
  } else if (!survives([&] { progress(op, done); })) {
    fail_async(op, "FAULT",
               "an asynchronous copy touched memory that is not there: a tensor of the launch is smaller "
               "than it says, or at another address");
    return;
  }
  if (done && watch && !cluster.dead()) watch->finished(*cluster.pending[index]);
  if (done) erase_pending(cluster, index);
}

}  // namespace

void issue(std::unique_ptr<AsyncOp> op) {
  Cluster& cluster = *op->issuer->cluster;
  check::Watch* const watch = cluster.watch();
  const Policy policy = cluster.options().schedule.policy;
  const bool late = cluster.options().schedule.has(Fault::multicast) && op->destination != nullptr &&
                    op->kind == AsyncOp::Kind::tma_load && op->destination != op->issuer->cta;
  if (writes_shared(*op)) isa::check_overrun(*op);
  const bool at_once = !late && (policy == Policy::eager || (policy == Policy::adversarial && writes_shared(*op)));
  // Without a few that wait for long, chance completes everything within some steps.
  if (policy == Policy::random) op->reluctant = cluster.random.one_in(reluctance_odds);
  if (late) op->reluctant = true;
  if (watch) watch->issue(*op);
  if (may_wait(*op))
    for (const auto& earlier : cluster.pending) op->behind += ordered(*earlier, *op) ? 1 : 0;
  cluster.pending.push_back(std::move(op));
  if (at_once) {
    // An eager operation waits for nothing but earlier work it is ordered behind, which is complete already.
    const size_t last = cluster.pending.size() - 1;
    if (cluster.pending[last]->behind == 0) {
      AsyncOp& issued = *cluster.pending[last];
      bool done = false;
      while (!done && !cluster.dead()) progress(issued, done);
      if (done && watch) watch->finished(issued);
      if (done) erase_pending(cluster, last);
    }
    if (cluster.dead() && cluster.running() != nullptr) {
      for (;;) cluster.running()->fiber.suspend();
    }
    cluster.continue_warps();
  }
}

const AsyncOp* in_flight(const Cluster& cluster, const check::Stamp& work) {
  const auto op = std::find_if(cluster.pending.begin(), cluster.pending.end(),
                               [&](const auto& known) { return known->work != nullptr && known->work->stamp == work; });
  return op != cluster.pending.end() ? op->get() : nullptr;
}

bool complete_one(Cluster& cluster, bool forced) {
  const auto& pending = cluster.pending;
  if (pending.empty()) return false;
  size_t chosen = pending.size();
  const bool only_late = std::all_of(pending.begin(), pending.end(), [](const auto& op) { return op->reluctant; });
  const auto ready = [&](size_t i) { return (only_late || !pending[i]->reluctant) && pending[i]->behind == 0; };
  if (cluster.mode.shuffle) {
    uint32_t candidates = 0;
    for (size_t i = 0; i < pending.size(); ++i)
      if ((forced || !pending[i]->reluctant) && pending[i]->behind == 0 && cluster.random.below(++candidates) == 0)
        chosen = i;
  } else if (cluster.options().schedule.policy == Policy::adversarial) {
    // Reads of shared memory as late as possible: what only signals goes first, and the youngest before the oldest.
    for (size_t i = pending.size(); i-- > 0 && chosen == pending.size();)
      if (only_signals(*pending[i]) && ready(i)) chosen = i;
    for (size_t i = pending.size(); i-- > 0 && chosen == pending.size();)
      if (ready(i)) chosen = i;
  } else {
    for (size_t i = 0; i < pending.size() && chosen == pending.size(); ++i)
      if (ready(i)) chosen = i;
  }
  // What is late may be what the rest is ordered behind.
  for (size_t i = 0; !cluster.mode.shuffle && i < pending.size() && chosen == pending.size(); ++i)
    if (pending[i]->behind == 0) chosen = i;
  if (chosen == pending.size()) return false;
  complete(cluster, chosen);
  return true;
}

std::string barrier_name(const AsyncOp& op) {
  const Barrier* barrier = isa::find_barrier(*op.barrier_cta, op.barrier_offset);
  return barrier != nullptr ? barrier->name() : fmt::format("an mbarrier at 0x{:x}", op.barrier_offset);
}

const Barrier* deliver(const AsyncOp& op, SignalKind kind, const char* what) {
  Cluster& cluster = *op.issuer->cluster;
  check::Watch* const watch = cluster.watch();
  Barrier* barrier = isa::find_barrier(*op.barrier_cta, op.barrier_offset);
  if (barrier == nullptr) {
    fail_async(op, "BAR-UNINIT",
               fmt::format("{} on 0x{:x} of cta {}, which is not a live mbarrier", what, op.barrier_offset,
                           op.barrier_cta->rank));
    return nullptr;
  }
  const bool bytes = kind == SignalKind::complete_tx;
  const Signal signal{.kind = kind,
                      .warp = op.issuer->warp,
                      .lanes = 1u << op.issuer->id.lane,
                      .pc = op.pc,
                      .times = 1,
                      .arrivals = bytes ? 0u : 1u,
                      .bytes = bytes ? op.bytes : 0};
  if (watch) {
    watch->deliver(op, *barrier, !bytes);
    if (cluster.dead()) return nullptr;
  }
  if (isa::apply(*barrier, signal, op.finish) == MbarrierFault::none) return barrier;
  if (bytes)
    fail_async(op, "TX-RANGE", fmt::format("the byte count of {} left its range of +-1048575", barrier->name()));
  else
    fail_async(op, "ARRIVE-OVERFLOW",
               fmt::format("{} on {} of cta {}, whose phase {} expects {} more arrivals of {}", what, barrier->name(),
                           barrier->cta->rank, barrier->state.phase, barrier->state.pending, barrier->state.expected));
  return nullptr;
}

}  // namespace warploom::loom
