// wgmma between issue and wait. Each warp keeps its own order of wgmmas, commits and waits; the n-th wgmma of the four
// warps of a warpgroup is one instruction, which starts when the last of them has issued it and completes when the
// schedule says so (hardware.md §5.1, 5.3).
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "loom/exec/costs.hpp"
#include "loom/exec/cluster.hpp"

namespace warploom::loom {
namespace {

using Flight = native::WgmmaRegisters::Flight;
using Use = native::WgmmaRegisters::Use;

/// Bits of a warpgroup's warps in words: "warp 5", "warps 1 to 3", "warps 0, 2".
std::string warps_text(uint32_t first, uint32_t bits) {
  const auto low = static_cast<uint32_t>(std::countr_zero(bits));
  const auto count = static_cast<uint32_t>(std::popcount(bits));
  if (count == 1) return fmt::format("warp {}", first + low);
  if (bits >> low == (1u << count) - 1) return fmt::format("warps {} to {}", first + low, first + low + count - 1);
  std::string text = "warps";
  for (uint32_t i = 0; i < warpgroup_warps; ++i)
    if ((bits >> i & 1) != 0) text += fmt::format("{} {}", i == low ? "" : ",", first + i);
  return text;
}

/// What differs between two threads that should execute the same instruction, or "".
const char* difference(const native::WgmmaLane& one, const native::WgmmaLane& two) {
  if ((one.a == nullptr) != (two.a == nullptr)) return "different forms";
  if (one.a_descriptor != two.a_descriptor) return "different descriptors of A";
  if (one.b_descriptor != two.b_descriptor) return "different descriptors of B";
  if (one.accumulate != two.accumulate) return "different values of accumulate";
  return "";
}

}  // namespace

void Cluster::note_registers(Thread& thread, Posted& posted, const native::WgmmaLane& lane) {
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

/// The first lane of a warp, and any that differs from it: native::wgmma has the rest.
void Cluster::post_wgmma(Thread& thread, Pc pc, const native::WgmmaForm& form, const native::WgmmaLane& lane) {
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
      fail(thread, pc, "WGMMA-GROUP",
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

/// The instruction that the descriptors describe. A ring has few slots: what was found legal once is known.
const WgmmaOperation& Cluster::legal_wgmma(Thread& thread, const Posted& posted, const native::WgmmaLane& lane) {
  KnownWgmma& known = warpgroup(*thread.warp).known_operation(posted.a_descriptor, posted.b_descriptor);
  const bool from_registers = lane.a != nullptr;
  if (known.form == posted.form && known.a_descriptor == posted.a_descriptor &&
      known.b_descriptor == posted.b_descriptor && known.operation.a_in_registers == from_registers)
    return known.operation;
  const Pc pc = posted.pc;
  Result<WgmmaOperation> decoded =
      decode_wgmma(*posted.form, from_registers, {posted.a_descriptor}, {posted.b_descriptor}, posted.accumulate);
  if (!decoded) fail(thread, pc, "MMA-RULE", decoded.error());
  for (const bool operand_b : {false, true}) {
    if (!operand_b && decoded->a_in_registers) continue;
    const SharedRange range = wgmma_range(*decoded, operand_b);
    if (range.begin < window_start || range.end > window_start + launch_.config->shared_bytes)
      fail(thread, pc, "OOB-SHARED",
           fmt::format("operand {} of wgmma covers 0x{:x} to 0x{:x}, outside the CTA's shared memory",
                       operand_b ? 'B' : 'A', range.begin, range.end));
  }
  known = {posted.form, posted.a_descriptor, posted.b_descriptor, *decoded};
  return known.operation;
}

/// All lanes of the warp have come.
void Cluster::wgmma(Warp& warp, const Posted& posted) {
  Thread& thread = *running_;
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
    fail(thread, pc, "WGMMA-GROUP",
         fmt::format("warp {} executes wgmma, but the CTA has no warpgroup of warps {} to {}: it has {} warps",
                     warp.index, first, first + warpgroup_warps - 1, cta.warps.size()));

  // The instruction that the other warps have begun, or a new one.
  WgmmaQueue& queue = warp.wgmma;
  Warpgroup& group = warpgroup(warp);
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
    fail(thread, pc, "WGMMA-GROUP",
         fmt::format("warps {} and {} of a warpgroup execute wgmma number {} with {}", op->first->index, warp.index,
                     op->sequence, differs));
  if (op->commits != queue.commits)
    fail(thread, pc, "WGMMA-GROUP",
         fmt::format("warps {} and {} of a warpgroup execute wgmma number {} after {} and {} wgmma.commit_group",
                     op->first->index, warp.index, op->sequence, op->commits, queue.commits));

  op->registers[warp.index - first] = posted.registers;
  ++op->holders;
  ++queue.issued;
  queue.open.push_back(op);
  op->joined |= 1u << (warp.index - first);
  op->issued = std::max(op->issued, posted.time);
  if (watch_) watch_->wgmma_joined(warp, *op);
  if (op->joined != whole_warpgroup) return;
  group.forming.erase(open);
  start_wgmma(*cta.warps[first], *op);
}

/// May a wgmma of this K touch the thread's registers? (§5.3)
void Cluster::check_wgmma_registers(Thread& thread, Pc pc, const native::WgmmaLane& lane, uint32_t k) {
  if (!thread.warp->wgmma.fenced) [[unlikely]]
    fail(thread, pc, "WGMMA-FENCE", "the first wgmma of a warp comes without a wgmma.fence before it");
  const native::WgmmaRegisters& d = *lane.d_state;
  const native::WgmmaRegisters* a = lane.a_state;
  const char* advice = "wgmma_fence(...) that names the fragment orders those accesses before the wgmma";
  if (d.use == Use::ordinary) [[unlikely]]
    fail(thread, pc, "WGMMA-FENCE",
         fmt::format("ordinary code of lane {} touched the accumulator since the last wgmma.fence that named it",
                     thread.id.lane),
         {advice});
  if (d.use == Use::wgmma && d.k != k) [[unlikely]]
    fail(thread, pc, "WGMMA-FENCE",
         fmt::format("a wgmma with K = {} follows one with K = {} on the same accumulator without a wgmma.fence", k,
                     d.k));
  if (d.use == Use::fresh && lane.accumulate) [[unlikely]]
    fail(thread, pc, "FRAGMENT", "wgmma accumulates onto a fragment that nobody wrote");
  if (a == nullptr) return;
  if (a->use == Use::ordinary)
    fail(thread, pc, "WGMMA-FENCE",
         fmt::format("ordinary code of lane {} touched the A fragment since the last wgmma.fence that named it",
                     thread.id.lane),
         {advice});
  if (a->use == Use::fresh) fail(thread, pc, "FRAGMENT", "wgmma reads an A fragment that nobody wrote");
}

void Cluster::start_wgmma(Warp& warp, WgmmaInstruction& op) {
  if (watch_) watch_->wgmma(warp, op);
  const native::WgmmaForm& form = op.operation.form;
  const uint64_t begin = std::max(op.issued, warp.cta->tensor_free_at);
  const uint64_t rate = cost::wgmma_macs / size_of(form.a_type);
  op.finish = begin + static_cast<uint64_t>(wgmma_rows) * form.n * op.operation.k / rate;
  warp.cta->tensor_free_at = op.finish;
  record(EventKind::mma, *warp.cta, warp.index, begin, op.finish, form.n, "wgmma");
  // What completes at once and waits for nothing needs no record.
  if (launch_.options->schedule.policy == Policy::eager && pending_.empty()) return complete_wgmma(op);
  ++op.holders;
  auto async = std::make_unique<AsyncOp>();
  async->kind = AsyncOp::Kind::wgmma;
  async->issuer = warp.lanes[0];
  async->pc = op.pc;
  async->issued = op.issued;
  async->wgmma = &op;
  async->finish = op.finish;
  issue(std::move(async));
}

/// Reads the operands and sees to it that the registers have the result when a wait lets somebody look at them.
void Cluster::multiply_wgmma(const WgmmaInstruction& op) {
  Warpgroup& group = warpgroup(*op.first);
  PackedB& packed = op.first->cta->packed_b;
  const uint32_t ring = launch_.options->ring;
  const bool chained = launch_.options->numerics == Numerics::fast && WgmmaSum::takes(op.operation) && ring == 0;
  if (chained)
    for (WgmmaChain& chain : group.chains)
      if (chain.sum.continues(op.operation) &&
          std::equal(op.registers, op.registers + warpgroup_warps, chain.registers))
        return chain.sum.add(op.operation, op.shared, packed);
  WgmmaMemory memory{.shared = op.shared, .d = {}, .a = {}};
  for (uint32_t warp = 0; warp < warpgroup_warps; ++warp) {
    std::copy_n(op.registers[warp]->d, 32, memory.d + 32 * warp);
    if (op.operation.a_in_registers) std::copy_n(op.registers[warp]->a, 32, memory.a + 32 * warp);
  }
  WgmmaChain* free = nullptr;
  for (WgmmaChain& chain : group.chains) {
    if (chain.sum.overlaps(memory)) chain.sum.settle();
    if (chain.sum.empty()) free = &chain;
  }
  if (!chained) {
    execute_wgmma(op.operation, memory, launch_.options->numerics);
    if (ring != 0) keep_in_ring(op.operation, memory, ring);
    return;
  }
  if (free == nullptr) free = &group.chains.emplace_back();
  std::copy_n(op.registers, warpgroup_warps, free->registers);
  free->sum.begin(op.operation, memory);
  free->sum.add(op.operation, op.shared, packed);
}

void Cluster::complete_wgmma(WgmmaInstruction& op) {
  multiply_wgmma(op);
  op.complete = true;
  const uint32_t first = op.first->index / warpgroup_warps * warpgroup_warps;
  for (uint32_t i = 0; i < warpgroup_warps; ++i) {
    Warp& warp = *op.first->cta->warps[first + i];
    if (!warp.wgmma.waiting || !wgmma_covered(warp)) continue;
    warp.wgmma.waiting = false;
    if (warp.whole.held_up) {
      go_on_with_posted(warp);
      continue;
    }
    const uint64_t before = warp.whole.meeting.time, time = std::max(before, release_wgmma(warp));
    unblock_warp(warp, time);
    if (time > before) record(EventKind::wait, *warp.cta, warp.index, before, time, 0, "wgmma groups");
  }
}

bool Cluster::post_wgmma_fence(Thread& thread, Pc pc) {
  Posted& posted = post(thread, pc, PostedKind::fence);
  if (!posted.begun) posted.executes = mutate("wgmma.fence", pc, nullptr).times != 0;
  const bool executes = posted.executes;
  if (executes) thread.warp->wgmma.fenced = true;
  arrive(thread, posted);
  return executes;
}

void Cluster::post_wgmma_commit(Thread& thread, Pc pc) {
  Posted& posted = post(thread, pc, PostedKind::commit);
  if (!posted.begun) posted.executes = mutate("wgmma.commit_group", pc, nullptr).times != 0;
  arrive(thread, posted);
}

/// Are the groups complete that the warp's wait does not leave pending?
bool Cluster::wgmma_covered(const Warp& warp) const {
  const WgmmaQueue& queue = warp.wgmma;
  for (size_t i = 0; i + queue.pending < queue.groups.size(); ++i)
    for (const auto& op : queue.groups[i])
      if (!op->complete) return false;
  return true;
}

/// No wgmma on these registers is left, unless lanes have used others of theirs together with one of these.
void Cluster::release_registers(Warp& warp, const PostedRegisters& registers, bool with_a) {
  const uint32_t first = 32 * (warp.index % warpgroup_warps);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    native::WgmmaRegisters* d = registers.d_state[lane];
    if (!warp.whole.uses(lane, d)) {
      d->flight = Flight::unnamed;
      for (WgmmaChain& chain : warpgroup(warp).chains)
        if (chain.sum.holds(first + lane, registers.d[lane])) chain.sum.settle();
    }
    if (!with_a) continue;
    native::WgmmaRegisters* a = registers.a_state[lane];
    if (!warp.whole.uses(lane, a)) a->flight = Flight::none;
  }
}

/// The covered groups are history: their registers are ordinary again, from the time the last of them was done, which
/// is returned.
uint64_t Cluster::release_wgmma(Warp& warp) {
  WgmmaQueue& queue = warp.wgmma;
  const uint32_t index = warp.index % warpgroup_warps;
  uint64_t time = 0;
  while (queue.groups.size() > queue.pending) {
    const WgmmaQueue::Group& group = queue.groups.front();
    if (watch_ && !group.empty()) watch_->wgmma_waited(warp, *group.back());
    for (size_t i = 0; i < group.size(); ++i) {
      const WgmmaInstruction& op = *group[i];
      PostedRegisters& registers = *op.registers[index];
      // A chain on the same registers is released at once.
      uint32_t chain = 1;
      while (i + 1 < group.size() && !op.operation.a_in_registers && group[i + 1]->registers[index] == &registers) {
        ++chain;
        ++i;
      }
      time = std::max(time, group[i]->finish);
      registers.uses -= chain;
      if (registers.uses == 0) release_registers(warp, registers, op.operation.a_in_registers);
    }
    for (WgmmaInstruction* op : group) warpgroup(warp).let_go(*op);
    queue.forget_oldest();
  }
  return time;
}

std::optional<uint64_t> Cluster::wgmma_wait(Warp& warp, Pc pc, uint32_t pending) {
  const uint64_t before = warp.whole.meeting.time;
  const Mutated mutated = mutate("wgmma.wait_group", pc, nullptr);
  if (mutated.times == 0) return before;
  WgmmaQueue& queue = warp.wgmma;
  queue.pending = pending + static_cast<uint32_t>(mutated.count);
  if (wgmma_covered(warp)) {
    const uint64_t time = std::max(before, release_wgmma(warp));
    if (time > before) record(EventKind::wait, *warp.cta, warp.index, before, time, pending, "wgmma groups");
    return time;
  }
  queue.waiting = true;
  block_warp(*running_, {.kind = WaitKind::wgmma_group, .pc = pc, .id = pending, .operation = "wgmma.wait_group"});
  return {};
}

void Cluster::wgmma_misuse(Thread& thread, Pc pc, const char* what, const native::WgmmaRegisters* registers) {
  catch_up(thread);  // the wgmma may not have executed yet: what is said below is about one that has
  if (registers->flight == Flight::unnamed)
    fail(
        thread, pc, "FRAGMENT",
        fmt::format("a fragment is {} that the wait for its wgmma did not name; the compiler may move the access above "
                    "that wait",
                    what),
        {"wgmma_wait_group<...>(fragment) keeps it below"});
  const WgmmaQueue& queue = thread.warp->wgmma;
  const uint32_t lane = thread.id.lane;
  auto uses = [&](const WgmmaInstruction* op) {
    const PostedRegisters& used = *op->registers[thread.id.warp % warpgroup_warps];
    return used.d_state[lane] == registers || (op->operation.a_in_registers && used.a_state[lane] == registers);
  };
  const auto uncommitted = std::find_if(queue.open.rbegin(), queue.open.rend(), uses);
  const WgmmaInstruction* last = uncommitted == queue.open.rend() ? nullptr : *uncommitted;
  for (auto group = queue.groups.rbegin(); last == nullptr && group != queue.groups.rend(); ++group)
    if (const auto op = std::find_if(group->rbegin(), group->rend(), uses); op != group->rend()) last = *op;
  std::vector<std::string> notes;
  if (last != nullptr) {
    const Location at = location_from_fiber(last->pc);
    notes.push_back(fmt::format("the wgmma at {}:{} {} it", at.user.file, at.user.line,
                                registers->flight == Flight::operand ? "reads" : "writes"));
  }
  fail(thread, pc, "FRAGMENT",
       fmt::format("a fragment is {} while a wgmma {} it; {}", what,
                   registers->flight == Flight::operand ? "reads" : "writes",
                   uncommitted != queue.open.rend() ? "wgmma.commit_group and wgmma.wait_group come first"
                                                    : "a wgmma.wait_group that covers it comes first"),
       std::move(notes));
}

bool Cluster::wgmma_left_at_exit(Thread& thread) {
  const WgmmaQueue& queue = thread.warp->wgmma;
  if (!queue.open.empty()) {
    add_finding(&thread, queue.open.front()->pc, "EXIT-PENDING",
                "a warp exits with a wgmma that it never committed to a group", {});
    return true;
  }
  for (const WgmmaQueue::Group& group : queue.groups) {
    if (group.empty()) continue;
    add_finding(&thread, group.front()->pc, "EXIT-PENDING",
                "a warp exits without waiting for the group of this wgmma; it writes registers that are gone", {});
    return true;
  }
  return false;
}

bool Cluster::partial_warpgroup() {
  for (const auto& cta : ctas_) {
    for (uint32_t index = 0; index < cta->warpgroups.size(); ++index) {
      const uint32_t first = index * warpgroup_warps;
      const Warpgroup& group = cta->warpgroups[index];
      for (const RegisterRequest& request : group.requests) {
        bool gone = request.joined != whole_warpgroup;  // a warp that waits elsewhere may yet come
        for (uint32_t i = 0; i < warpgroup_warps; ++i)
          if ((request.joined >> i & 1) == 0)
            gone = gone && cta->warps[first + i]->lanes[0]->state == Thread::State::exited;
        if (!gone) continue;
        add_finding(request.first->lanes[0], request.pc, "REGISTERS",
                    fmt::format("only {} of the warpgroup of warps {} to {} executed this setmaxnreg",
                                warps_text(first, request.joined), first, first + warpgroup_warps - 1),
                    {});
        return true;
      }
      for (const auto& op : group.forming) {
        const uint32_t missing = whole_warpgroup & ~op->joined;
        // A warp that has come before may come again, once what holds it up is mended.
        bool never = true;
        for (uint32_t i = 0; i < warpgroup_warps; ++i)
          if ((missing >> i & 1) != 0) never = never && cta->warps[first + i]->wgmma.issued == 0;
        if (!never) continue;
        // The end of this warpgroup and the beginning of the next: four warps that are no warpgroup.
        const Warpgroup* next = index + 1 < cta->warpgroups.size() ? &cta->warpgroups[index + 1] : nullptr;
        const bool shifted = next != nullptr && !next->forming.empty() && next->forming.front()->joined == missing &&
                             std::has_single_bit(missing + 1);
        const auto shift = static_cast<uint32_t>(std::popcount(missing));
        add_finding(
            op->first->lanes[0], op->pc, "WGMMA-GROUP",
            shifted
                ? fmt::format("warps {} to {} execute wgmma together, but a warpgroup begins at a multiple of four: "
                              "warps {} to {} are one",
                              first + shift, first + shift + 3, first, first + warpgroup_warps - 1)
                : fmt::format("only {} of the warpgroup of warps {} to {} executed this wgmma",
                              warps_text(first, op->joined), first, first + warpgroup_warps - 1),
            {});
        return true;
      }
    }
  }
  return false;
}

}  // namespace warploom::loom
