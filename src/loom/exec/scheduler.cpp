// Who runs next and what completes when. Every choice comes from the schedule: policy, seed and skew.
#include <cxxabi.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "loom/exec/costs.hpp"
#include "loom/exec/cluster.hpp"
#include "loom/report/symbols.hpp"
#include "types/no_throw.hpp"

namespace warploom::loom {
namespace {

constexpr uint32_t yield_odds = 6;       // a thread gives way at one in so many of its operations
constexpr uint32_t completion_odds = 3;  // random policy: work completes at one in so many choices
constexpr uint32_t priority_odds = 256;  // a warp's priority is drawn anew

constexpr std::byte poison{0xff};  // NaN in every type we have

[[noreturn]] void throw_again(const Error& error) {
  if (error.code == ErrorCode::out_of_memory) throw std::bad_alloc();
  throw std::runtime_error(error.message);
}

}  // namespace

AliasWindows::AliasWindows(uint32_t ctas, uint32_t bytes)
    : stride_((bytes + size_t{4095}) / 4096 * 4096 + margin), bytes_(margin + ctas * stride_) {
  void* const memory = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(memory);
}

AliasWindows::~AliasWindows() { munmap(base_, bytes_); }

uint32_t AliasWindows::rank_at(const void* address) const {
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - base_);
  // Half of what lies between two windows belongs to each.
  const size_t rank = (offset - std::min(offset, margin / 2)) / stride_;
  return static_cast<uint32_t>(std::min(rank, (bytes_ - margin) / stride_ - 1));
}

WorkerMemory::WorkerMemory(const LaunchConfig& config, Heartbeat& heart)
    : heartbeat(heart),
      window_bytes(window_start + static_cast<uint32_t>((config.shared_bytes + 1023) / 1024 * 1024)),
      aliases(config.cluster.count(), window_bytes) {
  for (uint32_t i = 0; i < config.cluster.count(); ++i) {
    windows.emplace_back(static_cast<std::byte*>(std::aligned_alloc(1024, window_bytes)));
    if (windows.back() == nullptr) throw std::bad_alloc();
    tmem.emplace_back(tmem_lane_count * tmem_column_count);
  }
}

WorkerMemory::~WorkerMemory() {
  heartbeat.in_kernel.store(false, std::memory_order_relaxed);  // after an exception, too: the watchdog leaves it alone
}

Cluster::Cluster(const LaunchContext& launch, uint32_t index, WorkerMemory& memory, ProcessorQueue* queue)
    : launch_(launch),
      index_(index),
      memory_(memory),
      beats_(memory.heartbeat.beats),
      first_beat_(beats_.load(std::memory_order_relaxed)),
      last_beat_(first_beat_ + launch.options->step_limit),
      queue_(queue),
      random_(launch.options->schedule.seed * 0x9e3779b97f4a7c15u + index * 0xd1b54a32d192ed03u + 1),
      shuffle_(launch.options->schedule.policy == Policy::random || launch.options->schedule.seed != 0),
      priorities_(shuffle_ && (launch.options->schedule.seed & 1) != 0),
      passes_(Fiber::passes && !shuffle_ && launch.options->schedule.skew < 0),
      plain_(!shuffle_ && !launch.options->record_events && !launch.options->record_sites && !launch.options->mutation),
      // Not where copies are late: what goes on when one lands is for the scheduler to wake.
      runs_ahead_(plain_ && passes_ && launch.options->schedule.policy == Policy::eager &&
                  !launch.options->schedule.has(Fault::multicast)) {
  const LaunchConfig& config = *launch.config;
  const Dim3 cluster{index % launch.clusters.x, index / launch.clusters.x % launch.clusters.y,
                     index / launch.clusters.x / launch.clusters.y};
  const uint32_t ranks = config.cluster.count();
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->cluster = this;
    cta->rank = rank;
    const Dim3 inside{rank % config.cluster.x, rank / config.cluster.x % config.cluster.y,
                      rank / config.cluster.x / config.cluster.y};
    cta->block = {cluster.x * config.cluster.x + inside.x, cluster.y * config.cluster.y + inside.y,
                  cluster.z * config.cluster.z + inside.z};
    cta->window = memory.windows[rank].get();
    cta->window_bytes = memory.window_bytes;
    cta->alias = memory.aliases.of(rank);
    cta->tmem = memory.tmem[rank].data();
    std::memset(cta->window, std::to_integer<int>(poison), cta->window_bytes);
    std::memset(cta->tmem, std::to_integer<int>(poison), memory.tmem[rank].size() * sizeof(uint32_t));
    cta->alive = config.threads;
    for (uint32_t t = 0; t < config.threads; ++t) {
      if (t % 32 == 0) {
        cta->warps.push_back(std::make_unique<Warp>());
        cta->warps.back()->cluster = this;
        cta->warps.back()->cta = cta.get();
        cta->warps.back()->index = t / 32;
        cta->warps.back()->priority = random_.next();
      }
      auto thread = std::make_unique<Thread>();
      thread->id = {.thread = t,
                    .warp = t / 32,
                    .lane = t % 32,
                    .cluster_rank = rank,
                    .block = cta->block,
                    .grid = config.grid,
                    .cluster = cluster,
                    .clusters = launch.clusters};
      thread->cta = cta.get();
      thread->warp = cta->warps.back().get();
      thread->cluster = this;
      thread->fiber.create(memory.stacks.acquire(), &Cluster::thread_main, thread.get(), memory.host);
      thread->warp->lanes.push_back(thread.get());
      cta->threads.push_back(thread.get());
      threads_.push_back(std::move(thread));
    }
    cta->warpgroups.resize((cta->warps.size() + warpgroup_warps - 1) / warpgroup_warps);
    for (auto& warp : cta->warps) warp->registers = registers_at_launch(config);
    ctas_.push_back(std::move(cta));
  }
  alive_ = static_cast<uint32_t>(threads_.size());
  for (auto& thread : threads_) enqueue(*thread);
  if (launch.options->check) watch_ = std::make_unique<check::Watch>(*this);
}

Cluster::~Cluster() {
  if (running_ != nullptr) current() = nullptr;  // an exception ended the run
  for (auto& thread : threads_) {
    thread->fiber.forget();
    memory_.stacks.release(thread->fiber.stack());
  }
}

void Cluster::thread_main(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  Cluster& cluster = *thread.cluster;
  try {
    cluster.launch_.entry(cluster.launch_.params);
    // Whoever ends here on another's stack has jumped to it.
    if (current() != &thread) [[unlikely]]
      cluster.fail(*current(), nullptr, "LONGJMP",
                   "a thread left its own stack, by a longjmp to where another thread was");
    cluster.account(thread);
    if (thread.joined != thread.warp->whole.over) cluster.catch_up(thread);
  } catch (const std::bad_alloc&) {
    cluster.break_off();
  } catch (...) {
    try {
      cluster.fail(thread, nullptr, "EXCEPTION", "the kernel threw an exception; device code must not");
    } catch (...) {
      cluster.break_off();
    }
  }
}

void Cluster::enqueue(Thread& thread) {
  thread.state = Thread::State::ready;
  Warp& warp = *thread.warp;
  warp.ready.push_back(&thread);
  if (warp.queued) return;
  warp.queued = true;
  ready_.push_back(&warp);
}

void Cluster::queue_first(Warp& warp) {
  constexpr uint32_t turns = 1024;
  warp.queued = true;
  if (++turns_ < turns)
    ready_.push_front(&warp);
  else
    ready_.push_back(&warp);
}

Thread* Cluster::pick() {
  if (ready_.empty()) return nullptr;
  const int skew = launch_.options->schedule.skew;
  auto held_back = [&](const Warp* warp) { return skew >= 0 && warp->cta->rank == static_cast<uint32_t>(skew); };
  size_t chosen = ready_.size();
  if (!shuffle_) {
    for (size_t i = 0; i < ready_.size() && chosen == ready_.size(); ++i)
      if (!held_back(ready_[i])) chosen = i;
  } else if (priorities_) {
    for (size_t i = 0; i < ready_.size(); ++i) {
      if (held_back(ready_[i])) continue;
      if (chosen == ready_.size() || ready_[i]->priority > ready_[chosen]->priority) chosen = i;
    }
    if (chosen < ready_.size() && random_.one_in(priority_odds)) ready_[chosen]->priority = random_.next();
  } else {
    uint32_t candidates = 0;
    for (size_t i = 0; i < ready_.size(); ++i)
      if (!held_back(ready_[i]) && random_.below(++candidates) == 0) chosen = i;
  }
  if (chosen == ready_.size()) chosen = 0;  // only the CTA held back can run

  Warp& warp = *ready_[chosen];
  const auto* group = &warpgroup(warp);
  if (last_ != group) turns_ = 0;
  last_ = group;
  Thread* thread = warp.next_lane();
  if (!warp.can_run()) {
    warp.queued = false;
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return thread;
}

void Cluster::run() {
  native::script = {};
  script_warp_ = nullptr;
  native::script.runs_ahead = runs_ahead_;
  native::script.beats = &beats_;
  const Policy policy = launch_.options->schedule.policy;
  while (!dead_) {
    if (policy == Policy::random && !pending_.empty() && random_.one_in(completion_odds)) {
      complete_one(false);
      if (dead_) break;
    }
    Thread* thread = pick();
    if (thread == nullptr) {
      if (complete_one(true)) continue;
      const uint64_t productive = steps() - failed_polls_;
      // Others have done what they could: those that wait for a word look again, before anybody that is held back goes
      // on.
      if (!spinners_.empty() && std::exchange(spun_at_, productive) != productive) {
        wake_spinners();
        continue;
      }
      if (release_any_held()) continue;
      if (early_ && !grid_waiters_.empty()) return;  // goes on once the grids before have ended
      // Nothing but polling is left. A program may give up after some tries; one that has not by now never will.
      constexpr uint32_t patience = 2000;
      if (productive != productive_steps_) idle_rounds_ = 0;
      productive_steps_ = productive;
      if ((pollers_.empty() && spinners_.empty()) || ++idle_rounds_ > patience) break;
      wake_spinners();
      for (Thread* poller : pollers_) {
        std::erase(poller->wait.barrier->waiters, poller);  // it is woken once
        wake(*poller, poller->time);
      }
      pollers_.clear();
      continue;
    }
    enter(*thread);
    memory_.heartbeat.in_kernel.store(true, std::memory_order_relaxed);
    thread->fiber.resume();
    while (asked_ != nullptr) {
      answer_ = locate(asked_);
      asked_ = nullptr;
      running_->fiber.resume();
    }
    thread = running_;  // threads hand over to each other
    memory_.heartbeat.in_kernel.store(false, std::memory_order_relaxed);
    running_ = nullptr;
    current() = nullptr;
    if (broken_off_) throw_again(*broken_off_);
    if (interruption.kind != Interruption::Kind::none) interrupted(*thread);
    if (thread->fiber.finished()) thread_exited(*thread);
    // Exited lanes join no collective any more.
    if (!dead_ && thread->warp->exited != 0 && thread->warp->in_collective()) stranded(*thread->warp, false);
  }
  if (!dead_) {
    if (alive_ > 0)
      deadlock();
    else
      finish();
  }
  // What a stopped run left open belongs in its timeline too.
  note_meetings();
  for (const auto& thread : threads_) last_time = std::max(last_time, thread->time);
  for (const auto& cta : ctas_) {
    for (const auto& warp : cta->warps) {
      const Thread& lane = *warp->lanes.front();
      if (lane.state == Thread::State::parked && dead_)
        record(EventKind::wait, *cta, warp->index, lane.parked_at, last_time, 0, "never ends");
      close_role(*warp, last_time);
    }
  }
  locate_findings();
  for (auto& thread : threads_) last_time = std::max(last_time, thread->time);
}

void Cluster::break_off() {
  broken_off_ = current_error();
  // The handler that we are called from is never left, and its exception would stay for good.
  abi::__cxa_end_catch();
  for (;;) running_->fiber.suspend();
}

Location Cluster::location_from_fiber(Pc pc) {
  asked_ = pc;
  running_->fiber.suspend();
  return std::move(answer_);
}

void Cluster::interrupted(Thread& thread) {
  thread.state = Thread::State::parked;
  const Pc pc = innermost_kernel_frame({interruption.frames, interruption.depth});
  const auto found = [&](const char* code, std::string message, std::vector<std::string> notes = {}) {
    add_finding(&thread, pc, code, std::move(message), std::move(notes));
  };
  using Kind = Interruption::Kind;
  switch (interruption.kind) {
    case Kind::none: return;
    case Kind::stack_overrun:
      return found("STACK",
                   fmt::format("a thread overran its stack of {} KiB; large arrays do not belong in device code",
                               thread.fiber.stack().bytes / 1024));
    case Kind::bad_access: return found("FAULT", "a thread touched memory that is not there");
    case Kind::plain_shared: return plain_shared_access(thread, pc);
    case Kind::trap:
      return found("FAULT", "a thread divided by zero, or executed an instruction that traps or does not exist");
    case Kind::raised:
      return found("FAULT",
                   fmt::format("a thread raised signal {} ({})", interruption.signal, strsignal(interruption.signal)));
    case Kind::aborted:
      return found(
          "ABORT",
          "a thread called abort(), by itself or through a failed assert() or an exception that nobody catches",
          {"what it said before that is on the standard error output"});
    case Kind::exits:
      watch_for_exit();  // what watched has been used up
      return found("EXIT-CALL", "a thread called exit(), which ends the program and not the thread",
                   {"a return from the kernel ends a thread"});
    case Kind::launches:
      return found("NESTED-LAUNCH", "a thread launched a kernel on the loom; only host code can",
                   {"kernels that follow each other are launched one after the other, or with launch_dependent"});
    case Kind::endless_loop:
      return found("ENDLESS-LOOP",
                   fmt::format("a thread ran for {:.3g} s without any operation of the machine; a loop does not end",
                               launch_.options->seconds_limit));
  }
}

void Cluster::plain_shared_access(Thread& thread, Pc pc) {
  const uint32_t rank = memory_.aliases.rank_at(interruption.address);
  const auto offset = static_cast<const std::byte*>(interruption.address) - (ctas_[rank]->alias + window_start);
  const int64_t launched = launch_.config->shared_bytes;
  std::vector<std::string> notes{
      "arch::store_shared(&s.x, value) and arch::load_shared(&s.x) reach it; copies, barriers and tensor cores take "
      "arch::shared_address(&s.x)"};
  if (pc != interruption.frames[0])
    notes.emplace_back(
        "the access is in a function that this line calls (memcpy, say): nothing in it is an operation of "
        "the machine, so every element takes a load_shared or store_shared");
  if (offset < 0 || offset >= launched)
    notes.push_back(fmt::format("it is also outside the launch's {} bytes of shared memory", launched));
  add_finding(&thread, pc, "PLAIN-SHARED",
              fmt::format("a plain C++ {} shared memory, byte {} of the kernel's storage{}: only accesses through arch "
                          "reach it here, because the machine orders and checks no others",
                          interruption.write ? "store to" : "load from", offset,
                          rank == thread.cta->rank ? "" : fmt::format(" in CTA {}", rank)),
              std::move(notes));
}

void Cluster::too_many_steps(Thread& thread, Pc pc) {
  fail(thread, pc, "STEP-LIMIT",
       fmt::format("the cluster made {} operations without ending; raise the limit if that is right",
                   launch_.options->step_limit));
}

void Cluster::maybe_yield(Thread& thread) {
  if (random_.one_in(yield_odds)) let_others_run(thread);
}

void Cluster::wake(Thread& thread, uint64_t time) {
  thread.time = std::max(thread.time, time);
  enqueue(thread);
}

void Cluster::note_meetings() {
  for (const auto& cta : ctas_)
    for (const auto& warp : cta->warps) {
      for (uint32_t i = 0; i < warp->round_left; ++i)
        warp->lanes[(warp->round_next + i) % 32]->state = Thread::State::ready;
      // What a lane waits for that catches up has changed meanwhile.
      for (Thread* lane : warp->lanes)
        if ((warp->whole.catching_up >> lane->id.lane & 1) != 0) note_oldest_posted(*lane);
      for (Thread* lane : warp->lanes) {
        if (lane->state != Thread::State::meeting) continue;
        const Collective& meeting = warp->whole.meeting;
        lane->state = Thread::State::parked;
        lane->parked_at = lane->time;
        if (warp->whole.held_up) {  // whatever it meets for comes after what is posted
          note_oldest_posted(*lane);
          continue;
        }
        if ((warp->gate.lanes >> lane->id.lane & 1) != 0)
          lane->wait = {.kind = WaitKind::mbarrier,
                        .pc = warp->gate.pc,
                        .barrier = warp->gate.barrier,
                        .phases = warp->gate.phases,
                        .parity = (warp->gate.phases + 1) & 1};
        else
          lane->wait = warp->blocked ? warp->blocked_by
                                     : Wait{.kind = WaitKind::warp_collective,
                                            .pc = meeting.pc,
                                            .operation = meeting.operation,
                                            .mask = meeting.mask};
      }
    }
}

void Cluster::park_warp(Warp& warp, const Wait& wait) {
  for (Thread* lane : warp.lanes) {
    lane->wait = wait;
    lane->parked_at = lane->time;
    lane->state = Thread::State::parked;
  }
}

void Cluster::wake_warp(Warp& warp, uint64_t time) {
  for (Thread* lane : warp.lanes) wake(*lane, time);
}

void Cluster::wake_others(Thread& thread, uint32_t mask, uint64_t time) {
  for (Thread* lane : thread.warp->lanes)
    if (lane != &thread && (mask >> lane->id.lane & 1) != 0) wake(*lane, time);
}

void Cluster::block_warp(Thread& thread, const Wait& wait) {
  if (!passes_) return park_warp(*thread.warp, wait);
  thread.warp->blocked = true;
  thread.warp->blocked_by = wait;
  thread.state = Thread::State::meeting;
}

void Cluster::unblock_warp(Warp& warp, uint64_t time) {
  if (!warp.blocked) return wake_warp(warp, time);
  warp.blocked = false;
  warp.round_next = 0;
  warp.round_left = 32;
  warp.round_time = time;
  if (!warp.queued) queue_first(warp);
}

void Cluster::open_gate(Warp& warp, uint64_t time) {
  const uint32_t lanes = std::exchange(warp.gate.lanes, 0);
  if (lanes == whole_warp) {
    warp.round_next = 0;
    warp.round_left = 32;
    warp.round_time = time;
    if (warp.queued) return;
    warp.queued = true;
    ready_.push_back(&warp);
    return;
  }
  for (Thread* lane : warp.lanes)
    if ((lanes >> lane->id.lane & 1) != 0) wake(*lane, time);
}

void Cluster::enter_warp(Warp& warp) {
  script_warp_ = &warp;
  native::Script& script = native::script;
  script.warp_bit = 1u << warp.index % 32;
  script.alias = warp.cta->alias;
  script.window_bytes = warp.cta->window_bytes;
  script.rank_bits = warp.cta->rank << rank_shift;
}

void Cluster::fail(Thread& thread, Pc pc, const char* code, std::string message, std::vector<std::string> notes) {
  add_finding(&thread, pc, code, std::move(message), std::move(notes));
  for (;;) running_->fiber.suspend();  // it may execute something on behalf of another
}

void Cluster::fail_async(const AsyncOp& op, const char* code, std::string message) {
  add_finding(op.issuer, op.pc, code, std::move(message), {});
}

void Cluster::thread_exited(Thread& thread) {
  thread.state = Thread::State::exited;
  --alive_;
  Cta& cta = *thread.cta;
  --cta.alive;
  last_time = std::max(last_time, thread.time);
  // barrier.cluster counts the threads that have not exited: one that arrived and left counts on neither side.
  if (thread.cluster_arrived && thread.cluster_phase == cluster_phase_) --cluster_arrived_;
  Warp& warp = *thread.warp;
  if (++warp.exited == warp.lanes.size()) close_role(warp, thread.time);

  for (const auto& group : thread.groups) {
    if (group->read_waited) continue;
    add_finding(&thread, group->pc, "EXIT-PENDING",
                "a thread exits without waiting until its bulk stores have read shared memory",
                {"cp.async.bulk.wait_group(.read) 0 before the end of the role keeps the source alive"});
    return;
  }
  if (thread.open_group != nullptr) {
    add_finding(&thread, thread.open_group->pc, "EXIT-PENDING",
                "a thread exits with bulk stores that it never committed to a group", {});
    return;
  }
  if (wgmma_left_at_exit(thread)) return;
  if (watch_) watch_->left_barriers(thread, thread.cluster_arrived && thread.cluster_phase == cluster_phase_);
  if (watch_) watch_->exited(thread);
  if (dead_) return;
  if (warp.exited == warp.lanes.size()) {
    ++cta.exited_warps;
    // __syncthreads waits for the threads that have not exited.
    if (NamedBarrier& named = cta.named[0]; named.whole && named.arrived != 0 && all_here(cta, named)) {
      named.time = std::max(named.time, thread.time);
      complete_named_barrier(cta, 0);
    }
  }
  if (cta.alive == 0 && !cta.allocations.empty()) {
    add_finding(&thread, cta.allocated_at, "TMEM-LEAK",
                fmt::format("CTA {} exits with {} tensor-memory columns still allocated", cta.rank,
                            cta.allocations.begin()->second),
                {});
    return;
  }
  cluster_barrier_check();
}

void Cluster::finish() {
  while (!dead_ && complete_one(true)) {
  }
  if (dead_ || lost_work() || partial_warpgroup()) return;
  if (watch_) watch_->settle_registers();
  for (const auto& cta : ctas_) {
    for (uint32_t id = 0; id < 16; ++id) {
      const NamedBarrier& named = cta->named[id];
      if (named.arrived == 0) continue;
      add_finding(named.members.back()->lanes[0], nullptr, "EXIT-BARRIER",
                  fmt::format("the kernel ended with {} of cta {} half full: {} of {} threads", named.text(id),
                              cta->rank, named.arrived, named.expected),
                  {});
      return;
    }
    for (const auto& barrier : cta->barriers) {
      const MbarrierState& state = barrier->state;
      if (!barrier->live || (state.pending == state.expected && state.tx == 0)) continue;
      const Signal* last = barrier->current.empty() ? nullptr : &barrier->current.back();
      add_finding(
          last != nullptr ? last->warp->lanes[0] : nullptr, last != nullptr ? last->pc : nullptr, "EXIT-BARRIER",
          fmt::format("the kernel ended with {} of cta {} in the middle of phase {}: {} of {} arrivals, {} bytes "
                      "outstanding",
                      barrier->name(), cta->rank, state.phase, state.arrived(), state.expected, state.tx),
          signalled_by(*barrier));
      return;
    }
  }
}

void Cluster::close_role(Warp& warp, uint64_t time) {
  if (recording() && warp.role[0] != '\0' && !warp.role_closed)
    record(EventKind::role, *warp.cta, warp.index, warp.role_since, time, 0, warp.role);
  if (!warp.role_closed) close_trace(warp, time);
  warp.role_closed = true;
}

void Cluster::name_role(Thread& thread, const char* role) {
  thread.warp->role = role;
  thread.warp->role_since = thread.time;
}

void Cluster::record(EventKind kind, const Cta& cta, uint32_t warp, uint64_t begin, uint64_t end, int64_t value,
                     std::string_view name) {
  if (!recording()) return;
  const auto [entry, added] = event_names_.try_emplace(std::string(name), static_cast<uint32_t>(events.names.size()));
  if (added) events.names.emplace_back(name);
  events.events.push_back({kind, index_, cta.rank, warp, begin, end, value, entry->second});
}

Cta* Cluster::owner(uint32_t address) {
  const uint32_t rank = address >> rank_shift;
  return rank < ctas_.size() ? ctas_[rank].get() : nullptr;
}

bool Cluster::inside(const Cta& cta, uint64_t offset, uint64_t bytes) const {
  (void)cta;
  return offset >= window_start && offset + bytes <= window_start + launch_.config->shared_bytes;
}

const TensorRef* Cluster::tensor(const void* begin, const void* end, bool write) const {
  for (const TensorRef& ref : launch_.tensors) {
    const auto* base = static_cast<const std::byte*>(ref.pointer);
    // An end before the beginning: one past the end of all addresses.
    if (begin >= base && begin <= end && end <= base + ref.bytes && (!write || ref.access == Access::write))
      return &ref;
  }
  return nullptr;
}

void Cluster::check_global(Thread& thread, Pc pc, const char* operation, const void* begin, const void* end,
                           bool write) {
  check_unfinished(thread, pc, begin, end, write);
  check_tensor(thread, pc, operation, begin, end, write);
}

void Cluster::check_tensor(Thread& thread, Pc pc, const char* operation, const void* begin, const void* end,
                           bool write) {
  if (tensor(begin, end, write) == nullptr)
    fail(thread, pc, "OOB-GLOBAL",
         fmt::format("{} {} global memory outside the launch's {}tensors", operation, write ? "writes" : "reads",
                     write ? "writable " : ""));
}

}  // namespace warploom::loom
