// mbarriers, named barriers and the cluster barrier: state, waiters and the rules around them.
#include <fmt/format.h>

#include <algorithm>

#include "loom/exec/cluster.hpp"

namespace warploom::loom {
namespace {

// A live mbarrier's eight bytes hold this tag and its index, so that a stray write to them is noticed.
constexpr uint64_t barrier_tag = 0xba77ull << 48;
constexpr uint64_t barrier_tag_mask = 0xffffull << 48;

uint32_t parity_of(uint64_t phases) { return static_cast<uint32_t>((phases + 1) & 1); }

}  // namespace

std::string phase_text(uint64_t phases) { return phases == 0 ? "0 phases" : fmt::format("phase {}", phases - 1); }

std::string Barrier::name() const {
  if (ring == nullptr) return fmt::format("mbarrier at 0x{:x}", offset);
  const char* end = side == 0 ? ".full" : side == 1 ? ".empty" : "";
  if (stages <= 1 && side == 2) return ring;
  return fmt::format("{}{}[{}]", ring, end, stage);
}

std::vector<std::string> signalled_by(const Barrier& barrier) {
  if (barrier.signalled_by[0] == '\0') return {};
  return {fmt::format("{} is signalled by {}", barrier.name(), barrier.signalled_by)};
}

Barrier* Cluster::find_barrier(Cta& cta, uint32_t offset) {
  if (offset % 8 != 0 || !inside(cta, offset, 8)) return nullptr;
  uint64_t word = 0;
  std::memcpy(&word, cta.window + offset, sizeof(word));
  if ((word & barrier_tag_mask) != barrier_tag) return nullptr;
  const uint64_t index = word & ~barrier_tag_mask;
  if (index >= cta.barriers.size()) return nullptr;
  Barrier* barrier = cta.barriers[index].get();
  return barrier->offset == offset && barrier->live ? barrier : nullptr;
}

Barrier& Cluster::barrier_at(Thread& thread, Pc pc, uint32_t address, bool local_only) {
  Cta* cta = owner(address);
  const uint32_t offset = address & offset_mask;
  if (cta == nullptr || offset % 8 != 0 || !inside(*cta, offset, 8))
    fail(thread, pc, "BAR-ADDRESS", fmt::format("0x{:08x} is not the address of an mbarrier in this cluster", address));
  if (local_only && cta != thread.cta)
    fail(thread, pc, "BAR-REMOTE-WAIT",
         fmt::format("only arrivals may name another CTA's mbarrier; this one is in CTA {}", cta->rank));
  Barrier* barrier = find_barrier(*cta, offset);
  if (cta->alive == 0)
    fail(thread, pc, "EXIT-REMOTE",
         fmt::format("signals {} of CTA {}, which has exited",
                     barrier != nullptr ? barrier->name() : fmt::format("an mbarrier at 0x{:x}", offset), cta->rank));
  if (barrier == nullptr) {
    for (const auto& known : cta->barriers)
      if (known->offset == offset && known->live)
        fail(thread, pc, "BAR-UNINIT", fmt::format("the bytes of {} were overwritten", known->name()));
    fail(thread, pc, "BAR-UNINIT", fmt::format("the mbarrier at 0x{:08x} was not initialised", address));
  }
  return *barrier;
}

void Cluster::mbarrier_init(Thread& thread, Pc pc, uint32_t address, uint32_t count) {
  step(thread, pc);
  const Mutated mutated = mutate("mbarrier.init", pc, nullptr);
  Cta& cta = *thread.cta;
  const uint32_t offset = address & offset_mask;
  if (owner(address) != &cta || offset % 8 != 0 || !inside(cta, offset, 8))
    fail(thread, pc, "BAR-ADDRESS",
         fmt::format("mbarrier.init needs an 8-byte aligned address of this CTA, not 0x{:08x}", address));
  for (uint32_t i = 0; i < mutated.times; ++i) {
    if (const Barrier* live = find_barrier(cta, offset))
      fail(thread, pc, "BAR-REINIT", fmt::format("{} is initialised again while it is live", live->name()));
    auto barrier = std::make_unique<Barrier>();
    barrier->cta = &cta;
    barrier->offset = offset;
    barrier->live = true;
    if (barrier->state.init(count + static_cast<uint32_t>(mutated.count)) != MbarrierFault::none)
      fail(thread, pc, "ARRIVE-OVERFLOW",
           fmt::format("mbarrier.init with count {}; 1 to 1048575 are possible",
                       count + static_cast<uint32_t>(mutated.count)));
    const uint64_t word = barrier_tag | cta.barriers.size();
    std::memcpy(cta.window + offset, &word, sizeof(word));
    if (watch_) watch_->init(thread, pc, *barrier);
    cta.barriers.push_back(std::move(barrier));
    cta.barriers_begin = std::min(cta.barriers_begin, offset);
    cta.barriers_end = std::max(cta.barriers_end, offset + 8);
  }
}

void Cluster::check_overrun(const AsyncOp& op) {
  const Cta& cta = *op.destination;
  uint32_t bytes = op.bytes;
  if (op.kind == AsyncOp::Kind::tma_load && op.global == nullptr) bytes = tma_box_footprint(op.map, op.at.mode);
  const uint32_t begin = op.offset, end = begin + bytes;
  if (end <= cta.barriers_begin || begin >= cta.barriers_end) return;
  for (const auto& barrier : cta.barriers)
    if (barrier->live && begin < barrier->offset + 8 && end > barrier->offset)
      fail(*op.issuer, op.pc, "BAR-UNINIT",
           fmt::format("a copy of {} bytes to 0x{:x} of cta {} runs over {} at 0x{:x}, a live mbarrier", bytes, begin,
                       cta.rank, barrier->name(), barrier->offset),
           {"a smaller copy, or more room before the barrier; mbarrier_invalidate() where the barrier is done with"});
}

void Cluster::mbarrier_invalidate(Thread& thread, Pc pc, uint32_t address) {
  step(thread, pc);
  Barrier& barrier = barrier_at(thread, pc, address, true);
  if (watch_) watch_->invalidate(thread, pc, barrier);
  barrier.live = false;
  for (native::KnownBarrier& known : native::script.barriers) known = {};
  std::memset(thread.cta->window + barrier.offset, 0xff, 8);
}

void Cluster::name_barriers(Thread& thread, Pc pc, uint32_t first, uint32_t count, const char* ring, uint8_t side,
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

uint32_t Cluster::next_stage(const Barrier& barrier) const {
  if (barrier.ring == nullptr || barrier.stages < 2) return barrier.offset + 8;
  return barrier.offset - 8 * barrier.stage + 8 * ((barrier.stage + 1) % barrier.stages);
}

MbarrierFault Cluster::apply(Barrier& barrier, const Signal& signal, uint64_t time) {
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
    if (watch_) watch_->phase_completed(barrier);
    if (recording())
      record(EventKind::phase, *barrier.cta, signal.warp->index, barrier.completed_at, barrier.completed_at,
             static_cast<int64_t>(phase), barrier.name());
    std::vector<Thread*> waiters;
    waiters.swap(barrier.waiters);
    for (Thread* waiter : waiters) {
      if (!pollers_.empty()) std::erase(pollers_, waiter);
      wake(*waiter, barrier.completed_at);
    }
    for (Warp* warp : barrier.gated) open_gate(*warp, barrier.completed_at);
    barrier.gated.clear();
    continuing_.insert(continuing_.end(), barrier.posted.begin(), barrier.posted.end());
    barrier.posted.clear();
    release_held(&barrier);
  }
  return fault;
}

void Cluster::fault(Thread& thread, Pc pc, const Barrier& barrier, MbarrierFault fault, const Signal& signal) {
  const MbarrierState& state = barrier.state;
  std::vector<std::string> notes = signalled_by(barrier);
  switch (fault) {
    case MbarrierFault::arrive_overflow:
    case MbarrierFault::drop_range:
      fail(thread, pc, "ARRIVE-OVERFLOW",
           fmt::format("{} arrival(s) on {} of cta {}, whose phase {} expects {} more of {}", signal.arrivals,
                       barrier.name(), barrier.cta->rank, state.phase, state.pending, state.expected),
           std::move(notes));
    case MbarrierFault::count_range:
      fail(thread, pc, "ARRIVE-OVERFLOW",
           fmt::format("an arrive count of {} on {}; 1 to 1048575 are possible", signal.arrivals, barrier.name()),
           std::move(notes));
    case MbarrierFault::tx_underflow:
    case MbarrierFault::tx_overflow:
      fail(thread, pc, "TX-RANGE",
           fmt::format("{} bytes take the byte count of {} out of its range of +-1048575 (it stood at {})",
                       signal.bytes, barrier.name(), state.tx),
           std::move(notes));
    case MbarrierFault::none: break;
  }
}

void Cluster::mbarrier_signal(Thread& thread, Pc pc, uint32_t address, SignalKind kind, uint32_t count, uint32_t bytes,
                              bool cluster_scope, bool not_last) {
  step(thread, pc);
  signal_barrier(thread, pc, address, kind, count, bytes, cluster_scope, not_last);
  continue_warps();
}

void Cluster::signal_barrier(Thread& thread, Pc pc, uint32_t address, SignalKind kind, uint32_t count, uint32_t bytes,
                             bool cluster_scope, bool not_last) {
  Barrier* barrier = &barrier_at(thread, pc, address, false);
  const char* operation = kind == SignalKind::arrive             ? "mbarrier.arrive"
                          : kind == SignalKind::arrive_expect_tx ? "mbarrier.arrive.expect_tx"
                          : kind == SignalKind::expect_tx        ? "mbarrier.expect_tx"
                          : kind == SignalKind::complete_tx      ? "mbarrier.complete_tx"
                                                                 : "mbarrier.arrive_drop";
  const Mutated mutated = mutate(operation, pc, barrier);
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
    if (watch_) watch_->signal(thread, pc, *barrier, kind, signal.arrivals, signal.bytes, cluster_scope, not_last);
    const MbarrierFault result = apply(*barrier, signal, thread.time);
    if (result != MbarrierFault::none) fault(thread, pc, *barrier, result, signal);
    if (recording() && (kind == SignalKind::arrive || kind == SignalKind::arrive_expect_tx))
      record(EventKind::arrive, *barrier->cta, thread.warp->index, thread.time, thread.time, signal.arrivals,
             barrier->name());
  }
}

/// A wait knows no more than a parity.
void Cluster::check_phase(Thread& thread, Pc pc, const Barrier& barrier, uint32_t phases) {
  if (barrier.state.phase == phases) return;
  fail(thread, pc, "PHASE",
       fmt::format("a wait for {} of {} passed on its parity, but {} phases are complete: {}", phase_text(phases),
                   barrier.name(), barrier.state.phase,
                   barrier.state.phase > phases ? "the waiter fell behind or counts its phases wrong"
                                                : "that phase has not begun"),
       signalled_by(barrier));
}

/// A warp is on one side of a ring.
void Cluster::check_side(Thread& thread, Pc pc, const Barrier& barrier) {
  if (barrier.ring == nullptr || barrier.side == 2) return;
  auto& sides = thread.warp->sides;
  // A ring is known by its first full barrier: several may have one name. Its empty barriers follow the full ones.
  const uint32_t ring = barrier.offset - (barrier.stage + (barrier.side == 1 ? barrier.stages : 0)) * 8;
  auto bound = std::find_if(sides.begin(), sides.end(), [&](const auto& side) { return side.first == ring; });
  if (bound == sides.end()) {
    sides.emplace_back(ring, barrier.side);
  } else if (bound->second != barrier.side) {
    fail(thread, pc, "RING-SIDE",
         fmt::format("warp {} waits on {} but has so far been ring {}'s {}", thread.id.warp, barrier.name(),
                     barrier.ring, bound->second == 0 ? "consumer" : "producer"));
  }
}

void Cluster::mbarrier_wait(Thread& thread, Pc pc, uint32_t address, uint32_t phases, bool cluster_scope) {
  // Who waits shows nothing of itself: no need to catch up.
  if (runs_ahead_ && !watch_)
    count_step(thread, pc);
  else
    step(thread, pc);
  Barrier* barrier = &barrier_at(thread, pc, address, true);
  const Mutated mutated = mutate("mbarrier.wait", pc, barrier);
  if (mutated.times == 0) return;
  if (mutated.wrong_stage) barrier = &barrier_at(thread, pc, (address & ~offset_mask) | next_stage(*barrier), true);
  const uint32_t parity = parity_of(phases) ^ static_cast<uint32_t>(mutated.flip_parity);

  check_side(thread, pc, *barrier);
  const uint64_t before = thread.time;
  while (!barrier->state.parity_passed(parity)) {
    thread.wait = {.kind = WaitKind::mbarrier, .pc = pc, .barrier = barrier, .phases = phases, .parity = parity};
    barrier->waiters.push_back(&thread);
    park(thread);
  }
  thread.time = std::max(thread.time, barrier->state.phase == 0 ? 0 : barrier->completed_at);
  check_phase(thread, pc, *barrier, phases);
  if (watch_) watch_->passed(thread, pc, *barrier, phases, cluster_scope);
  if (plain_ && !watch_ && phases != 0) {  // the checker hears of every wait
    native::KnownBarrier& known = native::script.known_barrier(address);
    if (known.address != address) known = {address, 0, &barrier->state.phase, &barrier->completed_at, barrier};
    known.warps |= native::script.warp_bit;
  }
  if (recording() && thread.id.lane == 0 && thread.time > before)
    record(EventKind::wait, *thread.cta, thread.id.warp, before, thread.time, static_cast<int64_t>(phases),
           barrier->name());
}

std::optional<Cluster::Question> Cluster::ask(Thread& thread, Pc pc, uint32_t address, uint32_t phases) {
  step(thread, pc);
  Barrier* barrier = &barrier_at(thread, pc, address, true);
  const Mutated mutated = mutate("mbarrier.test_wait", pc, barrier);
  if (mutated.times == 0) {
    let_others_run(thread);
    return std::nullopt;
  }
  if (mutated.wrong_stage) {
    address = (address & ~offset_mask) | next_stage(*barrier);
    barrier = &barrier_at(thread, pc, address, true);
  }
  const auto flipped = static_cast<uint32_t>(mutated.flip_parity);
  return Question{barrier, address, phases + flipped, parity_of(phases) ^ flipped};
}

void Cluster::let_others_run(Thread& thread) {
  enqueue(thread);
  leave(thread);
}

void Cluster::answer_no(Thread& thread, Pc pc, const Question& question) {
  ++failed_polls_;
  // A thread that polls would never let others run: it comes back when the barrier moves, or when nothing else can.
  thread.wait = {.kind = WaitKind::mbarrier,
                 .pc = pc,
                 .barrier = question.barrier,
                 .phases = question.phases,
                 .parity = question.parity};
  question.barrier->waiters.push_back(&thread);
  pollers_.push_back(&thread);
  park(thread);
}

void Cluster::answer_yes(Thread& thread, Pc pc, const Barrier& barrier, uint32_t phases) {
  if (barrier.state.phase != phases)
    fail(thread, pc, "PHASE",
         fmt::format("a test for {} of {} passed on its parity, but {} phases are complete", phase_text(phases),
                     barrier.name(), barrier.state.phase));
  thread.time = std::max(thread.time, barrier.state.phase == 0 ? 0 : barrier.completed_at);
}

bool Cluster::mbarrier_test(Thread& thread, Pc pc, uint32_t address, uint32_t phases, bool cluster_scope,
                            bool by_token) {
  const std::optional<Question> question = ask(thread, pc, address, phases);
  if (!question) return false;
  Barrier& barrier = *question->barrier;
  const auto passed = [&] { return barrier.state.parity_passed(question->parity); };
  const Decision decision = next_decision();
  if (decision.choice == Choice::hold && !passed()) hold(thread, pc, &barrier, "mbarrier.test_wait");
  const bool denied = denies(thread, barrier, *question, decision);
  const bool answer = passed() && decision.choice != Choice::refuse && !denied;
  if (watch_) watch_->tested(thread, pc, barrier, {question->phases, by_token}, answer, decision);
  if (denied) {
    ++failed_polls_;
    return false;  // at once: all tries of a loop come before anybody else does anything
  }
  if (!answer) {
    if (passed())
      let_others_run(thread);
    else
      answer_no(thread, pc, *question);
    return false;
  }
  answer_yes(thread, pc, barrier, phases);
  if (watch_) watch_->passed(thread, pc, barrier, phases, cluster_scope);
  return true;
}

native::Poll Cluster::mbarrier_poll(Thread& thread, Pc pc, uint32_t address, uint32_t phases, bool cluster_scope) {
  const std::optional<Question> question = ask(thread, pc, address, phases);
  if (!question) return {};
  const Barrier& barrier = *question->barrier;
  if (watch_) watch_->polled(thread, pc, barrier, question->phases);
  // It may end without an answer although there is one.
  const bool timed_out = launch_.options->schedule.has(Fault::timeout) && polls_answered_++ % 2 == 0;
  if (!barrier.state.parity_passed(question->parity))
    answer_no(thread, pc, *question);
  else if (timed_out)
    let_others_run(thread);
  else if (barrier.state.phase == phases)  // of another phase that has its parity, the wait will tell
    thread.time = std::max(thread.time, phases == 0 ? 0 : barrier.completed_at);
  return {.barrier = question->address, .phases = question->phases, .asked = true, .cluster_scope = cluster_scope};
}

// Whatever the poll said, under another schedule it says the other thing: what is checked is the wait, always.
void Cluster::mbarrier_wait_unless(Thread& thread, Pc pc, const native::Poll& poll, uint32_t address, uint32_t phases,
                                   bool cluster_scope) {
  const char* advice = "pass on what try_wait_producer() or try_wait_consumer() returned for the same slot";
  if (poll.asked && (poll.barrier != address || poll.phases != phases)) {
    const Barrier* polled = find_barrier(*thread.cta, poll.barrier & offset_mask);
    fail(thread, pc, "PHASE",
         fmt::format("a wait for {} of {} goes by a poll of {} of {}", phase_text(phases),
                     barrier_at(thread, pc, address, true).name(), phase_text(poll.phases),
                     polled != nullptr ? polled->name() : "a barrier that is no more"),
         {advice});
  }
  if (poll.asked && cluster_scope && !poll.cluster_scope)
    fail(thread, pc, "PHASE",
         fmt::format("a wait of cluster scope for {} of {} goes by a poll that acquires for the CTA only",
                     phase_text(phases), barrier_at(thread, pc, address, true).name()),
         {"mbarrier_poll<Scope::cluster>"});
  mbarrier_wait(thread, pc, address, phases, cluster_scope);
}

void Cluster::named_barrier(Warp& warp, Pc pc, uint32_t id, uint32_t threads, bool sync, bool whole) {
  const Mutated mutated = mutate(sync ? "bar.sync" : "bar.arrive", pc, nullptr);
  if (mutated.times == 0) return;
  threads += static_cast<uint32_t>(mutated.count);
  if (mutated.wrong_stage) ++id;
  if (mutated.times == 2) enter_named_barrier(warp, pc, id, threads, false, whole);
  enter_named_barrier(warp, pc, id, threads, sync, whole);
}

void Cluster::enter_named_barrier(Warp& warp, Pc pc, uint32_t id, uint32_t threads, bool sync, bool whole) {
  Thread& thread = *running_;
  Cta& cta = *warp.cta;
  if (id >= 16) fail(thread, pc, "NAMED-BAR", fmt::format("named barrier {} does not exist; ids are 0 to 15", id));
  NamedBarrier& barrier = cta.named[id];
  if (threads == 0 || threads % 32 != 0 || threads > cta.threads.size())
    fail(thread, pc, "NAMED-BAR",
         fmt::format("named barrier {} with {} threads; a multiple of 32 up to the CTA's {} is needed", id, threads,
                     cta.threads.size()));
  if (barrier.arrived == 0) {
    barrier.expected = threads;
    barrier.whole = whole;
    barrier.time = 0;
  }
  // One arrival with a count is enough for all of them to be counted, whichever comes first.
  barrier.whole = barrier.whole && whole;
  if (barrier.expected != threads)
    fail(thread, pc, "NAMED-BAR",
         fmt::format("{} was entered for {} threads and now for {}", barrier.text(id), barrier.expected, threads));
  if (std::find(barrier.members.begin(), barrier.members.end(), &warp) != barrier.members.end())
    fail(thread, pc, "NAMED-BAR",
         fmt::format("warp {} arrives twice at {} before it completes", warp.index, barrier.text(id)));
  barrier.members.push_back(&warp);
  barrier.arrived += 32;
  barrier.time = std::max(barrier.time, thread.time);
  if (sync) barrier.waiting.push_back(&warp);
  if (watch_) watch_->arrive(warp, pc, barrier);
  if (!all_here(cta, barrier)) {
    if (sync) park_warp(warp, {.kind = WaitKind::named_barrier, .pc = pc, .id = id});
    return;
  }
  complete_named_barrier(cta, id);
}

void Cluster::complete_named_barrier(Cta& cta, uint32_t id) {
  NamedBarrier& barrier = cta.named[id];
  std::vector<Warp*> waiting;
  waiting.swap(barrier.waiting);
  if (watch_) watch_->completed(cta, barrier, waiting);
  barrier.members.clear();
  barrier.arrived = 0;
  for (Warp* other : waiting) {
    other->named_passed |= static_cast<uint16_t>(1u << id);
    if (recording() && barrier.time > other->lanes[0]->time)
      record(EventKind::wait, cta, other->index, other->lanes[0]->time, barrier.time, 0,
             fmt::format("named barrier {}", id));
    if (running_ != nullptr && other == running_->warp) {
      for (Thread* lane : other->lanes) lane->time = std::max(lane->time, barrier.time);
    } else {
      wake_warp(*other, barrier.time);
    }
  }
}

void Cluster::cluster_arrive(Thread& thread, Pc pc, bool release) {
  step(thread, pc);
  const Mutated mutated = mutate("barrier.cluster.arrive", pc, nullptr);
  for (uint32_t i = 0; i < mutated.times; ++i) {
    if (thread.cluster_arrived)
      fail(thread, pc, "CLUSTER-BAR", "a thread arrives twice at the cluster barrier without waiting in between");
    thread.cluster_arrived = true;
    thread.cluster_phase = cluster_phase_;
    ++cluster_arrived_;
    if (watch_) watch_->cluster_arrive(thread, pc, release);
    cluster_time_ = std::max(cluster_time_, thread.time);
  }
  cluster_barrier_check();
}

void Cluster::cluster_wait(Thread& thread, Pc pc) {
  step(thread, pc);
  if (mutate("barrier.cluster.wait", pc, nullptr).times == 0) {
    thread.cluster_arrived = false;
    return;
  }
  if (!thread.cluster_arrived)
    fail(thread, pc, "CLUSTER-BAR", "a thread waits at the cluster barrier without having arrived");
  const uint64_t before = thread.time;
  while (cluster_phase_ == thread.cluster_phase) {
    thread.wait = {.kind = WaitKind::cluster_barrier, .pc = pc};
    cluster_waiters_.push_back(&thread);
    park(thread);
  }
  thread.cluster_arrived = false;
  if (watch_) watch_->cluster_passed(thread, pc);
  if (recording() && thread.id.lane == 0 && thread.time > before)
    record(EventKind::wait, *thread.cta, thread.id.warp, before, thread.time, 0, "cluster barrier");
}

void Cluster::cluster_barrier_check() {
  if (cluster_arrived_ == 0 || cluster_arrived_ < alive_) return;
  ++cluster_phase_;
  cluster_arrived_ = 0;
  if (watch_) watch_->cluster_completed();
  std::vector<Thread*> waiters;
  waiters.swap(cluster_waiters_);
  for (Thread* waiter : waiters) wake(*waiter, cluster_time_);
  cluster_time_ = 0;
}

}  // namespace warploom::loom
