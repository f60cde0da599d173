// wgmma from the lanes that issue it to the instruction that starts. Each warp keeps its own order of wgmmas, commits
// and waits; the n-th wgmma of the four warps of a warpgroup is one instruction, which starts when the last of them has
// issued it (hardware.md §5.1, 5.3).
#include "loom/isa/wgmma.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"
#include "loom/front/deferred.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
namespace {

using Flight = native::WgmmaRegisters::Flight;

using Use = native::WgmmaRegisters::Use;

/// What differs between two threads that should execute the same instruction, or "".
const char* difference(const native::WgmmaLane& one, const native::WgmmaLane& two) {
  if ((one.a == nullptr) != (two.a == nullptr)) return "different forms";
  if (one.a_descriptor != two.a_descriptor) return "different descriptors of A";
  if (one.b_descriptor != two.b_descriptor) return "different descriptors of B";
  if (one.accumulate != two.accumulate) return "different values of accumulate";
  return "";
}

void note_registers(Thread& thread, Posted& posted, const native::WgmmaLane& lane) {
  WholeWarp& whole = thread.warp->whole;
  const uint32_t index = thread.id.lane;
  if (!posted.begun) {
    posted.registers = lane.a == nullptr ? whole.find_registers(index, posted.form, lane.d, lane.d_state) : nullptr;
    posted.same_registers = posted.registers != nullptr;
    if (!posted.same_registers) {
      posted.registers = &whole.unused_registers();
      posted.registers->form = posted.form;
    }
    ++posted.registers->uses;
  }
  if (posted.same_registers) {
    const PostedRegisters& same = *posted.registers;
    if (lane.a == nullptr && same.d[index] == lane.d && same.d_state[index] == lane.d_state) return;
    // Of the lanes that have come they are; this one is different.
    PostedRegisters& own = whole.unused_registers();
    own = same;
    own.uses = 1;
    --posted.registers->uses;
    posted.registers = &own;
    posted.same_registers = false;
  }
  PostedRegisters& registers = *posted.registers;
  registers.d[index] = lane.d;
  registers.d_state[index] = lane.d_state;
  registers.a[index] = lane.a;
  registers.a_state[index] = lane.a_state;
}

/// May a wgmma of this K touch the thread's registers? (§5.3)
void check_wgmma_registers(Thread& thread, Pc pc, const native::WgmmaLane& lane, uint32_t k) {
  Cluster& cluster = *thread.cluster;
  if (!thread.warp->wgmma.fenced) [[unlikely]]
    cluster.fail(thread, pc, "WGMMA-FENCE", "the first wgmma of a warp comes without a wgmma.fence before it");
  const native::WgmmaRegisters& d = *lane.d_state;
  const native::WgmmaRegisters* a = lane.a_state;
  const char* advice = "wgmma_fence(...) that names the fragment orders those accesses before the wgmma";
  if (d.use == Use::ordinary) [[unlikely]]
    cluster.fail(
        thread, pc, "WGMMA-FENCE",
        fmt::format("ordinary code of lane {} touched the accumulator since the last wgmma.fence that named it",
                    thread.id.lane),
        {advice});
  if (d.use == Use::wgmma && d.k != k) [[unlikely]]
    cluster.fail(
        thread, pc, "WGMMA-FENCE",
        fmt::format("a wgmma with K = {} follows one with K = {} on the same accumulator without a wgmma.fence", k,
                    d.k));
  if (d.use == Use::fresh && lane.accumulate) [[unlikely]]
    cluster.fail(thread, pc, "FRAGMENT", "wgmma accumulates onto a fragment that nobody wrote");
  if (a == nullptr) return;
  if (a->use == Use::ordinary)
    cluster.fail(thread, pc, "WGMMA-FENCE",
                 fmt::format("ordinary code of lane {} touched the A fragment since the last wgmma.fence that named it",
                             thread.id.lane),
                 {advice});
  if (a->use == Use::fresh) cluster.fail(thread, pc, "FRAGMENT", "wgmma reads an A fragment that nobody wrote");
}

/// The instruction that the descriptors describe. A ring has few slots: what was found legal once is known.
const WgmmaOperation& legal_wgmma(Thread& thread, const Posted& posted, const native::WgmmaLane& lane) {
  Cluster& cluster = *thread.cluster;
  KnownWgmma& known = cluster.warpgroup(*thread.warp).known_operation(posted.a_descriptor, posted.b_descriptor);
  const bool from_registers = lane.a != nullptr;
  if (known.form == posted.form && known.a_descriptor == posted.a_descriptor &&
      known.b_descriptor == posted.b_descriptor && known.operation.a_in_registers == from_registers)
    return known.operation;
  const Pc pc = posted.pc;
  Result<WgmmaOperation> decoded =
      decode_wgmma(*posted.form, from_registers, {posted.a_descriptor}, {posted.b_descriptor}, posted.accumulate);
  if (!decoded) cluster.fail(thread, pc, "MMA-RULE", decoded.error());
  for (const bool operand_b : {false, true}) {
    if (!operand_b && decoded->a_in_registers) continue;
    const SharedRange range = wgmma_range(*decoded, operand_b);
    if (range.begin < window_start || range.end > window_start + cluster.launch().config->shared_bytes)
      cluster.fail(thread, pc, "OOB-SHARED",
                   fmt::format("operand {} of wgmma covers 0x{:x} to 0x{:x}, outside the CTA's shared memory",
                               operand_b ? 'B' : 'A', range.begin, range.end));
  }
  known = {posted.form, posted.a_descriptor, posted.b_descriptor, *decoded};
  return known.operation;
}

/// The first lane of a warp, and any that differs from it: native::wgmma has the rest.
void post_wgmma(Thread& thread, Pc pc, const native::WgmmaForm& form, const native::WgmmaLane& lane) {
  Cluster& cluster = *thread.cluster;
  Posted& posted = post(thread, pc, PostedKind::wgmma);
  const uint32_t k = mma_k_bytes / size_of(form.a_type);
  if (!posted.begun) {
    posted.form = &form;
    posted.a_descriptor = lane.a_descriptor;
    posted.b_descriptor = lane.b_descriptor;
    posted.accumulate = lane.accumulate;
    posted.k = lane.a == nullptr ? static_cast<uint8_t>(k) : 0;
  } else {
    const native::WgmmaLane first{.a = posted.k == 0 ? posted.registers->a[posted.first_lane] : nullptr,
                                  .a_descriptor = posted.a_descriptor,
                                  .b_descriptor = posted.b_descriptor,
                                  .accumulate = posted.accumulate};
    const char* differs = *posted.form == form ? difference(first, lane) : "different forms";
    if (*differs != '\0')
      cluster.fail(thread, pc, "WGMMA-GROUP",
                   fmt::format("threads {} and {} execute a wgmma together with {}",
                               32 * thread.warp->index + posted.first_lane, thread.id.thread, differs));
  }
  check_wgmma_registers(thread, pc, lane, k);
  const auto fly = [&](native::WgmmaRegisters* state, Flight flight) {
    if (state == nullptr) return;
    state->flight = flight;
    state->use = Use::wgmma;
    state->k = static_cast<uint8_t>(k);
  };
  fly(lane.d_state, Flight::accumulator);
  fly(lane.a_state, Flight::operand);
  note_registers(thread, posted, lane);
  arrive(thread, posted);
}

}  // namespace

/// All lanes of the warp have come.
void wgmma(Warp& warp, const Posted& posted) {
  Cluster& cluster = *warp.cluster;
  check::Watch* const watch = cluster.watch();
  Thread& thread = *cluster.running();
  const Pc pc = posted.pc;
  const native::WgmmaForm& form = *posted.form;
  const PostedRegisters& registers = *posted.registers;
  const native::WgmmaLane mine{.a = posted.k == 0 ? registers.a[0] : nullptr,
                               .a_descriptor = posted.a_descriptor,
                               .b_descriptor = posted.b_descriptor,
                               .accumulate = posted.accumulate};
  Cta& cta = *warp.cta;
  const uint32_t first = warp.index / warpgroup_warps * warpgroup_warps;
  if (first + warpgroup_warps > cta.warps.size())
    cluster.fail(thread, pc, "WGMMA-GROUP",
                 fmt::format("warp {} executes wgmma, but the CTA has no warpgroup of warps {} to {}: it has {} warps",
                             warp.index, first, first + warpgroup_warps - 1, cta.warps.size()));

  // The instruction that the other warps have begun, or a new one.
  WgmmaQueue& queue = warp.wgmma;
  Warpgroup& group = cluster.warpgroup(warp);
  auto open = std::find_if(group.forming.begin(), group.forming.end(),
                           [&](const WgmmaInstruction* other) { return other->sequence == queue.issued; });
  if (open == group.forming.end()) {
    const WgmmaOperation& decoded = legal_wgmma(thread, posted, mine);
    open = group.forming.insert(group.forming.end(), &group.new_instruction());
    WgmmaInstruction& op = **open;
    op.operation = decoded;
    op.operation.accumulate = mine.accumulate;
    op.shared = cta.window;
    op.a_descriptor = mine.a_descriptor;
    op.b_descriptor = mine.b_descriptor;
    op.sequence = queue.issued;
    op.commits = queue.commits;
    op.first = &warp;
    op.pc = pc;
  }
  WgmmaInstruction* op = *open;
  const native::WgmmaLane theirs{.a = op->operation.a_in_registers ? mine.a : nullptr,
                                 .a_descriptor = op->a_descriptor,
                                 .b_descriptor = op->b_descriptor,
                                 .accumulate = op->operation.accumulate};
  const char* differs = (mine.a != nullptr) == op->operation.a_in_registers && op->operation.form == form
                            ? difference(mine, theirs)
                            : "different forms";
  if (*differs != '\0')
    cluster.fail(thread, pc, "WGMMA-GROUP",
                 fmt::format("warps {} and {} of a warpgroup execute wgmma number {} with {}", op->first->index,
                             warp.index, op->sequence, differs));
  if (op->commits != queue.commits)
    cluster.fail(
        thread, pc, "WGMMA-GROUP",
        fmt::format("warps {} and {} of a warpgroup execute wgmma number {} after {} and {} wgmma.commit_group",
                    op->first->index, warp.index, op->sequence, op->commits, queue.commits));

  op->registers[warp.index - first] = posted.registers;
  ++op->holders;
  ++queue.issued;
  queue.open.push_back(op);
  op->joined |= 1u << (warp.index - first);
  op->issued = std::max(op->issued, posted.time);
  if (watch) watch->wgmma_joined(warp, *op);
  if (op->joined != whole_warpgroup) return;
  group.forming.erase(open);
  start_wgmma(*cta.warps[first], *op);
}

namespace {

bool post_wgmma_fence(Thread& thread, Pc pc) {
  Cluster& cluster = *thread.cluster;
  Posted& posted = post(thread, pc, PostedKind::fence);
  if (!posted.begun) posted.executes = mutate(cluster, "wgmma.fence", pc, nullptr).times != 0;
  const bool executes = posted.executes;
  if (executes) thread.warp->wgmma.fenced = true;
  arrive(thread, posted);
  return executes;
}

void post_wgmma_commit(Thread& thread, Pc pc) {
  Cluster& cluster = *thread.cluster;
  Posted& posted = post(thread, pc, PostedKind::commit);
  if (!posted.begun) posted.executes = mutate(cluster, "wgmma.commit_group", pc, nullptr).times != 0;
  arrive(thread, posted);
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void post_wgmma(const WgmmaForm& form, const WgmmaLane& lane) noexcept try {
  isa::post_wgmma(thread(), WARPLOOM_PLACE(post_wgmma), form, lane);
} catch (...) {
  break_off();
}

bool post_wgmma_fence() noexcept try {
  return isa::post_wgmma_fence(thread(), WARPLOOM_PLACE(post_wgmma_fence));
} catch (...) {
  break_off();
}

void post_wgmma_commit() noexcept try {
  isa::post_wgmma_commit(thread(), WARPLOOM_PLACE(post_wgmma_commit));
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
