// What one thread issues to the tensor core: tcgen05.mma, cp, shift and commit. Each becomes asynchronous work; the
// schedule decides when it takes effect, within the order the hardware guarantees (hardware.md §4.5).
#include "loom/isa/tcgen05.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/async_queue.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/costs.hpp"
#include "loom/front/native.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/operations.hpp"
#include "loom/observe/claims.hpp"
#include "loom/units/tensor_core_product.hpp"

namespace warploom::loom {

namespace isa {
namespace {

bool accumulators_overlap(const AsyncOp& a, const AsyncOp& b) {
  const auto end = [](const MmaOperation& op) {
    return (op.d & 0xffff) + accumulator_columns(op.cta_group, op.m, op.n, op.weight_stationary);
  };
  return a.issuer->cta->rank / static_cast<uint32_t>(a.cta_group) ==
             b.issuer->cta->rank / static_cast<uint32_t>(b.cta_group) &&
         (a.mma.d & 0xffff) < end(b.mma) && (b.mma.d & 0xffff) < end(a.mma);
}

/// Multiplications per nominal cycle, times two.
uint64_t doubled_rate(MmaKind kind) {
  switch (kind) {
    case MmaKind::tf32: return cost::mma_macs / 2;
    case MmaKind::f16: return cost::mma_macs;
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4: return 4 * cost::mma_macs;
    default: return 2 * cost::mma_macs;
  }
}

void check_tmem_use(Thread& thread, Pc pc, int cta_group, const char* instruction, const TmemUse& use) {
  Cluster& cluster = *thread.cluster;
  const uint32_t first = first_of_group(thread, cta_group);
  for (uint32_t i = 0; i < static_cast<uint32_t>(cta_group); ++i) {
    const Cta& cta = *cluster.ctas[first + i];
    const bool allocated = std::any_of(cta.allocations.begin(), cta.allocations.end(), [&](const auto& allocation) {
      return use.column >= allocation.first && use.column + use.columns <= allocation.first + allocation.second;
    });
    if (!allocated)
      cluster.fail(thread, pc, "TMEM-RULE",
                   fmt::format("{} {} columns {} to {} of CTA {}, which are not allocated", instruction, use.what,
                               use.column, use.column + use.columns - 1, cta.rank));
  }
}

/// Reads the operands and sees to it that tensor memory has the result when somebody looks there.
void chain_mma(Cluster& cluster, const MmaOperation& op, const MmaMemory* memory) {
  MmaSum* free = nullptr;
  for (MmaSum& sum : cluster.tensor.sums) {
    if (sum.continues(op, memory)) return sum.add(op, memory);
    if (sum.overlaps(op, memory)) sum.settle();
    if (sum.empty()) free = &sum;
  }
  if (free == nullptr) free = &cluster.tensor.sums.emplace_back();
  free->add(op, memory);
}

void complete_tcgen05(AsyncOp& op) {
  Cluster& cluster = *op.issuer->cluster;
  const char* name = op.kind == AsyncOp::Kind::mma         ? "tcgen05.mma"
                     : op.kind == AsyncOp::Kind::tmem_copy ? "tcgen05.cp"
                                                           : "tcgen05.shift";
  MmaMemory memory[2];
  const uint32_t first = first_of_group(*op.issuer, op.cta_group);
  for (int i = 0; i < op.cta_group; ++i) {
    Cta& cta = *cluster.ctas[first + static_cast<uint32_t>(i)];
    if (cta.alive == 0) {
      fail_async(op, "EXIT-REMOTE", fmt::format("{} works on CTA {}, which has exited", name, cta.rank));
      return;
    }
    memory[i] = {cta.window, cta.window_bytes, cta.tmem};
  }
  const bool fast = cluster.options().numerics == Numerics::fast;
  const uint32_t ring = cluster.options().ring;
  if (op.kind == AsyncOp::Kind::mma && fast && ring == 0 && MmaSum::takes(op.mma))
    return chain_mma(cluster, op.mma, memory);
  for (int i = 0; i < op.cta_group; ++i) settle_tensor_memory(*cluster.ctas[first + static_cast<uint32_t>(i)]);
  if (op.kind == AsyncOp::Kind::mma) {
    if (std::string trouble = scale_trouble(op.mma, memory); !trouble.empty())
      return fail_async(op, "MMA-RULE", std::move(trouble));
    if (fast)
      execute_mma(op.mma, memory);
    else
      execute_product(op.mma, memory, multiply_exact);
    if (ring != 0) keep_in_ring(op.mma, memory, ring);
    return;
  }
  for (int i = 0; i < op.cta_group; ++i)
    if (op.kind == AsyncOp::Kind::tmem_copy)
      execute_tmem_copy(op.copy, memory[i]);
    else
      execute_tmem_shift(op.offset, memory[i].tmem);
}

}  // namespace

// The pairs of §4.5, of one thread and one cta_group. An mma before a cp is not among them: a kernel that overwrites
// what an mma reads must have waited for its commit.
bool tcgen05_ordered(const AsyncOp& earlier, const AsyncOp& later) {
  using Kind = AsyncOp::Kind;
  const bool core = earlier.kind == Kind::mma, copy = earlier.kind == Kind::tmem_copy,
             shift = earlier.kind == Kind::tmem_shift;
  if ((!core && !copy && !shift) || earlier.issuer != later.issuer || earlier.cta_group != later.cta_group)
    return false;
  switch (later.kind) {
    case Kind::commit: return true;
    case Kind::mma: return !core || accumulators_overlap(earlier, later);
    case Kind::tmem_shift: return core;
    case Kind::tmem_copy: return shift && later.copy.shape == TmemCopy::m4x256b;
    default: return false;
  }
}

void note_cta_group(Thread& thread, Pc pc, int cta_group) {
  Cluster& cluster = *thread.cluster;
  if (cluster.tensor.cta_group == 0) cluster.tensor.cta_group = cta_group;
  if (cluster.tensor.cta_group != cta_group)
    cluster.fail(thread, pc, "TMEM-RULE",
                 fmt::format("cta_group::{} in a kernel that used cta_group::{}; all tcgen05 work must agree",
                             cta_group, cluster.tensor.cta_group));
  if (cta_group == 2 && cluster.size() % 2 != 0)
    cluster.fail(thread, pc, "TMEM-RULE", "cta_group::2 needs clusters with an even number of CTAs");
}

void settle_tensor_memory(const Cta& cta) {
  Cluster& cluster = *cta.cluster;
  for (MmaSum& sum : cluster.tensor.sums)
    if (sum.touches(cta.tmem)) sum.settle();
}

namespace {

void tcgen05_mma(Thread& thread, Pc pc, const native::MmaInstruction& instruction) {
  Cluster& cluster = *thread.cluster;
  const int cta_group = instruction.cta_group;
  cluster.step(thread, pc);
  note_cta_group(thread, pc, cta_group);
  Result<MmaOperation> decoded = decode_mma(instruction);
  if (!decoded) cluster.fail(thread, pc, "MMA-RULE", decoded.error());
  for (bool operand_b : {false, true}) {
    if (!operand_b && decoded->a_in_tmem) continue;
    const SharedRange range = operand_range(*decoded, operand_b);
    if (range.begin < window_start || range.end > window_start + cluster.launch().config->shared_bytes)
      cluster.fail(thread, pc, "OOB-SHARED",
                   fmt::format("operand {} of tcgen05.mma covers 0x{:x} to 0x{:x}, outside the CTA's shared memory",
                               operand_b ? 'B' : 'A', range.begin, range.end));
  }
  const std::vector<TmemUse> uses = tmem_uses(*decoded);
  check_accumulator(*thread.warp, 1u << thread.id.lane, pc, "tcgen05.mma", uses.front().column, uses.front().columns);
  for (const TmemUse& use : uses) check_tmem_use(thread, pc, cta_group, "tcgen05.mma", use);
  const uint32_t first = first_of_group(thread, cta_group);
  uint64_t begin = thread.time;
  for (uint32_t i = 0; i < static_cast<uint32_t>(cta_group); ++i)
    begin = std::max(begin, cluster.ctas[first + i]->tensor_free_at);
  auto op = asynchronous(thread, pc, AsyncOp::Kind::mma, complete_tcgen05);
  op->cta_group = cta_group;
  op->mma = *decoded;
  const uint64_t rate = doubled_rate(instruction.kind) * static_cast<uint64_t>(cta_group) / 2;
  op->finish = begin + static_cast<uint64_t>(decoded->m) * decoded->n * decoded->k / rate;
  for (uint32_t i = 0; i < static_cast<uint32_t>(cta_group); ++i) {
    cluster.ctas[first + i]->tensor_free_at = op->finish;
    record(EventKind::mma, *cluster.ctas[first + i], thread.id.warp, begin, op->finish, uses.front().columns, "mma");
  }
  issue(std::move(op));
}

void tmem_copy(Thread& thread, Pc pc, TmemCopy shape, Expand expand, int cta_group, uint32_t destination,
               uint64_t source) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  note_cta_group(thread, pc, cta_group);
  const Result<TmemCopyOperation> decoded = decode_tmem_copy(shape, expand, destination, {source});
  if (!decoded) cluster.fail(thread, pc, "MMA-RULE", "tcgen05.cp: " + decoded.error());
  const SharedRange range = copy_range(*decoded);
  if (range.begin < window_start || range.end > window_start + cluster.launch().config->shared_bytes)
    cluster.fail(thread, pc, "OOB-SHARED",
                 fmt::format("the source of tcgen05.cp covers 0x{:x} to 0x{:x}, outside the CTA's shared memory",
                             range.begin, range.end));
  const uint32_t column = decoded->destination & 0xffff;
  check_accumulator(*thread.warp, 1u << thread.id.lane, pc, "tcgen05.cp", column, decoded->columns());
  check_tmem_use(thread, pc, cta_group, "tcgen05.cp", {"writes", column, decoded->columns()});
  auto op = asynchronous(thread, pc, AsyncOp::Kind::tmem_copy, complete_tcgen05);
  op->cta_group = cta_group;
  op->copy = *decoded;
  op->finish = thread.time + cost::tmem_latency;
  issue(std::move(op));
}

void tmem_shift(Thread& thread, Pc pc, int cta_group, uint32_t address) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  note_cta_group(thread, pc, cta_group);
  if (std::string broken = broken_shift_rule(address); !broken.empty())
    cluster.fail(thread, pc, "TMEM-RULE", std::move(broken));
  check_accumulator(*thread.warp, 1u << thread.id.lane, pc, "tcgen05.shift", address & 0x1ff, shift_columns);
  check_tmem_use(thread, pc, cta_group, "tcgen05.shift", {"moves", address & 0x1ff, shift_columns});
  auto op = asynchronous(thread, pc, AsyncOp::Kind::tmem_shift, complete_tcgen05);
  op->cta_group = cta_group;
  op->offset = address;
  op->finish = thread.time + cost::tmem_latency;
  issue(std::move(op));
}

void land_commit(AsyncOp& op) {
  if (op.barrier_cta->alive == 0)
    return fail_async(op, "EXIT-REMOTE",
                      fmt::format("tcgen05.commit arrives at {} of CTA {}, which has exited", barrier_name(op),
                                  op.barrier_cta->rank));
  const Barrier* barrier = deliver(op, SignalKind::commit, "tcgen05.commit arrives");
  if (op.issuer->cluster->recording() && barrier != nullptr)
    record(EventKind::commit, *op.barrier_cta, op.issuer->warp->index, op.finish, op.finish, 0, barrier->name());
}

void tcgen05_commit(Thread& thread, Pc pc, int cta_group, uint32_t barrier, int cta_mask) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  note_cta_group(thread, pc, cta_group);
  Cta* target = cluster.owner(barrier);
  if (target == nullptr) cluster.fail(thread, pc, "BAR-ADDRESS", "tcgen05.commit names a barrier outside the cluster");
  uint32_t offset = barrier & offset_mask;
  const Mutated mutated = mutate_at("tcgen05.commit", pc, *target, offset);
  const uint32_t mask = cta_mask < 0 ? 1u << target->rank : static_cast<uint32_t>(cta_mask);
  if (mask == 0 || mask >> cluster.size() != 0)
    cluster.fail(thread, pc, "MMA-RULE",
                 fmt::format("commit mask 0x{:x} for a cluster of {} CTAs", mask, cluster.size()));
  for (uint32_t repeat = 0; repeat < mutated.times; ++repeat) {
    for (uint32_t rank = 0; rank < cluster.size(); ++rank) {
      if ((mask >> rank & 1) == 0) continue;
      auto op = asynchronous(thread, pc, AsyncOp::Kind::commit, land_commit);
      op->finish = std::max(thread.time, thread.cta->tensor_free_at) + cost::commit_latency;
      op->cta_group = cta_group;
      op->barrier_cta = cluster.ctas[rank].get();
      op->barrier_offset = offset;
      issue(std::move(op));
    }
  }
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void umma(MmaKind kind, int cta_group, uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, bool accumulate) noexcept
    try {
  MmaInstruction instruction;
  instruction.kind = kind;
  instruction.cta_group = cta_group;
  instruction.d = d;
  instruction.a = a;
  instruction.b = b;
  instruction.idesc = idesc;
  instruction.accumulate = accumulate;
  isa::tcgen05_mma(thread(), WARPLOOM_PLACE(umma), instruction);
} catch (...) {
  break_off();
}

void umma(const MmaInstruction& instruction) noexcept try {
  isa::tcgen05_mma(thread(), WARPLOOM_PLACE(umma), instruction);
} catch (...) {
  break_off();
}

void tmem_copy(TmemCopy shape, Expand expand, int cta_group, uint32_t destination, uint64_t source) noexcept try {
  isa::tmem_copy(thread(), WARPLOOM_PLACE(tmem_copy), shape, expand, cta_group, destination, source);
} catch (...) {
  break_off();
}

void tmem_shift_down(int cta_group, uint32_t address) noexcept try {
  isa::tmem_shift(thread(), WARPLOOM_PLACE(tmem_shift_down), cta_group, address);
} catch (...) {
  break_off();
}

void umma_commit(int cta_group, uint32_t barrier, int cta_mask) noexcept try {
  isa::tcgen05_commit(thread(), WARPLOOM_PLACE(umma_commit), cta_group, barrier, cta_mask);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
