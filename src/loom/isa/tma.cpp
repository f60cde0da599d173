// cp.async.bulk.tensor: loads, stores and reductions of boxes of a tensor map (hardware.md §2.3 to 2.7).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "loom/exec/async_queue.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/costs.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/bulk_copy.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/isa/tensor_map.hpp"
#include "loom/observe/check/operations.hpp"
#include "loom/units/reduction.hpp"

namespace warploom::loom {

namespace isa {
namespace {

void tma_load(Thread& thread, Pc pc, int cta_group, uint32_t destination, const TensorMap& map, uint32_t barrier,
              const native::Coordinates& at, int cta_mask) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  const TensorMapArgs args = usable_map(thread, pc, map);
  const uint32_t offset = destination & offset_mask;
  if (std::string rule = check_tma_copy(args, offset, at, false); !rule.empty())
    cluster.fail(thread, pc, "TMA-RULE", std::move(rule));
  if (cluster.owner(destination) != thread.cta)
    cluster.fail(thread, pc, "TMA-RULE",
                 "the destination of a TMA load must be in the issuing CTA; multicast names the others");
  const uint32_t footprint = tma_box_footprint(args, at.mode);
  if (!inside(*thread.cta, offset, footprint))
    cluster.fail(thread, pc, "OOB-SHARED",
                 fmt::format("a box of {} bytes at 0x{:x} leaves the CTA's shared memory", footprint, offset));
  Cta* barrier_cta = cluster.owner(barrier);
  uint32_t barrier_offset = barrier & offset_mask;
  if (barrier_cta == nullptr)
    cluster.fail(thread, pc, "BAR-ADDRESS", "the barrier of a TMA load is outside the cluster");
  if (cta_group == 2 && cluster.size() % 2 != 0)
    cluster.fail(thread, pc, "TMA-RULE", "a TMA load with cta_group::2 needs clusters with an even number of CTAs");
  const bool same_pair = barrier_cta->rank / 2 == thread.cta->rank / 2;
  if (barrier_cta != thread.cta && (cta_group != 2 || !same_pair))
    cluster.fail(thread, pc, "TMA-RULE",
                 fmt::format("a TMA load with cta_group::{} signals CTA {}, which is {}", cta_group, barrier_cta->rank,
                             cta_group == 2 ? "not of its pair" : "not its own"));
  const ByteRange range = tma_global_range(args, at, false);
  if (range.begin != range.end) check_global(thread, pc, "a TMA load", range.begin, range.end, false);

  const Mutated mutated = mutate_at("cp.async.bulk.tensor", pc, *barrier_cta, barrier_offset);
  const uint32_t mask = cta_mask < 0 ? 1u << thread.cta->rank : static_cast<uint32_t>(cta_mask);
  if (mask == 0 || mask >> cluster.size() != 0)
    cluster.fail(thread, pc, "TMA-RULE",
                 fmt::format("multicast mask 0x{:x} for a cluster of {} CTAs", mask, cluster.size()));
  for (uint32_t repeat = 0; repeat < mutated.times; ++repeat) {
    const uint32_t bytes = tma_box_bytes(args, at.mode);
    const uint64_t begin = std::max(thread.time, thread.cta->tma_free_at);
    const uint64_t transfer = bytes / cost::tma_bytes;
    thread.cta->tma_free_at = begin + transfer;
    for (uint32_t rank = 0; rank < cluster.size(); ++rank) {
      if ((mask >> rank & 1) == 0) continue;
      auto op = asynchronous(thread, pc, AsyncOp::Kind::tma_load, land_tma_load);
      op->finish = begin + transfer + cost::tma_latency;
      op->map = args;
      op->at = at;
      op->destination = cluster.ctas[rank].get();
      op->offset = offset;
      op->bytes = bytes;
      op->barrier_offset = barrier_offset;
      if (cta_mask < 0)
        op->barrier_cta = barrier_cta;
      else if (cta_group == 2)
        op->barrier_cta = cluster.ctas[(rank & ~1u) | (barrier_cta->rank & 1)].get();
      else
        op->barrier_cta = op->destination;
      // Nobody may rely on the destination between issue and landing.
      if (cluster.options().schedule.policy != Policy::eager && footprint == bytes)
        std::memset(op->destination->window + offset, 0xff, bytes);
      issue(std::move(op));
    }
  }
}

void tma_store(Thread& thread, Pc pc, const TensorMap& map, uint32_t source, const native::Coordinates& at,
               std::optional<Reduction> reduction) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  const TensorMapArgs args = usable_map(thread, pc, map);
  const uint32_t offset = source & offset_mask;
  if (std::string rule = check_tma_copy(args, offset, at, true); !rule.empty())
    cluster.fail(thread, pc, "TMA-RULE", std::move(rule));
  if (reduction) {
    if (std::string rule = tensor_reduction(*reduction, args.type).broken; !rule.empty())
      cluster.fail(thread, pc, "TMA-RULE", std::move(rule));
  }
  if (cluster.owner(source) != thread.cta)
    cluster.fail(thread, pc, "TMA-RULE", "the source of a TMA store must be in the issuing CTA");
  const uint32_t footprint = tma_box_footprint(args, at.mode);
  if (!inside(*thread.cta, offset, footprint))
    cluster.fail(thread, pc, "OOB-SHARED",
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

void tma_prefetch(Thread& thread, Pc pc, const TensorMap& map, const native::Coordinates& at) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  const TensorMapArgs args = usable_map(thread, pc, map);
  if (std::string rule = check_tma_copy(args, 0, at, false); !rule.empty())
    cluster.fail(thread, pc, "TMA-RULE", std::move(rule));
  const ByteRange range = tma_global_range(args, at, false);
  if (range.begin != range.end)
    check_tensor(thread, pc, "cp.async.bulk.prefetch.tensor", range.begin, range.end, false);
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void tma_load(int cta_group, uint32_t destination, const TensorMap& map, uint32_t barrier, const Coordinates& at,
              int cta_mask) noexcept try {
  isa::tma_load(thread(), WARPLOOM_PLACE(tma_load), cta_group, destination, map, barrier, at, cta_mask);
} catch (...) {
  break_off();
}

void tma_store(const TensorMap& map, uint32_t source, const Coordinates& at) noexcept try {
  isa::tma_store(thread(), WARPLOOM_PLACE(tma_store), map, source, at, {});
} catch (...) {
  break_off();
}

void tma_reduce(Reduction operation, const TensorMap& map, uint32_t source, const Coordinates& at) noexcept try {
  isa::tma_store(thread(), WARPLOOM_PLACE(tma_reduce), map, source, at, operation);
} catch (...) {
  break_off();
}

void tma_prefetch(const TensorMap& map, const Coordinates& at) noexcept try {
  isa::tma_prefetch(thread(), WARPLOOM_PLACE(tma_prefetch), map, at);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
