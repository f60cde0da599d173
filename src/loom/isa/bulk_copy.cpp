// Bulk copies and reductions without tensor map (cp.async.bulk, cp.reduce.async.bulk, hardware.md §2.1, 2.8), and their
// prefetch, which is checked and does nothing. They run as TMA does: issued by one thread, completed when the schedule
// says so.
#include "loom/isa/bulk_copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "loom/exec/async_queue.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/costs.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/operations.hpp"
#include "loom/units/reduction.hpp"

namespace warploom::loom {

namespace isa {
namespace {

constexpr uint32_t unit = 16;

std::string broken_rule(const char* operation, uint64_t destination, uint64_t source, uint32_t bytes) {
  if (destination % unit != 0 || source % unit != 0)
    return fmt::format("{} copies between multiples of 16 bytes; the {} is not one", operation,
                       destination % unit != 0 ? "destination" : "source");
  if (bytes % unit != 0) return fmt::format("{} copies {} bytes; the size must be a multiple of 16", operation, bytes);
  return "";
}

uint64_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

void check_local_bulk(Thread& thread, Pc pc, const char* operation, const char* what, uint32_t address,
                      uint32_t bytes) {
  Cluster& cluster = *thread.cluster;
  if (cluster.owner(address) != thread.cta)
    cluster.fail(thread, pc, "TMA-RULE", fmt::format("the {} of {} must be in the issuing CTA", what, operation));
  if (!inside(*thread.cta, address & offset_mask, bytes))
    cluster.fail(
        thread, pc, "OOB-SHARED",
        fmt::format("{} bytes of {} at 0x{:x} leave the CTA's shared memory", bytes, operation, address & offset_mask));
}

}  // namespace

void write_bulk(const AsyncOp& op) {
  if (op.reduction) return reduce(*op.reduction, op.reduction_type, op.global, op.staging.data(), op.bytes);
  for (uint32_t at = 0; at < op.bytes; ++at)
    if ((op.byte_mask >> at % unit & 1) != 0) op.global[at] = op.staging[at];
}

void land_tma_load(AsyncOp& op) {
  Cluster& cluster = *op.issuer->cluster;
  if (op.destination->alive == 0)
    return fail_async(op, "EXIT-REMOTE",
                      fmt::format("a TMA load lands in CTA {}, which has exited", op.destination->rank));
  if (op.barrier_cta->alive == 0)
    return fail_async(
        op, "EXIT-REMOTE",
        fmt::format("a TMA load signals {} of CTA {}, which has exited", barrier_name(op), op.barrier_cta->rank));
  if (op.global != nullptr)
    std::memcpy(op.destination->window + op.offset, op.global, op.bytes);
  else
    tma_load_box(op.map, op.at, op.destination->window, op.offset);
  const Barrier* barrier = deliver(op, SignalKind::complete_tx, "a TMA load completes");
  if (cluster.recording() && barrier != nullptr)
    record(EventKind::tma_load, *op.destination, op.issuer->warp->index, op.issued, op.finish, op.bytes,
           barrier->name());
}

void check_global_reduction(Thread& thread, Pc pc) {
  Cluster& cluster = *thread.cluster;
  if (cluster.launch().clusters.count() > 1 && !cluster.launch().config->talks_across_clusters)
    cluster.fail(
        thread, pc, "GLOBAL-ATOMIC",
        "a reduction into global memory in a launch whose clusters run in any order, so that its sum would be chance; "
        "LaunchConfig::talks_across_clusters runs them one after the other");
}

namespace {

void bulk_load(Thread& thread, Pc pc, uint32_t destination, const void* source, uint32_t bytes, uint32_t barrier,
               int cta_mask) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  constexpr auto operation = "cp.async.bulk";
  if (std::string rule = broken_rule(operation, destination, address_of(source), bytes); !rule.empty())
    cluster.fail(thread, pc, "TMA-RULE", std::move(rule));
  check_local_bulk(thread, pc, operation, "destination", destination, bytes);
  if (cluster.owner(barrier) != thread.cta)
    cluster.fail(thread, pc, "TMA-RULE",
                 "the barrier of cp.async.bulk must be in the issuing CTA; multicast names the others");
  const auto* from = static_cast<const std::byte*>(source);
  check_global(thread, pc, "cp.async.bulk", from, from + bytes, false);
  const uint32_t mask = cta_mask < 0 ? 1u << thread.cta->rank : static_cast<uint32_t>(cta_mask);
  if (mask == 0 || mask >> cluster.size() != 0)
    cluster.fail(thread, pc, "TMA-RULE",
                 fmt::format("multicast mask 0x{:x} for a cluster of {} CTAs", mask, cluster.size()));
  uint32_t barrier_offset = barrier & offset_mask;
  const Mutated mutated = mutate_at(operation, pc, *thread.cta, barrier_offset);
  for (uint32_t repeat = 0; repeat < mutated.times; ++repeat) {
    const uint64_t begin = std::max(thread.time, thread.cta->tma_free_at);
    thread.cta->tma_free_at = begin + bytes / cost::tma_bytes;
    for (uint32_t rank = 0; rank < cluster.size(); ++rank) {
      if ((mask >> rank & 1) == 0) continue;
      auto op = asynchronous(thread, pc, AsyncOp::Kind::tma_load, land_tma_load);
      op->finish = begin + bytes / cost::tma_bytes + cost::tma_latency;
      op->global = const_cast<std::byte*>(from);
      op->destination = op->barrier_cta = cluster.ctas[rank].get();
      op->offset = destination & offset_mask;
      op->barrier_offset = barrier_offset;
      op->bytes = bytes;
      // Nobody may rely on the destination between issue and landing.
      if (cluster.options().schedule.policy != Policy::eager)
        std::memset(op->destination->window + op->offset, 0xff, bytes);
      issue(std::move(op));
    }
  }
}

void bulk_store(Thread& thread, Pc pc, void* destination, uint32_t source, uint32_t bytes, uint16_t byte_mask,
                const native::BulkReduction& reduction) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  const char* operation = reduction.used ? "cp.reduce.async.bulk" : "cp.async.bulk";
  if (std::string rule = broken_rule(operation, address_of(destination), source, bytes); !rule.empty())
    cluster.fail(thread, pc, "TMA-RULE", std::move(rule));
  check_local_bulk(thread, pc, operation, "source", source, bytes);
  auto* const to = static_cast<std::byte*>(destination);
  check_global(thread, pc, operation, to, to + bytes, true);
  if (reduction.used) check_global_reduction(thread, pc);
  auto op = std::make_unique<AsyncOp>();
  op->bytes = bytes;
  op->global = to;
  op->byte_mask = byte_mask;
  if (reduction.used) {
    op->reduction = reduction.operation;
    op->reduction_type = reduction.type;
  }
  issue_store(thread, pc, source & offset_mask, std::move(op));
}

void land_bulk_send(AsyncOp& op) {
  const Cta& from = *op.issuer->cta;
  for (const Cta* cta : {&from, static_cast<const Cta*>(op.destination)}) {
    if (cta->alive != 0) continue;
    fail_async(op, "EXIT-REMOTE",
               fmt::format("a bulk copy {} CTA {}, which has exited", cta == &from ? "reads" : "lands in", cta->rank));
    return;
  }
  std::byte* const to = op.destination->window + op.offset;
  const std::byte* const source = from.window + op.source_offset;
  if (op.reduction)
    reduce(*op.reduction, op.reduction_type, to, source, op.bytes);
  else
    std::memcpy(to, source, op.bytes);
  deliver(op, SignalKind::complete_tx, "a bulk copy completes");
}

void bulk_send(Thread& thread, Pc pc, uint32_t destination, uint32_t source, uint32_t bytes, uint32_t barrier,
               const native::BulkReduction& reduction) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  const char* operation = reduction.used ? "cp.reduce.async.bulk" : "cp.async.bulk";
  if (std::string rule = broken_rule(operation, destination, source, bytes); !rule.empty())
    cluster.fail(thread, pc, "TMA-RULE", std::move(rule));
  check_local_bulk(thread, pc, operation, "source", source, bytes);
  Cta* const cta = cluster.owner(destination);
  const uint32_t offset = destination & offset_mask;
  if (cta == nullptr || !inside(*cta, offset, bytes))
    cluster.fail(thread, pc, "OOB-SHARED",
                 fmt::format("{} writes {} bytes at 0x{:08x}, outside the cluster's shared memory", operation, bytes,
                             destination));
  if (cta == thread.cta)
    cluster.fail(
        thread, pc, "TMA-RULE",
        fmt::format("{} from shared to shared memory goes to another CTA of the cluster, not to its own", operation));
  if (cluster.owner(barrier) != cta)
    cluster.fail(thread, pc, "TMA-RULE",
                 fmt::format("{} writes to CTA {} and names a barrier that is not there; both must be of one CTA",
                             operation, cta->rank));
  uint32_t barrier_offset = barrier & offset_mask;
  const Mutated mutated = mutate_at(operation, pc, *cta, barrier_offset);
  for (uint32_t repeat = 0; repeat < mutated.times; ++repeat) {
    auto op = asynchronous(thread, pc, AsyncOp::Kind::bulk_send, land_bulk_send);
    op->finish = thread.time + bytes / cost::tma_bytes + cost::remote_store_latency;
    op->source_offset = source & offset_mask;
    op->destination = op->barrier_cta = cta;
    op->offset = offset;
    op->barrier_offset = barrier_offset;
    op->bytes = bytes;
    if (reduction.used) {
      op->reduction = reduction.operation;
      op->reduction_type = reduction.type;
    } else if (cluster.options().schedule.policy != Policy::eager) {
      std::memset(cta->window + offset, 0xff, bytes);
    }
    issue(std::move(op));
  }
}

void bulk_prefetch(Thread& thread, Pc pc, const void* source, uint32_t bytes) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  if (std::string rule = broken_rule("cp.async.bulk.prefetch", 0, address_of(source), bytes); !rule.empty())
    cluster.fail(thread, pc, "TMA-RULE", std::move(rule));
  const auto* from = static_cast<const std::byte*>(source);
  check_tensor(thread, pc, "cp.async.bulk.prefetch", from, from + bytes, false);
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void bulk_load(uint32_t destination, const void* source, uint32_t bytes, uint32_t barrier, int cta_mask) noexcept try {
  isa::bulk_load(thread(), WARPLOOM_PLACE(bulk_load), destination, source, bytes, barrier, cta_mask);
} catch (...) {
  break_off();
}

void bulk_store(void* destination, uint32_t source, uint32_t bytes, uint16_t byte_mask,
                const BulkReduction& reduction) noexcept try {
  isa::bulk_store(thread(), WARPLOOM_PLACE(bulk_store), destination, source, bytes, byte_mask, reduction);
} catch (...) {
  break_off();
}

void bulk_send(uint32_t destination, uint32_t source, uint32_t bytes, uint32_t barrier,
               const BulkReduction& reduction) noexcept try {
  isa::bulk_send(thread(), WARPLOOM_PLACE(bulk_send), destination, source, bytes, barrier, reduction);
} catch (...) {
  break_off();
}

void bulk_prefetch(const void* source, uint32_t bytes) noexcept try {
  isa::bulk_prefetch(thread(), WARPLOOM_PLACE(bulk_prefetch), source, bytes);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
