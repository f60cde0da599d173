// What one thread issues to the tensor core: tcgen05.mma, cp and shift. Each becomes a record; the schedule decides
// when it takes effect, within the order the hardware guarantees (hardware.md §4.5).
#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/costs.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/units/tensor_core_product.hpp"

namespace warploom::loom {
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

void Cluster::check_tmem_use(Thread& thread, Pc pc, int cta_group, const char* instruction, const TmemUse& use) {
  const uint32_t first = first_of_group(thread, cta_group);
  for (uint32_t i = 0; i < static_cast<uint32_t>(cta_group); ++i) {
    const Cta& cta = *ctas_[first + i];
    const bool allocated = std::any_of(cta.allocations.begin(), cta.allocations.end(), [&](const auto& allocation) {
      return use.column >= allocation.first && use.column + use.columns <= allocation.first + allocation.second;
    });
    if (!allocated)
      fail(thread, pc, "TMEM-RULE",
           fmt::format("{} {} columns {} to {} of CTA {}, which are not allocated", instruction, use.what, use.column,
                       use.column + use.columns - 1, cta.rank));
  }
}

void Cluster::mma(Thread& thread, Pc pc, const native::MmaInstruction& instruction) {
  const int cta_group = instruction.cta_group;
  step(thread, pc);
  note_cta_group(thread, pc, cta_group);
  Result<MmaOperation> decoded = decode_mma(instruction);
  if (!decoded) fail(thread, pc, "MMA-RULE", decoded.error());
  for (bool operand_b : {false, true}) {
    if (!operand_b && decoded->a_in_tmem) continue;
    const SharedRange range = operand_range(*decoded, operand_b);
    if (range.begin < window_start || range.end > window_start + launch_.config->shared_bytes)
      fail(thread, pc, "OOB-SHARED",
           fmt::format("operand {} of tcgen05.mma covers 0x{:x} to 0x{:x}, outside the CTA's shared memory",
                       operand_b ? 'B' : 'A', range.begin, range.end));
  }
  const std::vector<TmemUse> uses = tmem_uses(*decoded);
  check_accumulator(*thread.warp, 1u << thread.id.lane, pc, "tcgen05.mma", uses.front().column, uses.front().columns);
  for (const TmemUse& use : uses) check_tmem_use(thread, pc, cta_group, "tcgen05.mma", use);
  const uint32_t first = first_of_group(thread, cta_group);
  uint64_t begin = thread.time;
  for (uint32_t i = 0; i < static_cast<uint32_t>(cta_group); ++i)
    begin = std::max(begin, ctas_[first + i]->tensor_free_at);
  auto op = std::make_unique<AsyncOp>();
  op->kind = AsyncOp::Kind::mma;
  op->issuer = &thread;
  op->pc = pc;
  op->issued = thread.time;
  op->cta_group = cta_group;
  op->mma = *decoded;
  const uint64_t rate = doubled_rate(instruction.kind) * static_cast<uint64_t>(cta_group) / 2;
  op->finish = begin + static_cast<uint64_t>(decoded->m) * decoded->n * decoded->k / rate;
  for (uint32_t i = 0; i < static_cast<uint32_t>(cta_group); ++i) {
    ctas_[first + i]->tensor_free_at = op->finish;
    record(EventKind::mma, *ctas_[first + i], thread.id.warp, begin, op->finish, uses.front().columns, "mma");
  }
  issue(std::move(op));
}

void Cluster::tmem_copy(Thread& thread, Pc pc, TmemCopy shape, Expand expand, int cta_group, uint32_t destination,
                        uint64_t source) {
  step(thread, pc);
  note_cta_group(thread, pc, cta_group);
  const Result<TmemCopyOperation> decoded = decode_tmem_copy(shape, expand, destination, {source});
  if (!decoded) fail(thread, pc, "MMA-RULE", "tcgen05.cp: " + decoded.error());
  const SharedRange range = copy_range(*decoded);
  if (range.begin < window_start || range.end > window_start + launch_.config->shared_bytes)
    fail(thread, pc, "OOB-SHARED",
         fmt::format("the source of tcgen05.cp covers 0x{:x} to 0x{:x}, outside the CTA's shared memory", range.begin,
                     range.end));
  const uint32_t column = decoded->destination & 0xffff;
  check_accumulator(*thread.warp, 1u << thread.id.lane, pc, "tcgen05.cp", column, decoded->columns());
  check_tmem_use(thread, pc, cta_group, "tcgen05.cp", {"writes", column, decoded->columns()});
  auto op = std::make_unique<AsyncOp>();
  op->kind = AsyncOp::Kind::tmem_copy;
  op->issuer = &thread;
  op->pc = pc;
  op->issued = thread.time;
  op->cta_group = cta_group;
  op->copy = *decoded;
  op->finish = thread.time + cost::tmem_latency;
  issue(std::move(op));
}

void Cluster::tmem_shift(Thread& thread, Pc pc, int cta_group, uint32_t address) {
  step(thread, pc);
  note_cta_group(thread, pc, cta_group);
  if (std::string broken = broken_shift_rule(address); !broken.empty())
    fail(thread, pc, "TMEM-RULE", std::move(broken));
  check_accumulator(*thread.warp, 1u << thread.id.lane, pc, "tcgen05.shift", address & 0x1ff, shift_columns);
  check_tmem_use(thread, pc, cta_group, "tcgen05.shift", {"moves", address & 0x1ff, shift_columns});
  auto op = std::make_unique<AsyncOp>();
  op->kind = AsyncOp::Kind::tmem_shift;
  op->issuer = &thread;
  op->pc = pc;
  op->issued = thread.time;
  op->cta_group = cta_group;
  op->offset = address;
  op->finish = thread.time + cost::tmem_latency;
  issue(std::move(op));
}

void Cluster::complete_tcgen05(AsyncOp& op) {
  const char* name = op.kind == AsyncOp::Kind::mma         ? "tcgen05.mma"
                     : op.kind == AsyncOp::Kind::tmem_copy ? "tcgen05.cp"
                                                           : "tcgen05.shift";
  MmaMemory memory[2];
  const uint32_t first = first_of_group(*op.issuer, op.cta_group);
  for (int i = 0; i < op.cta_group; ++i) {
    Cta& cta = *ctas_[first + static_cast<uint32_t>(i)];
    if (cta.alive == 0) {
      fail_async(op, "EXIT-REMOTE", fmt::format("{} works on CTA {}, which has exited", name, cta.rank));
      return;
    }
    memory[i] = {cta.window, cta.window_bytes, cta.tmem};
  }
  const bool fast = launch_.options->numerics == Numerics::fast;
  const uint32_t ring = launch_.options->ring;
  if (op.kind == AsyncOp::Kind::mma && fast && ring == 0 && MmaSum::takes(op.mma)) return chain_mma(op.mma, memory);
  for (int i = 0; i < op.cta_group; ++i) settle_tensor_memory(*ctas_[first + static_cast<uint32_t>(i)]);
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

/// Reads the operands and sees to it that tensor memory has the result when somebody looks there.
void Cluster::chain_mma(const MmaOperation& op, const MmaMemory* memory) {
  MmaSum* free = nullptr;
  for (MmaSum& sum : sums_) {
    if (sum.continues(op, memory)) return sum.add(op, memory);
    if (sum.overlaps(op, memory)) sum.settle();
    if (sum.empty()) free = &sum;
  }
  if (free == nullptr) free = &sums_.emplace_back();
  free->add(op, memory);
}

void Cluster::settle_tensor_memory(const Cta& cta) {
  for (MmaSum& sum : sums_)
    if (sum.touches(cta.tmem)) sum.settle();
}

}  // namespace warploom::loom
