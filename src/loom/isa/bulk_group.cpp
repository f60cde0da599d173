// cp.async.bulk.commit_group and wait_group: a thread waits for stores that it has issued (hardware.md §2.5).
#include <algorithm>
#include <memory>

#include "loom/exec/async_queue.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/costs.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/bulk_copy.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
namespace {

/// Reads shared memory; the second time, writes global memory.
void land_bulk_store(AsyncOp& op) {
  if (!op.read_done) {
    op.staging.resize(op.bytes);
    if (op.global != nullptr)
      std::memcpy(op.staging.data(), op.destination->window + op.offset, op.bytes);
    else
      tma_read_box(op.map, op.at.mode, op.destination->window, op.offset, op.staging.data());
    op.read_done = true;
    op.group->read_time = std::max(op.group->read_time, op.finish);
    if (--op.group->reads_left == 0) wake_bulk_waiters(*op.issuer);
    return;
  }
  if (op.global != nullptr)
    write_bulk(op);
  else
    tma_write_box(op.map, op.at, op.staging.data(), op.reduction);
  op.group->write_time = std::max(op.group->write_time, op.finish + cost::tma_latency);
  record(EventKind::tma_store, *op.destination, op.issuer->warp->index, op.issued, op.finish, op.bytes, "store");
  if (--op.group->writes_left == 0) wake_bulk_waiters(*op.issuer);
}

}  // namespace

void issue_store(Thread& thread, Pc pc, uint32_t offset, std::unique_ptr<AsyncOp> op) {
  if (thread.open_group == nullptr) thread.open_group = std::make_shared<BulkGroup>();
  thread.open_group->pc = pc;
  ++thread.open_group->reads_left;
  ++thread.open_group->writes_left;
  op->kind = AsyncOp::Kind::tma_store;
  op->land = land_bulk_store;
  op->issuer = &thread;
  op->pc = pc;
  op->issued = thread.time;
  op->finish = thread.time + op->bytes / cost::tma_bytes;
  op->destination = thread.cta;
  op->offset = offset;
  op->group = thread.open_group;
  issue(std::move(op));
}

void wake_bulk_waiters(Thread& thread) {
  Cluster& cluster = *thread.cluster;
  if (thread.state == Thread::State::parked && thread.wait.kind == WaitKind::bulk_group)
    cluster.wake(thread, thread.time);
}

namespace {

void bulk_commit(Thread& thread, Pc pc) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  if (thread.open_group == nullptr) {
    thread.open_group = std::make_shared<BulkGroup>();
    thread.open_group->pc = pc;
    thread.open_group->read_waited = true;  // an empty group
  }
  if (watch) watch->bulk_committed(thread, *thread.open_group);
  thread.groups.push_back(std::move(thread.open_group));
  thread.open_group = nullptr;
}

void bulk_wait(Thread& thread, Pc pc, uint32_t pending, bool read_only) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  if (mutate(cluster, read_only ? "cp.async.bulk.wait_group.read" : "cp.async.bulk.wait_group", pc, nullptr).times == 0)
    return;
  auto outstanding = [&](const BulkGroup& group) { return read_only ? group.reads_left > 0 : group.writes_left > 0; };
  const uint64_t before = thread.time;
  const size_t must = thread.groups.size() > pending ? thread.groups.size() - pending : 0;
  for (;;) {
    bool satisfied = true;
    for (size_t i = 0; i < must; ++i) satisfied = satisfied && !outstanding(*thread.groups[i]);
    if (satisfied) break;
    thread.wait = {.kind = WaitKind::bulk_group, .pc = pc, .id = pending};
    cluster.park(thread);
  }
  for (size_t i = 0; i < must; ++i) {
    BulkGroup& group = *thread.groups[i];
    group.read_waited = true;
    if (watch) watch->learn(thread, group.works);
    thread.time = std::max(thread.time, read_only ? group.read_time : group.write_time);
  }
  if (watch && !read_only) watch->bulk_waited(thread, pending);
  // Groups complete in order: those whose writes are done and were waited for are history.
  while (!thread.groups.empty() && thread.groups.front()->read_waited && thread.groups.front()->writes_left == 0)
    thread.groups.pop_front();
  if (cluster.recording() && thread.id.lane == 0 && thread.time > before)
    record(EventKind::wait, *thread.cta, thread.id.warp, before, thread.time, pending, "bulk store group");
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void bulk_commit_group() noexcept try { isa::bulk_commit(thread(), WARPLOOM_PLACE(bulk_commit_group)); } catch (...) {
  break_off();
}

void bulk_wait_group(uint32_t pending, bool read_only) noexcept try {
  isa::bulk_wait(thread(), WARPLOOM_PLACE(bulk_wait_group), pending, read_only);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
