// mbarrier: init, inval, arrivals and byte counts. A live mbarrier's bytes hold a tag, so that a stray write to them is
// noticed; its state is the machine's.
#include "loom/isa/mbarrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "loom/exec/choices.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/exec/memory.hpp"
#include "loom/front/deferred.hpp"
#include "loom/front/native.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::loom {

namespace isa {
namespace {

// A live mbarrier's eight bytes hold this tag and its index, so that a stray write to them is noticed.
constexpr uint64_t barrier_tag = 0xba77ull << 48;

constexpr uint64_t barrier_tag_mask = 0xffffull << 48;

void fault(Thread& thread, Pc pc, const Barrier& barrier, MbarrierFault fault, const Signal& signal) {
  Cluster& cluster = *thread.cluster;
  const MbarrierState& state = barrier.state;
  std::vector<std::string> notes = signalled_by(barrier);
  switch (fault) {
    case MbarrierFault::arrive_overflow:
    case MbarrierFault::drop_range:
      cluster.fail(thread, pc, "ARRIVE-OVERFLOW",
                   fmt::format("{} arrival(s) on {} of cta {}, whose phase {} expects {} more of {}", signal.arrivals,
                               barrier.name(), barrier.cta->rank, state.phase, state.pending, state.expected),
                   std::move(notes));
    case MbarrierFault::count_range:
      cluster.fail(
          thread, pc, "ARRIVE-OVERFLOW",
          fmt::format("an arrive count of {} on {}; 1 to 1048575 are possible", signal.arrivals, barrier.name()),
          std::move(notes));
    case MbarrierFault::tx_underflow:
    case MbarrierFault::tx_overflow:
      cluster.fail(thread, pc, "TX-RANGE",
                   fmt::format("{} bytes take the byte count of {} out of its range of +-1048575 (it stood at {})",
                               signal.bytes, barrier.name(), state.tx),
                   std::move(notes));
    case MbarrierFault::none: break;
  }
}

void name_barriers(Thread& thread, Pc pc, uint32_t first, uint32_t count, const char* ring, uint8_t side,
                   const char* signalled_by) {
  (void)pc;
  for (uint32_t i = 0; i < count; ++i) {
    Barrier* barrier = find_barrier(*thread.cta, (first & offset_mask) + 8 * i);
    if (barrier == nullptr) continue;  // an init the mutation hook dropped
    barrier->ring = ring;
    barrier->side = side;
    barrier->stage = i;
    barrier->stages = count;
    barrier->signalled_by = signalled_by;
  }
}

}  // namespace

Barrier* find_barrier(Cta& cta, uint32_t offset) {
  if (offset % 8 != 0 || !inside(cta, offset, 8)) return nullptr;
  uint64_t word = 0;
  std::memcpy(&word, cta.window + offset, sizeof(word));
  if ((word & barrier_tag_mask) != barrier_tag) return nullptr;
  const uint64_t index = word & ~barrier_tag_mask;
  if (index >= cta.barriers.size()) return nullptr;
  Barrier* barrier = cta.barriers[index].get();
  return barrier->offset == offset && barrier->live ? barrier : nullptr;
}

Barrier& barrier_at(Thread& thread, Pc pc, uint32_t address, bool local_only) {
  Cluster& cluster = *thread.cluster;
  Cta* cta = cluster.owner(address);
  const uint32_t offset = address & offset_mask;
  if (cta == nullptr || offset % 8 != 0 || !inside(*cta, offset, 8))
    cluster.fail(thread, pc, "BAR-ADDRESS",
                 fmt::format("0x{:08x} is not the address of an mbarrier in this cluster", address));
  if (local_only && cta != thread.cta)
    cluster.fail(thread, pc, "BAR-REMOTE-WAIT",
                 fmt::format("only arrivals may name another CTA's mbarrier; this one is in CTA {}", cta->rank));
  Barrier* barrier = find_barrier(*cta, offset);
  if (cta->alive == 0)
    cluster.fail(
        thread, pc, "EXIT-REMOTE",
        fmt::format("signals {} of CTA {}, which has exited",
                    barrier != nullptr ? barrier->name() : fmt::format("an mbarrier at 0x{:x}", offset), cta->rank));
  if (barrier == nullptr) {
    for (const auto& known : cta->barriers)
      if (known->offset == offset && known->live)
        cluster.fail(thread, pc, "BAR-UNINIT", fmt::format("the bytes of {} were overwritten", known->name()));
    cluster.fail(thread, pc, "BAR-UNINIT", fmt::format("the mbarrier at 0x{:08x} was not initialised", address));
  }
  return *barrier;
}

void check_overrun(const AsyncOp& op) {
  Cluster& cluster = *op.issuer->cluster;
  const Cta& cta = *op.destination;
  uint32_t bytes = op.bytes;
  if (op.kind == AsyncOp::Kind::tma_load && op.global == nullptr) bytes = tma_box_footprint(op.map, op.at.mode);
  const uint32_t begin = op.offset, end = begin + bytes;
  if (end <= cta.barriers_begin || begin >= cta.barriers_end) return;
  for (const auto& barrier : cta.barriers)
    if (barrier->live && begin < barrier->offset + 8 && end > barrier->offset)
      cluster.fail(
          *op.issuer, op.pc, "BAR-UNINIT",
          fmt::format("a copy of {} bytes to 0x{:x} of cta {} runs over {} at 0x{:x}, a live mbarrier", bytes, begin,
                      cta.rank, barrier->name(), barrier->offset),
          {"a smaller copy, or more room before the barrier; mbarrier_invalidate() where the barrier is done with"});
}

uint32_t next_stage(const Barrier& barrier) {
  if (barrier.ring == nullptr || barrier.stages < 2) return barrier.offset + 8;
  return barrier.offset - 8 * barrier.stage + 8 * ((barrier.stage + 1) % barrier.stages);
}

Mutated mutate_at(const char* operation, Pc pc, Cta& cta, uint32_t& offset) {
  const Barrier* const named = find_barrier(cta, offset);
  const Mutated mutated = mutate(*cta.cluster, operation, pc, named);
  if (mutated.wrong_stage && named != nullptr) offset = next_stage(*named);
  return mutated;
}

MbarrierFault apply(Barrier& barrier, const Signal& signal, uint64_t time) {
  Cluster& cluster = *barrier.cta->cluster;
  check::Watch* const watch = cluster.watch();
  const uint64_t phase = barrier.state.phase;
  MbarrierFault fault = MbarrierFault::none;
  switch (signal.kind) {
    case SignalKind::arrive:
    case SignalKind::commit: fault = barrier.state.arrive(signal.arrivals); break;
    case SignalKind::expect_tx: fault = barrier.state.expect_tx(static_cast<uint32_t>(signal.bytes)); break;
    case SignalKind::arrive_expect_tx:
      fault = barrier.state.arrive_expect_tx(static_cast<uint32_t>(signal.bytes));
      break;
    case SignalKind::complete_tx: fault = barrier.state.complete_tx(static_cast<uint32_t>(signal.bytes)); break;
    case SignalKind::arrive_drop:
      fault = signal.bytes != 0 ? barrier.state.arrive_drop_expect_tx(static_cast<uint32_t>(signal.bytes))
                                : barrier.state.arrive_drop(signal.arrivals);
      break;
  }
  if (fault != MbarrierFault::none) return fault;

  auto same = [&](const Signal& s) { return s.kind == signal.kind && s.warp == signal.warp && s.pc == signal.pc; };
  auto known = std::find_if(barrier.current.begin(), barrier.current.end(), same);
  if (known == barrier.current.end()) {
    barrier.current.push_back(signal);
  } else {
    known->times += signal.times;
    known->arrivals += signal.arrivals;
    known->bytes += signal.bytes;
    known->lanes |= signal.lanes;
  }
  barrier.phase_time = std::max(barrier.phase_time, time);
  if (barrier.state.phase != phase) {
    barrier.completed_at = barrier.phase_time;
    barrier.previous.swap(barrier.current);
    barrier.current.clear();
    if (watch) watch->phase_completed(barrier);
    if (cluster.recording())
      record(EventKind::phase, *barrier.cta, signal.warp->index, barrier.completed_at, barrier.completed_at,
             static_cast<int64_t>(phase), barrier.name());
    std::vector<Thread*> waiters;
    waiters.swap(barrier.waiters);
    for (Thread* waiter : waiters) {
      if (!cluster.polls.waiting.empty()) std::erase(cluster.polls.waiting, waiter);
      cluster.wake(*waiter, barrier.completed_at);
    }
    for (Warp* warp : barrier.gated) cluster.open_gate(*warp, barrier.completed_at);
    barrier.gated.clear();
    cluster.deferred.continuing.insert(cluster.deferred.continuing.end(), barrier.posted.begin(), barrier.posted.end());
    barrier.posted.clear();
    release_held(cluster, &barrier);
  }
  return fault;
}

void signal_barrier(Thread& thread, Pc pc, uint32_t address, SignalKind kind, uint32_t count, uint32_t bytes,
                    bool cluster_scope, bool not_last) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  Barrier* barrier = &barrier_at(thread, pc, address, false);
  const char* operation = kind == SignalKind::arrive             ? "mbarrier.arrive"
                          : kind == SignalKind::arrive_expect_tx ? "mbarrier.arrive.expect_tx"
                          : kind == SignalKind::expect_tx        ? "mbarrier.expect_tx"
                          : kind == SignalKind::complete_tx      ? "mbarrier.complete_tx"
                                                                 : "mbarrier.arrive_drop";
  const Mutated mutated = mutate(cluster, operation, pc, barrier);
  if (mutated.wrong_stage) barrier = &barrier_at(thread, pc, (address & ~offset_mask) | next_stage(*barrier), false);
  for (uint32_t i = 0; i < mutated.times; ++i) {
    Signal signal{.kind = kind, .warp = thread.warp, .lanes = 1u << thread.id.lane, .pc = pc, .times = 1};
    if (kind == SignalKind::arrive || kind == SignalKind::arrive_drop)
      signal.arrivals = count + static_cast<uint32_t>(mutated.count);
    if (kind == SignalKind::arrive_expect_tx) signal.arrivals = 1;
    if (kind != SignalKind::arrive && (kind != SignalKind::arrive_drop || bytes != 0))
      signal.bytes = static_cast<int64_t>(bytes) + mutated.bytes;
    // An arrival whose count the hook took to zero is no signal at all.
    if (signal.arrivals == 0 && mutated.count != 0) continue;
    thread.arrival = {barrier->state.phase, barrier->state.pending};
    if (watch) watch->signal(thread, pc, *barrier, kind, signal.arrivals, signal.bytes, cluster_scope, not_last);
    const MbarrierFault result = apply(*barrier, signal, thread.time);
    if (result != MbarrierFault::none) fault(thread, pc, *barrier, result, signal);
    if (cluster.recording() && (kind == SignalKind::arrive || kind == SignalKind::arrive_expect_tx))
      record(EventKind::arrive, *barrier->cta, thread.warp->index, thread.time, thread.time, signal.arrivals,
             barrier->name());
  }
}

void mbarrier_signal(Thread& thread, Pc pc, uint32_t address, SignalKind kind, uint32_t count, uint32_t bytes,
                     bool cluster_scope, bool not_last) {
  Cluster& cluster = *thread.cluster;
  cluster.step(thread, pc);
  signal_barrier(thread, pc, address, kind, count, bytes, cluster_scope, not_last);
  cluster.continue_warps();
}

namespace {

void mbarrier_init(Thread& thread, Pc pc, uint32_t address, uint32_t count) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  const Mutated mutated = mutate(cluster, "mbarrier.init", pc, nullptr);
  Cta& cta = *thread.cta;
  const uint32_t offset = address & offset_mask;
  if (cluster.owner(address) != &cta || offset % 8 != 0 || !inside(cta, offset, 8))
    cluster.fail(thread, pc, "BAR-ADDRESS",
                 fmt::format("mbarrier.init needs an 8-byte aligned address of this CTA, not 0x{:08x}", address));
  for (uint32_t i = 0; i < mutated.times; ++i) {
    if (const Barrier* live = find_barrier(cta, offset))
      cluster.fail(thread, pc, "BAR-REINIT", fmt::format("{} is initialised again while it is live", live->name()));
    auto barrier = std::make_unique<Barrier>();
    barrier->cta = &cta;
    barrier->offset = offset;
    barrier->live = true;
    if (barrier->state.init(count + static_cast<uint32_t>(mutated.count)) != MbarrierFault::none)
      cluster.fail(thread, pc, "ARRIVE-OVERFLOW",
                   fmt::format("mbarrier.init with count {}; 1 to 1048575 are possible",
                               count + static_cast<uint32_t>(mutated.count)));
    const uint64_t word = barrier_tag | cta.barriers.size();
    std::memcpy(cta.window + offset, &word, sizeof(word));
    if (watch) watch->init(thread, pc, *barrier);
    cta.barriers.push_back(std::move(barrier));
    cta.barriers_begin = std::min(cta.barriers_begin, offset);
    cta.barriers_end = std::max(cta.barriers_end, offset + 8);
  }
}

void mbarrier_invalidate(Thread& thread, Pc pc, uint32_t address) {
  Cluster& cluster = *thread.cluster;
  check::Watch* const watch = cluster.watch();
  cluster.step(thread, pc);
  Barrier& barrier = barrier_at(thread, pc, address, true);
  if (watch) watch->invalidate(thread, pc, barrier);
  barrier.live = false;
  for (native::KnownBarrier& known : native::script.barriers) known = {};
  std::memset(thread.cta->window + barrier.offset, 0xff, 8);
}

}  // namespace

}  // namespace isa

namespace native {

using namespace front;

void mbarrier_init(uint32_t barrier, uint32_t count) noexcept try {
  isa::mbarrier_init(thread(), WARPLOOM_PLACE(mbarrier_init), barrier, count);
} catch (...) {
  break_off();
}

void mbarrier_invalidate(uint32_t barrier) noexcept try {
  isa::mbarrier_invalidate(thread(), WARPLOOM_PLACE(mbarrier_invalidate), barrier);
} catch (...) {
  break_off();
}

void mbarrier_arrive(uint32_t barrier, uint32_t count, bool cluster_scope) noexcept try {
  Thread& self = thread();
  const Pc pc = WARPLOOM_PLACE(mbarrier_arrive);
  if (post_arrival(self, pc, barrier, count, cluster_scope)) return;
  isa::mbarrier_signal(self, pc, barrier, SignalKind::arrive, count, 0, cluster_scope);
} catch (...) {
  break_off();
}

void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes) noexcept try {
  isa::mbarrier_signal(thread(), WARPLOOM_PLACE(mbarrier_arrive_expect_tx), barrier, SignalKind::arrive_expect_tx, 1,
                       bytes);
} catch (...) {
  break_off();
}

void mbarrier_expect_tx(uint32_t barrier, uint32_t bytes) noexcept try {
  isa::mbarrier_signal(thread(), WARPLOOM_PLACE(mbarrier_expect_tx), barrier, SignalKind::expect_tx, 0, bytes);
} catch (...) {
  break_off();
}

void mbarrier_complete_tx(uint32_t barrier, uint32_t bytes) noexcept try {
  isa::mbarrier_signal(thread(), WARPLOOM_PLACE(mbarrier_complete_tx), barrier, SignalKind::complete_tx, 0, bytes);
} catch (...) {
  break_off();
}

void mbarrier_arrive_drop(uint32_t barrier, uint32_t count) noexcept try {
  isa::mbarrier_signal(thread(), WARPLOOM_PLACE(mbarrier_arrive_drop), barrier, SignalKind::arrive_drop, count, 0);
} catch (...) {
  break_off();
}

void mbarrier_arrive_drop_expect_tx(uint32_t barrier, uint32_t bytes) noexcept {
  isa::mbarrier_signal(thread(), WARPLOOM_PLACE(mbarrier_arrive_drop_expect_tx), barrier, SignalKind::arrive_drop, 1,
                       bytes);
}

void name_barriers(uint32_t first, uint32_t count, const char* ring, uint8_t side, const char* signalled_by) noexcept
    try {
  isa::name_barriers(thread(), WARPLOOM_PLACE(name_barriers), first, count, ring, side, signalled_by);
} catch (...) {
  break_off();
}

}  // namespace native
}  // namespace warploom::loom
