// st.async: 16 bytes from registers to the shared memory of any CTA of the cluster, which count on an mbarrier of that
// CTA once they are there (hardware.md §6.2). Nothing orders one behind another.
#include <fmt/format.h>

#include <cstring>

#include "loom/exec/async_queue.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/costs.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
namespace {

void land_store(AsyncOp& op) {
  if (op.destination->alive == 0) {
    fail_async(op, "EXIT-REMOTE", fmt::format("st.async lands in CTA {}, which has exited", op.destination->rank));
    return;
  }
  std::memcpy(op.destination->window + op.offset, op.words, op.bytes);
  deliver(op, SignalKind::complete_tx, "st.async completes");
}

void store_async(Thread& thread, Pc pc, uint32_t destination, const uint32_t (&words)[4], uint32_t barrier) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  constexpr uint32_t bytes = sizeof(words);
  Cta* const cta = cluster.owner(destination);
  const uint32_t offset = destination & offset_mask;
  if (cta == nullptr || offset % bytes != 0 || !inside(*cta, offset, bytes))
    cluster.fail(thread, pc, "STORE-RULE",
                 fmt::format("st.async writes 16 bytes of a CTA of the cluster at a multiple of 16, not at 0x{:08x}",
                             destination));
  if (cluster.owner(barrier) != cta)
    cluster.fail(thread, pc, "STORE-RULE",
                 fmt::format("st.async writes to CTA {} and names a barrier that is not there; both must be of one CTA",
                             cta->rank));
  uint32_t barrier_offset = barrier & offset_mask;
  const Mutated mutated = mutate(cluster, "st.async", pc, find_barrier(*cta, barrier_offset));
  if (mutated.wrong_stage) {
    if (const Barrier* named = find_barrier(*cta, barrier_offset)) barrier_offset = next_stage(*named);
  }
  for (uint32_t repeat = 0; repeat < mutated.times; ++repeat) {
    auto op = std::make_unique<AsyncOp>();
    op->kind = AsyncOp::Kind::store_async;
    op->land = land_store;
    op->issuer = &thread;
    op->pc = pc;
    op->issued = thread.time;
    op->finish = thread.time + cost::remote_store_latency;
    op->destination = cta;
    op->barrier_cta = cta;
    op->offset = offset;
    op->barrier_offset = barrier_offset;
    op->bytes = bytes;
    std::memcpy(op->words, words, bytes);
    // Nobody may rely on what is there between issue and landing.
    if (cluster.options().schedule.policy != Policy::eager) std::memset(cta->window + offset, 0xff, bytes);
    issue(std::move(op));
  }
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void store_async(uint32_t destination, const uint32_t (&words)[4], uint32_t barrier) noexcept try {
  isa::store_async(thread(), WARPLOOM_PLACE(store_async), destination, words, barrier);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
