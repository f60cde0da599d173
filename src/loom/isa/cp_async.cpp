// cp.async: copies of a few bytes per thread that land late and in any order, arrivals that wait for a thread's copies,
// and groups (hardware.md §1.2).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "loom/exec/async_queue.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/costs.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/bulk_copy.hpp"
#include "loom/isa/grid_dependency.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
namespace {

void land_copy(AsyncOp& op) {
  if (op.destination->alive == 0) {
    fail_async(op, "EXIT-PENDING", "a CTA exits with a cp.async in flight that nobody waited for");
    return;
  }
  std::byte* to = op.destination->window + op.offset;
  if (op.source_bytes > 0) std::memcpy(to, op.source, op.source_bytes);
  std::memset(to + op.source_bytes, 0, op.bytes - op.source_bytes);
  op.copies->time = std::max(op.copies->time, op.finish);
  if (--op.copies->left == 0) wake_bulk_waiters(*op.issuer);
}

void cp_async(Thread& thread, Pc pc, uint32_t destination, const void* source, uint32_t bytes, uint32_t source_bytes) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  const uint32_t offset = destination & offset_mask;
  if (cluster.owner(destination) != thread.cta || !inside(*thread.cta, offset, bytes))
    cluster.fail(
        thread, pc, "OOB-SHARED",
        fmt::format("cp.async writes {} bytes at 0x{:08x}, outside the CTA's shared memory", bytes, destination));
  if (offset % bytes != 0 || reinterpret_cast<uintptr_t>(source) % bytes != 0)
    cluster.fail(thread, pc, "CP-ASYNC",
                 fmt::format("cp.async of {} bytes {} an address that is no multiple of {}", bytes,
                             offset % bytes != 0 ? "to" : "from", bytes));
  if (source_bytes > bytes)
    cluster.fail(thread, pc, "CP-ASYNC",
                 fmt::format("cp.async of {} bytes takes {} from its source; at most all of them are possible", bytes,
                             source_bytes));
  if (source_bytes > 0)
    check_unfinished(thread, pc, source, static_cast<const std::byte*>(source) + source_bytes, false);
  if (source_bytes > 0 &&
      tensor(cluster, source, static_cast<const std::byte*>(source) + source_bytes, false) == nullptr)
    cluster.fail(thread, pc, "OOB-GLOBAL",
                 fmt::format("cp.async reads {} bytes outside the launch's tensors", source_bytes));
  if (thread.open_copies == nullptr) thread.open_copies = std::make_shared<CopyGroup>();
  ++thread.open_copies->left;
  auto op = asynchronous(thread, pc, AsyncOp::Kind::cp_async, land_copy);
  op->finish = thread.time + cost::tma_latency;
  op->destination = thread.cta;
  op->offset = offset;
  op->bytes = bytes;
  op->source = source;
  op->source_bytes = source_bytes;
  op->copies = thread.open_copies;
  // Nobody may rely on the destination between issue and landing.
  if (cluster.options().schedule.policy != Policy::eager) std::memset(thread.cta->window + offset, 0xff, bytes);
  issue(std::move(op));
}

void land_copy_arrival(AsyncOp& op) {
  Cluster& cluster = *op.issuer->cluster;
  if (op.barrier_cta->alive == 0) {
    fail_async(op, "EXIT-PENDING", "a CTA exits before a cp.async.mbarrier.arrive of its own has arrived");
    return;
  }
  const Barrier* barrier = deliver(op, SignalKind::arrive, "cp.async.mbarrier.arrive arrives");
  if (cluster.recording() && barrier != nullptr)
    record(EventKind::arrive, *op.barrier_cta, op.issuer->warp->index, op.finish, op.finish, 1, barrier->name());
}

void cp_async_arrive(Thread& thread, Pc pc, uint32_t address, bool increment) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  if (cluster.owner(address) != thread.cta)
    cluster.fail(thread, pc, "BAR-ADDRESS", "cp.async.mbarrier.arrive names a barrier outside its CTA");
  Barrier* barrier = &barrier_at(thread, pc, address, true);
  const Mutated mutated = mutate(cluster, "cp.async.mbarrier.arrive", pc, barrier);
  if (mutated.wrong_stage) barrier = &barrier_at(thread, pc, (address & ~offset_mask) | next_stage(*barrier), true);
  for (uint32_t i = 0; i < mutated.times; ++i) {
    if (increment) {
      if (watch) watch->increment(thread, pc, *barrier);
      if (barrier->state.increment_pending() != MbarrierFault::none)
        cluster.fail(
            thread, pc, "ARRIVE-OVERFLOW",
            fmt::format("cp.async.mbarrier.arrive may raise the pending count of {} above 1048575: it counts {} "
                        "arrivals, and {} more were added in this phase",
                        barrier->name(), barrier->state.expected, barrier->state.raised));
    }
    auto op = asynchronous(thread, pc, AsyncOp::Kind::cp_async_arrive, land_copy_arrival);
    op->finish = thread.time;
    // It comes after the latest copy of this thread that is still on its way.
    for (const auto& pending : cluster.pending)
      if (pending->kind == AsyncOp::Kind::cp_async && pending->issuer == &thread)
        op->finish = std::max(op->finish, pending->finish);
    op->barrier_cta = thread.cta;
    op->barrier_offset = barrier->offset;
    op->raised = increment;
    issue(std::move(op));
  }
}

void cp_async_commit(Thread& thread, Pc pc) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  if (thread.open_copies == nullptr) thread.open_copies = std::make_shared<CopyGroup>();  // an empty group
  thread.copy_groups.push_back(std::exchange(thread.open_copies, nullptr));
}

void cp_async_wait(Thread& thread, Pc pc, uint32_t pending) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  if (mutate(cluster, "cp.async.wait_group", pc, nullptr).times == 0) return;
  const uint64_t before = thread.time;
  const size_t must = thread.copy_groups.size() > pending ? thread.copy_groups.size() - pending : 0;
  const auto last = thread.copy_groups.begin() + static_cast<std::ptrdiff_t>(must);
  while (std::any_of(thread.copy_groups.begin(), last, [](const auto& group) { return group->left > 0; })) {
    thread.wait = {.kind = WaitKind::bulk_group, .pc = pc, .id = pending};
    cluster.park(thread);
  }
  for (auto group = thread.copy_groups.begin(); group != last; ++group) {
    thread.time = std::max(thread.time, (*group)->time);
    if (watch) watch->learn(thread, (*group)->works);
  }
  thread.copy_groups.erase(thread.copy_groups.begin(), last);
  if (cluster.recording() && thread.id.lane == 0 && thread.time > before)
    record(EventKind::wait, *thread.cta, thread.id.warp, before, thread.time, pending, "cp.async group");
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void cp_async(uint32_t destination, const void* source, uint32_t bytes, uint32_t source_bytes) noexcept try {
  isa::cp_async(thread(), WARPLOOM_PLACE(cp_async), destination, source, bytes, source_bytes);
} catch (...) {
  break_off();
}

void cp_async_mbarrier_arrive(uint32_t barrier, bool increment) noexcept try {
  isa::cp_async_arrive(thread(), WARPLOOM_PLACE(cp_async_mbarrier_arrive), barrier, increment);
} catch (...) {
  break_off();
}

void cp_async_commit_group() noexcept try {
  isa::cp_async_commit(thread(), WARPLOOM_PLACE(cp_async_commit_group));
} catch (...) {
  break_off();
}

void cp_async_wait_group(uint32_t pending) noexcept try {
  isa::cp_async_wait(thread(), WARPLOOM_PLACE(cp_async_wait_group), pending);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
