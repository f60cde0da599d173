// st.async: 16 bytes from registers to the shared memory of any CTA of the cluster, which count on an mbarrier of that
// CTA once they are there (hardware.md §6.2). Nothing orders one behind another.
#include <fmt/format.h>

#include <cstring>

#include "loom/exec/async_queue.hpp"
#include "loom/exec/choices.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/costs.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/operations.hpp"
#include "loom/units/reduction.hpp"
#include "warploom/loom/atomics.hpp"

namespace warploom::loom {

namespace isa {
namespace {

void land_store(AsyncOp& op) {
  Cluster& cluster = *op.issuer->cluster;
  if (op.destination->alive == 0) {
    fail_async(op, "EXIT-REMOTE",
               fmt::format("{} lands in CTA {}, which has exited", op.reduction ? "red.async" : "st.async",
                           op.destination->rank));
    return;
  }
  std::byte* const place = op.destination->window + op.offset;
  if (op.reduction) {
    reduce(*op.reduction, op.reduction_type, place, reinterpret_cast<const std::byte*>(op.words), op.bytes);
    word_changed(cluster, place);
  } else {
    std::memcpy(place, op.words, op.bytes);
  }
  deliver(op, SignalKind::complete_tx, op.reduction ? "red.async completes" : "st.async completes");
}

void store_async(Thread& thread, Pc pc, uint32_t destination, const void* value, uint32_t bytes, uint32_t barrier,
                 const native::BulkReduction& reduction) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  const char* const operation = reduction.used ? "red.async" : "st.async";
  Cta* const cta = cluster.owner(destination);
  const uint32_t offset = destination & offset_mask;
  if (cta == nullptr || offset % bytes != 0 || !inside(*cta, offset, bytes))
    cluster.fail(thread, pc, "STORE-RULE",
                 fmt::format("{} writes {} bytes of a CTA of the cluster at a multiple of {}, not at 0x{:08x}",
                             operation, bytes, bytes, destination));
  if (cluster.owner(barrier) != cta)
    cluster.fail(thread, pc, "STORE-RULE",
                 fmt::format("{} writes to CTA {} and names a barrier that is not there; both must be of one CTA",
                             operation, cta->rank));
  uint32_t barrier_offset = barrier & offset_mask;
  const Mutated mutated = mutate_at(operation, pc, *cta, barrier_offset);
  for (uint32_t repeat = 0; repeat < mutated.times; ++repeat) {
    auto op = asynchronous(thread, pc, AsyncOp::Kind::store_async, land_store);
    op->finish = thread.time + cost::remote_store_latency;
    op->destination = cta;
    op->barrier_cta = cta;
    op->offset = offset;
    op->barrier_offset = barrier_offset;
    op->bytes = bytes;
    std::memcpy(op->words, value, bytes);
    if (reduction.used) {
      op->reduction = reduction.operation;
      op->reduction_type = reduction.type;
    }
    // Nobody may rely on what is there between issue and landing, unless the rest of it stays.
    if (!reduction.used && cluster.options().schedule.policy != Policy::eager)
      std::memset(cta->window + offset, 0xff, bytes);
    issue(std::move(op));
  }
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void store_async(uint32_t destination, const void* value, uint32_t bytes, uint32_t barrier) noexcept try {
  isa::store_async(thread(), WARPLOOM_PLACE(store_async), destination, value, bytes, barrier, {});
} catch (...) {
  break_off();
}

void reduce_async(Atomic operation, AtomicType type, uint32_t destination, const void* value, uint32_t barrier) noexcept
    try {
  Thread& self = Cluster::calling();
  isa::store_async(self, WARPLOOM_PLACE(reduce_async), destination, value, size_of(type), barrier,
                   {true, static_cast<Reduction>(operation), element_of(type)});
} catch (...) {
  Cluster::current()->cluster->break_off();
}

}  // namespace native
}  // namespace warploom::loom
