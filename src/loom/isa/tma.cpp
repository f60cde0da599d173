// Asynchronous work: TMA loads and stores, tensor-core instructions and their commits. Each issue makes a record; the
// schedule decides when it takes effect, within the order the hardware guarantees (hardware.md §4.5).
#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/costs.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/units/reduction.hpp"

namespace warploom::loom {
namespace {

constexpr uint32_t reluctance_odds = 4;  // random policy: one in so many operations completes as late as possible

/// Does `later` wait for `earlier`? Only the pairs the instruction set orders; everything else may overtake.
bool ordered(const AsyncOp& earlier, const AsyncOp& later) {
  if (later.kind == AsyncOp::Kind::cp_async_arrive)
    return earlier.kind == AsyncOp::Kind::cp_async && earlier.issuer == later.issuer;
  if (earlier.kind == AsyncOp::Kind::wgmma && later.kind == AsyncOp::Kind::wgmma)
    return earlier.issuer->cta == later.issuer->cta && earlier.issuer->warp->index == later.issuer->warp->index;
  return tcgen05_ordered(earlier, later);
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

}  // namespace

void Cluster::note_cta_group(Thread& thread, Pc pc, int cta_group) {
  if (cta_group_ == 0) cta_group_ = cta_group;
  if (cta_group_ != cta_group)
    fail(thread, pc, "TMEM-RULE",
         fmt::format("cta_group::{} in a kernel that used cta_group::{}; all tcgen05 work must agree", cta_group,
                     cta_group_));
  if (cta_group == 2 && size() % 2 != 0)
    fail(thread, pc, "TMEM-RULE", "cta_group::2 needs clusters with an even number of CTAs");
}

void Cluster::issue(std::unique_ptr<AsyncOp> op) {
  const Policy policy = launch_.options->schedule.policy;
  const bool late = launch_.options->schedule.has(Fault::multicast) && op->destination != nullptr &&
                    op->kind == AsyncOp::Kind::tma_load && op->destination != op->issuer->cta;
  if (writes_shared(*op)) check_overrun(*op);
  const bool at_once = !late && (policy == Policy::eager || (policy == Policy::adversarial && writes_shared(*op)));
  // Without a few that wait for long, chance completes everything within some steps.
  if (policy == Policy::random) op->reluctant = random_.one_in(reluctance_odds);
  if (late) op->reluctant = true;
  if (watch_) watch_->issue(*op);
  if (may_wait(*op))
    for (const auto& earlier : pending_) op->behind += ordered(*earlier, *op) ? 1 : 0;
  pending_.push_back(std::move(op));
  if (at_once) {
    // An eager operation waits for nothing but earlier work it is ordered behind, which is complete already.
    const size_t last = pending_.size() - 1;
    if (pending_[last]->behind == 0) {
      AsyncOp& issued = *pending_[last];
      bool done = false;
      while (!done && !dead_) progress(issued, done);
      if (done && watch_) watch_->finished(issued);
      if (done) erase_pending(last);
    }
    if (dead_ && running_ != nullptr) {
      for (;;) running_->fiber.suspend();
    }
    continue_warps();
  }
}

const AsyncOp* Cluster::in_flight(const check::Stamp& work) const {
  const auto op = std::find_if(pending_.begin(), pending_.end(),
                               [&](const auto& known) { return known->work != nullptr && known->work->stamp == work; });
  return op != pending_.end() ? op->get() : nullptr;
}

void Cluster::erase_pending(size_t index) {
  const std::unique_ptr<AsyncOp> done = std::move(pending_[index]);
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  if (!may_be_waited_for(*done)) return;
  for (size_t i = index; i < pending_.size(); ++i)
    if (may_wait(*pending_[i]) && ordered(*done, *pending_[i])) --pending_[i]->behind;
}

bool Cluster::complete_one(bool forced) {
  if (pending_.empty()) return false;
  size_t chosen = pending_.size();
  const bool only_late = std::all_of(pending_.begin(), pending_.end(), [](const auto& op) { return op->reluctant; });
  const auto ready = [&](size_t i) { return (only_late || !pending_[i]->reluctant) && pending_[i]->behind == 0; };
  if (shuffle_) {
    uint32_t candidates = 0;
    for (size_t i = 0; i < pending_.size(); ++i)
      if ((forced || !pending_[i]->reluctant) && pending_[i]->behind == 0 && random_.below(++candidates) == 0)
        chosen = i;
  } else if (launch_.options->schedule.policy == Policy::adversarial) {
    // Reads of shared memory as late as possible: what only signals goes first, and the youngest before the oldest.
    for (size_t i = pending_.size(); i-- > 0 && chosen == pending_.size();)
      if (only_signals(*pending_[i]) && ready(i)) chosen = i;
    for (size_t i = pending_.size(); i-- > 0 && chosen == pending_.size();)
      if (ready(i)) chosen = i;
  } else {
    for (size_t i = 0; i < pending_.size() && chosen == pending_.size(); ++i)
      if (ready(i)) chosen = i;
  }
  // What is late may be what the rest is ordered behind.
  for (size_t i = 0; !shuffle_ && i < pending_.size() && chosen == pending_.size(); ++i)
    if (pending_[i]->behind == 0) chosen = i;
  if (chosen == pending_.size()) return false;
  complete(chosen);
  return true;
}

void Cluster::complete(size_t index) {
  bool done = false;
  AsyncOp& op = *pending_[index];
  if (current() != nullptr) {
    progress(op, done);
  } else if (!survives([&] { progress(op, done); })) {
    fail_async(op, "FAULT",
               "an asynchronous copy touched memory that is not there: a tensor of the launch is smaller "
               "than it says, or at another address");
    return;
  }
  if (done && watch_ && !dead_) watch_->finished(*pending_[index]);
  if (done) erase_pending(index);
}

std::string Cluster::barrier_name(const AsyncOp& op) {
  const Barrier* barrier = find_barrier(*op.barrier_cta, op.barrier_offset);
  return barrier != nullptr ? barrier->name() : fmt::format("an mbarrier at 0x{:x}", op.barrier_offset);
}

const Barrier* Cluster::deliver(const AsyncOp& op, SignalKind kind, const char* what) {
  Barrier* barrier = find_barrier(*op.barrier_cta, op.barrier_offset);
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
  if (watch_) {
    watch_->deliver(op, *barrier, !bytes);
    if (dead_) return nullptr;
  }
  if (apply(*barrier, signal, op.finish) == MbarrierFault::none) return barrier;
  if (bytes)
    fail_async(op, "TX-RANGE", fmt::format("the byte count of {} left its range of +-1048575", barrier->name()));
  else
    fail_async(op, "ARRIVE-OVERFLOW",
               fmt::format("{} on {} of cta {}, whose phase {} expects {} more arrivals of {}", what, barrier->name(),
                           barrier->cta->rank, barrier->state.phase, barrier->state.pending, barrier->state.expected));
  return nullptr;
}

void Cluster::progress(AsyncOp& op, bool& done) {
  done = true;
  if (writes_shared(op)) op.destination->packed_b.forget();
  switch (op.kind) {
    case AsyncOp::Kind::cp_async: return land_copy(op);
    case AsyncOp::Kind::cp_async_arrive: return land_copy_arrival(op);
    case AsyncOp::Kind::store_async: return land_store(op);
    case AsyncOp::Kind::try_cancel: return answer_cancel(op);
    case AsyncOp::Kind::bulk_send: return land_bulk_send(op);
    case AsyncOp::Kind::tma_load: {
      if (op.destination->alive == 0) {
        fail_async(op, "EXIT-REMOTE",
                   fmt::format("a TMA load lands in CTA {}, which has exited", op.destination->rank));
        return;
      }
      if (op.barrier_cta->alive == 0) {
        fail_async(
            op, "EXIT-REMOTE",
            fmt::format("a TMA load signals {} of CTA {}, which has exited", barrier_name(op), op.barrier_cta->rank));
        return;
      }
      if (op.global != nullptr)
        std::memcpy(op.destination->window + op.offset, op.global, op.bytes);
      else
        tma_load_box(op.map, op.at, op.destination->window, op.offset);
      const Barrier* barrier = deliver(op, SignalKind::complete_tx, "a TMA load completes");
      if (recording() && barrier != nullptr)
        record(EventKind::tma_load, *op.destination, op.issuer->warp->index, op.issued, op.finish, op.bytes,
               barrier->name());
      return;
    }
    case AsyncOp::Kind::tma_store: {
      if (!op.read_done) {
        op.staging.resize(op.bytes);
        if (op.global != nullptr)
          std::memcpy(op.staging.data(), op.destination->window + op.offset, op.bytes);
        else
          tma_read_box(op.map, op.at.mode, op.destination->window, op.offset, op.staging.data());
        op.read_done = true;
        op.group->read_time = std::max(op.group->read_time, op.finish);
        if (--op.group->reads_left == 0) wake_bulk_waiters(*op.issuer);
        done = false;
        return;
      }
      if (op.global != nullptr)
        write_bulk(op);
      else
        tma_write_box(op.map, op.at, op.staging.data(), op.reduction);
      op.group->write_time = std::max(op.group->write_time, op.finish + cost::tma_latency);
      record(EventKind::tma_store, *op.destination, op.issuer->warp->index, op.issued, op.finish, op.bytes, "store");
      if (--op.group->writes_left == 0) wake_bulk_waiters(*op.issuer);
      return;
    }
    case AsyncOp::Kind::mma:
    case AsyncOp::Kind::tmem_copy:
    case AsyncOp::Kind::tmem_shift: return complete_tcgen05(op);
    case AsyncOp::Kind::wgmma:
      op.wgmma->first->cta->packed_b.forget();  // shared memory may have changed since the last one
      complete_wgmma(*op.wgmma);
      warpgroup(*op.wgmma->first).let_go(*op.wgmma);
      return;
    case AsyncOp::Kind::commit: {
      if (op.barrier_cta->alive == 0) {
        fail_async(op, "EXIT-REMOTE",
                   fmt::format("tcgen05.commit arrives at {} of CTA {}, which has exited", barrier_name(op),
                               op.barrier_cta->rank));
        return;
      }
      const Barrier* barrier = deliver(op, SignalKind::commit, "tcgen05.commit arrives");
      if (recording() && barrier != nullptr)
        record(EventKind::commit, *op.barrier_cta, op.issuer->warp->index, op.finish, op.finish, 0, barrier->name());
      return;
    }
  }
}

void Cluster::tma_load(Thread& thread, Pc pc, int cta_group, uint32_t destination, const TensorMap& map,
                       uint32_t barrier, const native::Coordinates& at, int cta_mask) {
  step(thread, pc);
  const TensorMapArgs args = usable_map(thread, pc, map);
  const uint32_t offset = destination & offset_mask;
  if (std::string rule = check_tma_copy(args, offset, at, false); !rule.empty())
    fail(thread, pc, "TMA-RULE", std::move(rule));
  if (owner(destination) != thread.cta)
    fail(thread, pc, "TMA-RULE",
         "the destination of a TMA load must be in the issuing CTA; multicast names the others");
  const uint32_t footprint = tma_box_footprint(args, at.mode);
  if (!inside(*thread.cta, offset, footprint))
    fail(thread, pc, "OOB-SHARED",
         fmt::format("a box of {} bytes at 0x{:x} leaves the CTA's shared memory", footprint, offset));
  Cta* barrier_cta = owner(barrier);
  uint32_t barrier_offset = barrier & offset_mask;
  if (barrier_cta == nullptr) fail(thread, pc, "BAR-ADDRESS", "the barrier of a TMA load is outside the cluster");
  if (cta_group == 2 && size() % 2 != 0)
    fail(thread, pc, "TMA-RULE", "a TMA load with cta_group::2 needs clusters with an even number of CTAs");
  const bool same_pair = barrier_cta->rank / 2 == thread.cta->rank / 2;
  if (barrier_cta != thread.cta && (cta_group != 2 || !same_pair))
    fail(thread, pc, "TMA-RULE",
         fmt::format("a TMA load with cta_group::{} signals CTA {}, which is {}", cta_group, barrier_cta->rank,
                     cta_group == 2 ? "not of its pair" : "not its own"));
  const ByteRange range = tma_global_range(args, at, false);
  if (range.begin != range.end) check_global(thread, pc, "a TMA load", range.begin, range.end, false);

  const Mutated mutated = mutate("cp.async.bulk.tensor", pc, find_barrier(*barrier_cta, barrier_offset));
  if (mutated.wrong_stage) {
    if (const Barrier* named = find_barrier(*barrier_cta, barrier_offset)) barrier_offset = next_stage(*named);
  }
  const uint32_t mask = cta_mask < 0 ? 1u << thread.cta->rank : static_cast<uint32_t>(cta_mask);
  if (mask == 0 || mask >> size() != 0)
    fail(thread, pc, "TMA-RULE", fmt::format("multicast mask 0x{:x} for a cluster of {} CTAs", mask, size()));
  for (uint32_t repeat = 0; repeat < mutated.times; ++repeat) {
    const uint32_t bytes = tma_box_bytes(args, at.mode);
    const uint64_t begin = std::max(thread.time, thread.cta->tma_free_at);
    const uint64_t transfer = bytes / cost::tma_bytes;
    thread.cta->tma_free_at = begin + transfer;
    for (uint32_t rank = 0; rank < size(); ++rank) {
      if ((mask >> rank & 1) == 0) continue;
      auto op = std::make_unique<AsyncOp>();
      op->kind = AsyncOp::Kind::tma_load;
      op->issuer = &thread;
      op->pc = pc;
      op->issued = thread.time;
      op->finish = begin + transfer + cost::tma_latency;
      op->map = args;
      op->at = at;
      op->destination = ctas_[rank].get();
      op->offset = offset;
      op->bytes = bytes;
      op->barrier_offset = barrier_offset;
      if (cta_mask < 0)
        op->barrier_cta = barrier_cta;
      else if (cta_group == 2)
        op->barrier_cta = ctas_[(rank & ~1u) | (barrier_cta->rank & 1)].get();
      else
        op->barrier_cta = op->destination;
      // Nobody may rely on the destination between issue and landing.
      if (launch_.options->schedule.policy != Policy::eager && footprint == bytes)
        std::memset(op->destination->window + offset, 0xff, bytes);
      issue(std::move(op));
    }
  }
}

void Cluster::tma_store(Thread& thread, Pc pc, const TensorMap& map, uint32_t source, const native::Coordinates& at,
                        std::optional<Reduction> reduction) {
  step(thread, pc);
  const TensorMapArgs args = usable_map(thread, pc, map);
  const uint32_t offset = source & offset_mask;
  if (std::string rule = check_tma_copy(args, offset, at, true); !rule.empty())
    fail(thread, pc, "TMA-RULE", std::move(rule));
  if (reduction) {
    if (std::string rule = tensor_reduction(*reduction, args.type).broken; !rule.empty())
      fail(thread, pc, "TMA-RULE", std::move(rule));
  }
  if (owner(source) != thread.cta) fail(thread, pc, "TMA-RULE", "the source of a TMA store must be in the issuing CTA");
  const uint32_t footprint = tma_box_footprint(args, at.mode);
  if (!inside(*thread.cta, offset, footprint))
    fail(thread, pc, "OOB-SHARED",
         fmt::format("a box of {} bytes at 0x{:x} leaves the CTA's shared memory", footprint, offset));
  const ByteRange range = tma_global_range(args, at, true);
  if (range.begin != range.end) check_global(thread, pc, "a TMA store", range.begin, range.end, true);
  if (reduction) check_global_reduction(thread, pc);
  auto op = std::make_unique<AsyncOp>();
  op->bytes = tma_box_bytes(args, at.mode);
  op->map = args;
  op->at = at;
  op->reduction = reduction;
  issue_store(thread, pc, offset, std::move(op));
}

void Cluster::issue_store(Thread& thread, Pc pc, uint32_t offset, std::unique_ptr<AsyncOp> op) {
  if (thread.open_group == nullptr) thread.open_group = std::make_shared<BulkGroup>();
  thread.open_group->pc = pc;
  ++thread.open_group->reads_left;
  ++thread.open_group->writes_left;
  op->kind = AsyncOp::Kind::tma_store;
  op->issuer = &thread;
  op->pc = pc;
  op->issued = thread.time;
  op->finish = thread.time + op->bytes / cost::tma_bytes;
  op->destination = thread.cta;
  op->offset = offset;
  op->group = thread.open_group;
  issue(std::move(op));
}

void Cluster::bulk_commit(Thread& thread, Pc pc) {
  step(thread, pc);
  if (thread.open_group == nullptr) {
    thread.open_group = std::make_shared<BulkGroup>();
    thread.open_group->pc = pc;
    thread.open_group->read_waited = true;  // an empty group
  }
  if (watch_) watch_->bulk_committed(thread, *thread.open_group);
  thread.groups.push_back(std::move(thread.open_group));
  thread.open_group = nullptr;
}

void Cluster::bulk_wait(Thread& thread, Pc pc, uint32_t pending, bool read_only) {
  step(thread, pc);
  if (mutate(read_only ? "cp.async.bulk.wait_group.read" : "cp.async.bulk.wait_group", pc, nullptr).times == 0) return;
  auto outstanding = [&](const BulkGroup& group) { return read_only ? group.reads_left > 0 : group.writes_left > 0; };
  const uint64_t before = thread.time;
  const size_t must = thread.groups.size() > pending ? thread.groups.size() - pending : 0;
  for (;;) {
    bool satisfied = true;
    for (size_t i = 0; i < must; ++i) satisfied = satisfied && !outstanding(*thread.groups[i]);
    if (satisfied) break;
    thread.wait = {.kind = WaitKind::bulk_group, .pc = pc, .id = pending};
    park(thread);
  }
  for (size_t i = 0; i < must; ++i) {
    BulkGroup& group = *thread.groups[i];
    group.read_waited = true;
    if (watch_) watch_->learn(thread, group.works);
    thread.time = std::max(thread.time, read_only ? group.read_time : group.write_time);
  }
  if (watch_ && !read_only) watch_->bulk_waited(thread, pending);
  // Groups complete in order: those whose writes are done and were waited for are history.
  while (!thread.groups.empty() && thread.groups.front()->read_waited && thread.groups.front()->writes_left == 0)
    thread.groups.pop_front();
  if (recording() && thread.id.lane == 0 && thread.time > before)
    record(EventKind::wait, *thread.cta, thread.id.warp, before, thread.time, pending, "bulk store group");
}

void Cluster::wake_bulk_waiters(Thread& thread) {
  if (thread.state == Thread::State::parked && thread.wait.kind == WaitKind::bulk_group) wake(thread, thread.time);
}

void Cluster::commit(Thread& thread, Pc pc, int cta_group, uint32_t barrier, int cta_mask) {
  step(thread, pc);
  note_cta_group(thread, pc, cta_group);
  Cta* target = owner(barrier);
  if (target == nullptr) fail(thread, pc, "BAR-ADDRESS", "tcgen05.commit names a barrier outside the cluster");
  uint32_t offset = barrier & offset_mask;
  const Mutated mutated = mutate("tcgen05.commit", pc, find_barrier(*target, offset));
  if (mutated.wrong_stage) {
    if (const Barrier* named = find_barrier(*target, offset)) offset = next_stage(*named);
  }
  const uint32_t mask = cta_mask < 0 ? 1u << target->rank : static_cast<uint32_t>(cta_mask);
  if (mask == 0 || mask >> size() != 0)
    fail(thread, pc, "MMA-RULE", fmt::format("commit mask 0x{:x} for a cluster of {} CTAs", mask, size()));
  for (uint32_t repeat = 0; repeat < mutated.times; ++repeat) {
    for (uint32_t rank = 0; rank < size(); ++rank) {
      if ((mask >> rank & 1) == 0) continue;
      auto op = std::make_unique<AsyncOp>();
      op->kind = AsyncOp::Kind::commit;
      op->issuer = &thread;
      op->pc = pc;
      op->issued = thread.time;
      op->finish = std::max(thread.time, thread.cta->tensor_free_at) + cost::commit_latency;
      op->cta_group = cta_group;
      op->barrier_cta = ctas_[rank].get();
      op->barrier_offset = offset;
      issue(std::move(op));
    }
  }
}

}  // namespace warploom::loom
